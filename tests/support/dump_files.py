"""Writers of small dumps in three formats, from a test's Records."""

import base64
import json
from collections.abc import Iterable
from pathlib import Path

import fastavro

from kcompact.dumps.records.record import Record

AVRO_SCHEMA = {
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


def write_kcat(path: Path, records: Iterable[Record]) -> Path:
    """Write lines as ``kcat -J`` does: bytes that are no UTF-8 stand raw in the file."""
    path.write_bytes(b"".join(kcat_line(record) for record in records))
    return path


def kcat_line(record: Record) -> bytes:
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
    fields |= {"key": _text(record.key), "payload": _text(record.value)}
    line = json.dumps(fields, separators=(",", ":"), ensure_ascii=False)
    return line.encode("utf-8", "surrogateescape") + b"\n"


def write_csv(path: Path, records: Iterable[Record]) -> Path:
    """Write a header line and RFC 4180: a cell without content is null, two quotes are empty. Text only."""
    lines = ["topic,partition,offset,timestamp,key,value"]
    for record in records:
        cells = [record.topic, record.partition, record.offset, record.timestamp_ms]
        lines.append(",".join([*map(str, cells), _cell(record.key), _cell(record.value)]))
    path.write_bytes("".join(line + "\n" for line in lines).encode())
    return path


def write_avro(path: Path, records: Iterable[Record], codec: str = "deflate") -> Path:
    """The plain envelope as an Avro object container, some records to a block."""
    rows = [
        {
            "topic": record.topic,
            "partition": record.partition,
            "offset": record.offset,
            "timestamp": record.timestamp_ms,
            "key": record.key,
            "value": record.value,
        }
        for record in records
    ]
    with path.open("wb") as out:
        fastavro.writer(out, AVRO_SCHEMA, rows, codec=codec, sync_interval=200)
    return path


def kcat_offsets(path: Path) -> list[tuple[str, int, int]]:
    """(topic, partition, offset) of each line of a kcat dump, read without the code under test."""
    # Not text.splitlines(): that cuts at characters of a value, too (U+0085, U+2028).
    lines = path.read_bytes().splitlines()
    rows = [json.loads(line.decode("utf-8", "surrogateescape")) for line in lines]
    return [(row["topic"], row["partition"], row["offset"]) for row in rows]


def avro_offsets(path: Path) -> list[tuple[str, int, int]]:
    with path.open("rb") as source:
        return [(row["topic"], row["partition"], row["offset"]) for row in fastavro.reader(source)]


def as_base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode("utf-8", "surrogateescape")


def _cell(data: bytes | None) -> str:
    return "" if data is None else '"' + data.decode().replace('"', '""') + '"'
