"""Rows of one of the files that Confluent's sinks write side by side: bare keys, values, or headers."""

import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import fastavro

from kcompact.dumps.avro.avro_container import Header, blocks, map_file, unpack
from kcompact.dumps.avro.avro_layout import read_block
from kcompact.dumps.avro.avro_reader import without_null
from kcompact.dumps.avro.avro_records import Datum, RecordReader
from kcompact.dumps.avro.avro_schema import WireSchema, is_bytes, is_integer, wire_schema
from kcompact.dumps.json.json_text import ParsedJson
from kcompact.dumps.records.layout import UnreadableError
from kcompact.dumps.records.structured import as_json
from kcompact.dumps.text.lines import file_bytes, lines_of


class Row(NamedTuple):
    """One row: its bytes in the file, what stands in it, and the bytes that this stands for (None: null)."""

    record_bytes: int
    parsed: Any
    data: bytes | None


@dataclass(frozen=True)
class SidePart:
    """One of the files. ``header`` None: JSON lines."""

    path: str
    data_path: str
    header: Header | None = None


def bad_row(path: str, reason: str, hint: str | None) -> UnreadableError:
    """The error for a row that cannot be read, which names its file."""
    return UnreadableError(f"{path}: {reason}", hint, position=0)


def rows_of(part: SidePart, *, as_text: bool) -> Iterator[Row]:
    """All rows in order. ``as_text``: structured Avro becomes JSON, else its datum's bytes.

    Raises UnreadableError.
    """
    if part.header is None:
        return _json_rows(part)
    return _avro_rows(part, part.header, as_text=as_text)


def _json_rows(part: SidePart) -> Iterator[Row]:
    number = 0
    for line in lines_of(part.data_path, 0, file_bytes(part.data_path)):
        number += 1
        if line.data.isspace():
            continue
        try:
            parsed = ParsedJson(line.data)
        except ValueError as error:
            reason = f"line {number} is not JSON"
            raise bad_row(
                part.path, reason, "export the file again: a row too few binds all that follow to other keys"
            ) from error
        yield Row(len(line.data), parsed.value, _json_bytes(parsed))


def _json_bytes(parsed: ParsedJson) -> bytes | None:
    """A string is its text, anything else its exact spelling."""
    if parsed.value is None:
        return None
    return parsed.encoded(parsed.value) if isinstance(parsed.value, str) else parsed.data.strip()


def _avro_rows(part: SidePart, header: Header, *, as_text: bool) -> Iterator[Row]:
    wire, text = wire_schema(header.schema), wire_schema(header.schema, text=True)
    structured = text.parsed(without_null(text.type)) if as_text else None
    reader = RecordReader(wire, frozenset({()}))
    with map_file(part.data_path) as data:
        try:
            for block in blocks(data, header.sync, len(header.raw), len(data)):
                for datum in read_block(reader, unpack(data, block, header.codec), block):
                    value = datum.at(())
                    yield Row(datum.record_bytes, value, _avro_bytes(wire, value, datum, structured))
        except UnreadableError as bad:
            raise bad_row(part.path, f"byte {bad.position}: {bad}", bad.hint) from bad


def _avro_bytes(wire: WireSchema, value: Any, datum: Datum, structured: Any) -> bytes | None:
    if value is None:
        return None
    if is_bytes(wire, wire.type):
        return bytes(value)
    if is_integer(wire.type):
        return b"%d" % value
    raw = datum.raw[()]
    return as_json(fastavro.schemaless_reader(io.BytesIO(raw), structured, None)) if structured else raw


def headers_in(row: Row) -> Any:
    """The headers in a row of a headers file; in JSON, Connect wraps them in an object."""
    value = row.parsed
    if isinstance(value, list | dict) and row.data is not None:
        value = ParsedJson(row.data).with_spellings(value, ())
    return value.get("headers", value) if isinstance(value, dict) else value
