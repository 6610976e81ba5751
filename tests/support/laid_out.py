"""Writes the same records in every layout, without code of kcompact: tests know the bytes of each record."""

import base64
import io
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import fastavro
import pyarrow as pa
from pyarrow import parquet

from kcompact.dumps.records.record import Record

COLUMNS = ("topic", "partition", "offset", "timestamp", "key", "value")


@dataclass(frozen=True)
class Form:
    """How text is laid out: line ends, whether the last one is there, whether cells of CSV are quoted."""

    line_end: bytes = b"\n"
    final: bool = True
    quoted: bool = True


@dataclass(frozen=True)
class LaidOut:
    """A file in pieces: its beginning, the bytes of each record, the bytes between records, and its end.

    ``carried`` are the records as the layout holds them, in the order of ``pieces``.
    """

    carried: list[Record]
    pieces: list[bytes]
    begin: bytes = b""
    between: bytes = b""
    end: bytes = b""

    def write(self, path: Path, kept: set[tuple[str, int, int]] | None = None) -> Path:
        """Write the file; with ``kept`` (topic, partition, offset) only those records."""
        pairs = zip(self.carried, self.pieces, strict=True)
        chosen = [piece for record, piece in pairs if kept is None or place(record) in kept]
        path.write_bytes(self.begin + self.between.join(chosen) + self.end)
        return path


@dataclass(frozen=True)
class Layout:
    """A way in which a tool lays records out, and how kcompact is told to read it."""

    suffix: str
    lay: Callable[[Sequence[Record], Form], LaidOut]
    holds: Callable[[Record], bool] = lambda _: True
    options: tuple[str, ...] = ()
    forms: frozenset[str] = field(default_factory=lambda: frozenset({"line_end", "final"}))  # that change it


def place(record: Record) -> tuple[str, int, int]:
    """The topic, partition and offset of a record."""
    return record.topic, record.partition, record.offset


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode("utf-8", "surrogateescape")


def is_text(record: Record) -> bool:
    """Whether key and value are UTF-8."""
    try:
        (record.key or b"").decode()
        (record.value or b"").decode()
    except UnicodeDecodeError:
        return False
    return True


def is_cell(record: Record) -> bool:
    """Whether key and value can stand in unquoted text between tabs, and neither reads as null."""
    data = (record.key, record.value)
    odd = any(byte in (part or b"") for part in data for byte in b'\t\n\r"')
    return is_text(record) and not odd and b"" not in data and b"null" not in data and record.key is not None


def _kcat(record: Record) -> dict[str, object]:
    fields: dict[str, object] = {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "tstype": "create",
        "ts": record.timestamp_ms,
        "broker": 1,
    }
    if record.headers:
        fields["headers"] = [text for name, value in record.headers for text in (name, _text(value))]
    return fields | {"key": _text(record.key), "payload": _text(record.value)}


def _created(records: Sequence[Record]) -> list[Record]:
    return [record._replace(timestamp_type="create") for record in records]


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _lines(carried: list[Record], lines: Sequence[bytes], form: Form, header: bytes = b"") -> LaidOut:
    pieces = [line + form.line_end for line in lines]
    if not form.final:
        pieces[-1] = lines[-1]
    return LaidOut(carried, pieces, begin=header and header + form.line_end)


def kcat_lines(records: Sequence[Record], form: Form) -> LaidOut:
    """``kcat -J``: bytes that are no UTF-8 stand raw in the file."""
    lines = [json.dumps(_kcat(record), separators=(",", ":"), ensure_ascii=False) for record in records]
    return _lines(_created(records), [_encoded(line) for line in lines], form)


def plain_lines(records: Sequence[Record], form: Form) -> LaidOut:
    """The plain envelope, base64 where bytes are no text."""
    return _lines(list(records), [json.dumps(_plain(record)).encode() for record in records], form)


def _plain(record: Record) -> dict[str, object]:
    fields: dict[str, object] = {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "timestamp": record.timestamp_ms,
    }
    for role, data in (("key", record.key), ("value", record.value)):
        try:
            fields[role] = None if data is None else data.decode()
        except UnicodeDecodeError:
            fields |= {role: base64.b64encode(data or b"").decode(), f"{role}_encoding": "base64"}
    headers = [{"key": name, "value": _text(value)} for name, value in record.headers]
    return fields | ({"headers": headers} if headers else {})


def pretty_objects(records: Sequence[Record], form: Form) -> LaidOut:
    """``kcat -J | jq .``: objects over several lines, one after another."""
    texts = [json.dumps(_kcat(record), indent=2, ensure_ascii=False) for record in records]
    lines = [_encoded(text).replace(b"\n", form.line_end) for text in texts]
    return _lines(_created(records), lines, form)


def array(records: Sequence[Record], form: Form) -> LaidOut:
    """``kcat -J | jq -s .``: one array, pretty."""
    texts = [json.dumps(_kcat(record), indent=2, ensure_ascii=False) for record in records]
    pieces = [_encoded(text.replace("\n", "\n  ")).replace(b"\n", form.line_end) for text in texts]
    lead = form.line_end + b"  "
    end = form.line_end + b"]" + (form.line_end if form.final else b"")
    return LaidOut(_created(records), pieces, b"[" + lead, b"," + lead, end)


def lambda_event(records: Sequence[Record], form: Form) -> LaidOut:
    """AWS Lambda's event: one object, an array for each partition, base64 throughout. In a single line."""
    (partition,) = {record.partition for record in records}
    head = {"eventSource": "aws:kafka", "records": {f"orders-{partition}": []}}
    begin, _, end = json.dumps(head).partition("[]")
    pieces = [
        json.dumps(
            {
                "topic": record.topic,
                "partition": record.partition,
                "offset": record.offset,
                "timestamp": record.timestamp_ms,
                "timestampType": "CREATE_TIME",
                "key": _base64(record.key),
                "value": _base64(record.value),
                "headers": [{name: list(value or b"")} for name, value in record.headers],
            }
        ).encode()
        for record in records
    ]
    ending = b"]" + end.encode() + (form.line_end if form.final else b"")
    # Lambda writes a header's bytes as numbers; of none, no example is known.
    carried = [r._replace(headers=tuple((name, value or b"") for name, value in r.headers)) for r in records]
    return LaidOut(_created(carried), pieces, begin.encode() + b"[", b",", ending)


def _base64(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode()


def csv_rows(records: Sequence[Record], form: Form) -> LaidOut:
    """CSV with a header line. Quoted: every cell that is not null; else only where it must be."""
    carried = [record._replace(headers=()) for record in records]
    rows = [_csv_row(record, form) for record in carried]
    return _lines(carried, rows, form, ",".join(COLUMNS).encode())


def _csv_row(record: Record, form: Form) -> bytes:
    cells = [record.topic, record.partition, record.offset, record.timestamp_ms]
    return b",".join(
        [*(str(cell).encode() for cell in cells), _cell(record.key, form), _cell(record.value, form)]
    )


def _cell(data: bytes | None, form: Form) -> bytes:
    if data is None:
        return b""
    needs_quotes = not data or any(byte in data for byte in b',"\r\n')
    return b'"' + data.replace(b'"', b'""') + b'"' if form.quoted or needs_quotes else data


def console_lines(records: Sequence[Record], form: Form) -> LaidOut:
    """``kafka-console-consumer`` with all its ``print.*`` properties."""
    carried = _created([record._replace(headers=()) for record in records])
    lines = [
        b"CreateTime:%d\tPartition:%d\tOffset:%d\tNO_HEADERS\t" % (record.timestamp_ms, *place(record)[1:])
        + b"\t".join(b"null" if data is None else data for data in (record.key, record.value))
        for record in carried
    ]
    return _lines(carried, lines, form)


def formatted_lines(records: Sequence[Record], form: Form) -> LaidOut:
    """``kcat -f '%t\\t%p\\t%o\\t%T\\t%k\\t%s\\n'``: nothing is quoted, null is nothing."""
    carried = [record._replace(headers=()) for record in records]
    lines = [
        b"\t".join([_encoded(record.topic), *(b"%d" % number for number in record[1:4]), record.key or b""])
        + b"\t"
        + (record.value or b"")
        for record in carried
    ]
    return _lines(carried, lines, form)


def dump_log_lines(records: Sequence[Record], form: Form) -> LaidOut:
    """``kafka-dump-log --print-data-log``: sizes tell where a payload ends, whatever is in it."""
    carried = _created([record._replace(headers=()) for record in records])
    lines = []
    for record in carried:
        sizes = [-1 if data is None else len(data) for data in (record.key, record.value)]
        line = b"| offset: %d CreateTime: %d keySize: %d valueSize: %d sequence: -1 headerKeys: []" % (
            record.offset,
            record.timestamp_ms,
            *sizes,
        )
        named = ((b" key: ", record.key), (b" payload: ", record.value))
        lines.append(line + b"".join(label + data for label, data in named if data is not None))
    head = b"Dumping /data/orders-0/00000000000000000000.log" + form.line_end + b"Log starting offset: 0"
    return _lines(carried, lines, form, head)


def avro_container(records: Sequence[Record], form: Form) -> LaidOut:
    """An Avro object container, some records to a block; it is one piece."""
    del form
    carried = [record._replace(headers=()) for record in records]
    out = io.BytesIO()
    rows = [dict(zip(COLUMNS, record[:6], strict=True)) for record in carried]
    fastavro.writer(out, _SCHEMA, rows, codec="deflate", sync_interval=4000)
    return LaidOut(carried, [b""] * len(carried), begin=out.getvalue())


_SCHEMA = {
    "type": "record",
    "name": "envelope",
    "fields": [
        {"name": "topic", "type": "string"},
        {"name": "partition", "type": "int"},
        {"name": "offset", "type": "long"},
        {"name": "timestamp", "type": "long"},
        {"name": "key", "type": ["null", "bytes"]},
        {"name": "value", "type": ["null", "bytes"]},
    ],
}


def parquet_file(records: Sequence[Record], form: Form) -> LaidOut:
    """Parquet as Spark's Kafka source is written, some records to a row group; it is one piece."""
    del form
    carried = _created(records)
    rows = [
        (
            r.key,
            r.value,
            *r[:3],
            r.timestamp_ms,
            0,
            [{"key": name, "value": value} for name, value in r.headers],
        )
        for r in carried
    ]
    arrays = [
        pa.array(column, field.type)
        for column, field in zip(zip(*rows, strict=True), SPARK_SCHEMA, strict=True)
    ]
    out = io.BytesIO()
    parquet.write_table(pa.Table.from_arrays(arrays, schema=SPARK_SCHEMA), out, row_group_size=100)
    return LaidOut(carried, [b""] * len(carried), begin=out.getvalue())


SPARK_SCHEMA = pa.schema(
    [
        pa.field("key", pa.binary()),
        pa.field("value", pa.binary()),
        pa.field("topic", pa.string()),
        pa.field("partition", pa.int32()),
        pa.field("offset", pa.int64()),
        pa.field("timestamp", pa.timestamp("ms", "UTC")),
        pa.field("timestampType", pa.int32()),
        pa.field("headers", pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))),
    ]
)


def _in_one_log(record: Record) -> bool:
    return record.partition == 0


LAYOUTS = {
    "kcat": Layout(".jsonl", kcat_lines),
    "plain": Layout(".jsonl", plain_lines),
    "pretty": Layout(".json", pretty_objects, is_text),
    "array": Layout(".json", array, is_text),
    "lambda": Layout(".json", lambda_event, _in_one_log),
    "csv": Layout(
        ".csv", csv_rows, is_text, ("--tombstone", "missing"), frozenset({"line_end", "final", "quoted"})
    ),
    "console": Layout(
        ".txt",
        console_lines,
        lambda record: _in_one_log(record) and is_cell(record),
        ("--tombstone", "literal:null"),
    ),
    "kcat-f": Layout(
        ".txt",
        formatted_lines,
        is_cell,
        ("--columns", ",".join(COLUMNS), "--delimiter", "\\t", "--tombstone", "missing"),
    ),
    "dump-log": Layout(".log", dump_log_lines, lambda record: _in_one_log(record) and is_text(record)),
    "avro": Layout(".avro", avro_container, forms=frozenset()),
    "parquet": Layout(".parquet", parquet_file, forms=frozenset()),
}
