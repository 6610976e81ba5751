"""Rows of one of the files that Confluent's sinks write side by side: bare keys, values, or headers."""

import io
from collections.abc import Iterator
from dataclasses import dataclass
from mmap import mmap
from typing import Any, NamedTuple

import fastavro

from kcompact.dumps.avro.avro_bounds import AvroBounds
from kcompact.dumps.avro.avro_container import CUT_HINT, BadBlock, Block, Header, blocks, map_file, unpack
from kcompact.dumps.avro.avro_records import DAMAGE, branch_bytes
from kcompact.dumps.avro.avro_schema import WireSchema, is_bytes, is_integer, wire_schema
from kcompact.dumps.json.json_text import ParsedJson
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


class BadRow(Exception):  # noqa: N818  becomes a Reject or an InputError
    """A row that cannot be read."""

    def __init__(self, path: str, reason: str, hint: str) -> None:
        super().__init__(path, reason, hint)
        self.reason = f"{path}: {reason}"
        self.hint = hint


def rows_of(part: SidePart, *, as_text: bool) -> Iterator[Row]:
    """All rows in order. ``as_text``: structured Avro becomes JSON, else its datum's bytes. Raises BadRow."""
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
            raise BadRow(
                part.path, reason, "export the file again: a row too few binds all that follow to other keys"
            ) from error
        yield Row(len(line.data), parsed.value, _json_bytes(parsed))


def _json_bytes(parsed: ParsedJson) -> bytes | None:
    """A string is its text, anything else its exact spelling."""
    if parsed.value is None:
        return None
    return parsed.encoded(parsed.value) if isinstance(parsed.value, str) else parsed.data.strip()


def _avro_rows(part: SidePart, header: Header, *, as_text: bool) -> Iterator[Row]:
    wire = wire_schema(header.schema)
    text = wire_schema(header.schema, text=True).parsed(wire_schema(header.schema, text=True).type)
    schema, bounds = wire.parsed(wire.type), AvroBounds(wire)
    with map_file(part.data_path) as data:
        try:
            for block in blocks(data, header.sync, len(header.raw), len(data)):
                for found, raw in _datums(data, block, header.codec, schema, bounds):
                    yield Row(len(raw), found, _avro_bytes(wire, found, raw, text if as_text else None))
        except BadBlock as bad:
            raise BadRow(part.path, f"byte {bad.position}: {bad.reason}", bad.hint or CUT_HINT) from bad


def _datums(
    data: mmap, block: Block, codec: str, schema: Any, bounds: AvroBounds
) -> Iterator[tuple[Any, bytes]]:
    unpacked = unpack(data, block, codec)
    stream = io.BytesIO(unpacked)
    try:
        bounds.check(unpacked)
        for _ in range(block.count):
            start = stream.tell()
            found: Any = fastavro.schemaless_reader(
                stream, schema, None, handle_unicode_errors="surrogateescape"
            )
            yield found, unpacked[start : stream.tell()]
    except DAMAGE as error:
        raise BadBlock(block.position, f"a row in this block does not fit the schema ({error})") from error
    if stream.tell() != len(unpacked):
        raise BadBlock(block.position, "bytes are left over behind this block's rows")


def _avro_bytes(wire: WireSchema, found: Any, raw: bytes, text: Any) -> bytes | None:
    if found is None:
        return None
    if is_bytes(wire, wire.type):
        return bytes(found)
    if is_integer(wire.type):
        return b"%d" % found
    if text is None:
        return raw[branch_bytes(wire.type) :]
    return as_json(fastavro.schemaless_reader(io.BytesIO(raw), text, None))


def headers_in(row: Row) -> Any:
    """The headers in a row of a headers file; in JSON, Connect wraps them in an object."""
    found = row.parsed
    return found.get("headers", found) if isinstance(found, dict) else found
