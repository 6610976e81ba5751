"""Readers of kcompact's outputs with the standard library, fastavro and pyarrow, without code of kcompact."""

import base64
import csv
import io
import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
from pyarrow import parquet

from kcompact.dumps.records.record import Record


def read_plain_lines(path: Path) -> list[Record]:
    """The plain envelope as JSON lines."""
    lines = path.read_bytes().split(b"\n")
    assert lines.pop() == b"", "the last line has no line end"
    return [_of_fields(json.loads(line)) for line in lines]


def read_plain_csv(path: Path) -> list[Record]:
    """The plain envelope as CSV: the cells are those of the csv module, nulls are unquoted and empty."""
    data = path.read_bytes()
    assert data.endswith(b"\n")
    text = data.decode()
    rows = list(csv.reader(io.StringIO(text, newline="")))
    quoted = list(_quoted_cells(text))
    assert len(rows) == len(quoted)
    names = rows[0]
    found = []
    for cells, flags in zip(rows[1:], quoted[1:], strict=True):
        assert len(cells) == len(flags) == len(names)
        fields: dict[str, Any] = {
            name: cell if cell or flag else None for name, cell, flag in zip(names, cells, flags, strict=True)
        }
        numbers = {name: int(fields[name]) for name in ("partition", "offset", "timestamp")}
        headers = json.loads(fields["headers"]) if fields["headers"] else []
        found.append(_of_fields(fields | numbers | {"headers": headers}))
    return found


def _quoted_cells(text: str) -> Iterator[list[bool]]:
    """Of each row, which cells begin with a quote."""
    flags, is_open, at_start = [], False, True
    for character in text:
        if at_start:
            flags.append(character == '"')
        if character == '"':
            is_open = not is_open
        ends_cell = character in ",\n" and not is_open
        if ends_cell and character == "\n":
            yield flags
            flags = []
        at_start = ends_cell


def read_plain_avro(path: Path) -> list[Record]:
    """The plain envelope as Avro."""
    with path.open("rb") as source:
        rows = [dict(row) for row in fastavro.reader(source) if isinstance(row, dict)]
    found = []
    for row in rows:
        timestamp = row["timestamp"]
        if isinstance(timestamp, datetime):
            timestamp = round(timestamp.timestamp() * 1000)
        headers = tuple((header["key"], header["value"]) for header in row.get("headers", ()))
        place = (row["topic"], row["partition"], row["offset"], -1 if timestamp is None else timestamp)
        found.append(Record(*place, row["key"], row["value"], headers, row.get("timestampType")))
    return found


def read_parquet(path: Path) -> list[Record]:
    """The columns of Spark's Kafka source, as Parquet."""
    table = parquet.read_table(path)
    table = table.set_column(5, "timestamp", table["timestamp"].cast(pa.timestamp("ms")).cast(pa.int64()))
    return [
        Record(
            row["topic"],
            row["partition"],
            row["offset"],
            -1 if row["timestamp"] is None else row["timestamp"],
            row["key"],
            row["value"],
            tuple((header["key"], header["value"]) for header in row["headers"] or ()),
            {0: "create", 1: "logappend"}.get(row["timestampType"]),
        )
        for row in table.to_pylist()
    ]


def read_keys_and_values(path: Path) -> list[tuple[bytes | None, bytes | None]]:
    """The keys and values that ``kcat -P -Z -K '\\t'`` would send."""
    lines = path.read_bytes().split(b"\n")
    assert lines.pop() == b"", "the last line has no line end"
    pairs = (line.partition(b"\t") for line in lines)
    return [(key or None, value or None) for key, _, value in pairs]


READERS = {"jsonl": read_plain_lines, "csv": read_plain_csv, "avro": read_plain_avro, "parquet": read_parquet}


def _of_fields(fields: dict[str, Any]) -> Record:
    return Record(
        fields["topic"],
        fields["partition"],
        fields["offset"],
        fields["timestamp"],
        _decoded(fields["key"], fields.get("key_encoding")),
        _decoded(fields["value"], fields.get("value_encoding")),
        tuple(
            (header["key"], _decoded(header["value"], header.get("encoding")))
            for header in fields.get("headers") or ()
        ),
        fields.get("timestampType"),
    )


def _decoded(text: str | None, encoding: str | None) -> bytes | None:
    if text is None:
        return None
    assert encoding in {None, "base64"}
    return base64.b64decode(text, validate=True) if encoding else text.encode()
