"""The frame of Avro object containers: header, blocks and sync markers; records are not looked into.

https://avro.apache.org/docs/1.12.0/specification/#object-container-files
"""

import io
import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any

import fastavro

from kcompact.dumps.avro.avro_codecs import CODECS, TooLarge
from kcompact.dumps.records.record import LARGEST_RECORD_BYTES
from kcompact.errors import InputError, UnreadableError

MAGIC = b"Obj\x01"
SYNC_BYTES = 16
_FIRST_READ_BYTES = 1 << 16
_MAX_HEADER_BYTES = 1 << 26
_LARGE_BYTES = 1 << 20
_LARGE_BLOCK_BYTES = 256 << 20  # writers close a block at some kB or MB, or after a single large record
_HONEST_RATIO = 1_000  # small records differ in their offsets at least
_BOMB_HINT = "no writer makes such blocks; write the file again with smaller ones if its records are good"
_MAX_VARINT_BYTES = 10
_MORE = 0x80  # set in every byte of a varint but the last
_HEADER_SCHEMA = fastavro.parse_schema({"type": "map", "values": "bytes"})


_JOINED_HINT = (
    "Avro files cannot be joined as bytes: name them one after another, or their folder, or join them with"
    " avro-tools concat"
)
CUT_HINT = "the file was cut or damaged: export it again, or copy it again and compare the sizes"


def bad_block(position: int, reason: str, hint: str | None = CUT_HINT) -> UnreadableError:
    """The error for the block that starts at ``position`` of the file, or for a record in it."""
    return UnreadableError(reason, hint, position=position)


@dataclass(frozen=True)
class Header:
    """The header of a container. ``raw`` are all of its bytes."""

    raw: bytes
    schema_json: str
    codec: str
    sync: bytes

    @property
    def schema(self) -> Any:
        """The writer's schema as parsed JSON."""
        return json.loads(self.schema_json)


@dataclass(frozen=True, slots=True)
class Block:
    """One block: at ``position`` are its two longs, from ``start`` to ``end`` its packed bytes."""

    position: int
    count: int
    start: int
    end: int

    @property
    def next_position(self) -> int:
        """Where the following block starts, after this one's sync marker."""
        return self.end + SYNC_BYTES


Chunk = list[tuple[Block, bytes]]
"""Neighbouring blocks, and the unpacked records of each."""


def read_header(path: str, data_path: str) -> Header:
    """The header of the container at ``data_path``; errors name ``path``. Raises InputError."""
    with Path(data_path).open("rb") as file:
        size = _FIRST_READ_BYTES
        data = file.read(size)
        while (header := _parse_header(path, data)) is None:
            more = file.read(size)
            if not more or len(data) > _MAX_HEADER_BYTES:
                raise InputError(f"{path}: the Avro header is incomplete", hint=CUT_HINT)
            data += more
            size *= 2
    if header.codec not in CODECS:
        raise InputError(
            f"{path}: Avro codec {header.codec!r} is unknown",
            hint=f"write it with one of {', '.join(CODECS)}",
        )
    return header


def _parse_header(path: str, data: bytes) -> Header | None:
    """The header at the start of ``data``, None if it does not end there."""
    stream = io.BytesIO(data)
    stream.seek(len(MAGIC))
    try:
        metadata = fastavro.schemaless_reader(stream, _HEADER_SCHEMA, None)
    except (EOFError, IndexError, MemoryError, OverflowError, ValueError):
        return None
    end = stream.tell() + SYNC_BYTES
    if end > len(data) or not isinstance(metadata, dict):
        return None
    schema_json = _metadata_text(path, metadata, "avro.schema", None)
    codec = _metadata_text(path, metadata, "avro.codec", "null")
    return Header(data[:end], schema_json, codec, data[end - SYNC_BYTES : end])


def _metadata_text(path: str, metadata: dict[str, Any], name: str, default: str | None) -> str:
    value = metadata.get(name, default)
    try:
        text = value.decode() if isinstance(value, bytes) else str(value or "")
        if name == "avro.schema":
            json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: the Avro header has no readable {name}", hint=CUT_HINT) from error
    return text


def map_file(data_path: str) -> mmap:
    """The file's bytes, mapped into memory."""
    with Path(data_path).open("rb") as file:
        return mmap(file.fileno(), 0, access=ACCESS_READ)


def blocks(data: mmap, sync: bytes, start: int, end: int) -> Iterator[Block]:
    """The blocks that start in [start, end), by their headers alone. Raises UnreadableError.

    ``end`` has to be a block's start or the end of the file. So if a block reaches over it, the file is
    damaged, or a record happens to hold the sync marker.
    """
    position = start
    while position < end:
        block = block_at(data, position)
        if block.next_position > len(data):
            raise bad_block(position, "the file ends inside this block")
        if data[block.end : block.next_position] != sync:
            raise bad_block(position, "the sync marker after this block is not the file's")
        if block.next_position > end:
            raise bad_block(position, "this block reaches into the next one")
        yield block
        position = block.next_position


def holds_a_block(head: bytes) -> bool:
    """Whether the beginning of a container holds its header and the whole of its first block."""
    with suppress(InputError, UnreadableError):
        header = _parse_header("", head)
        return header is not None and block_at(head, len(header.raw)).next_position <= len(head)
    return False


def block_at(data: mmap | bytes, position: int) -> Block:
    """The block that starts at ``position``, by its two longs. Raises UnreadableError."""
    head = data[position : position + 2 * _MAX_VARINT_BYTES]
    try:
        count, at = decode_long(head, 0)
        size, at = decode_long(head, at)
    except IndexError as error:
        raise bad_block(position, "the file ends inside this block") from error
    if head.startswith(MAGIC):  # no block begins so: its count would be negative
        raise bad_block(position, "another Avro file begins here", _JOINED_HINT)
    if count < 0 or size < 0:
        raise bad_block(position, f"this block says it holds {count} records in {size} bytes")
    return Block(position, count, position + at, position + at + size)


def decode_long(data: bytes, at: int) -> tuple[int, int]:
    """Avro's long at ``at``, and where it ends. Raises IndexError at the end of ``data``."""
    shift = value = 0
    while (byte := data[at]) >= _MORE:
        value |= (byte & 0x7F) << shift
        shift += 7
        at += 1
    value |= byte << shift
    return (value >> 1) ^ -(value & 1), at + 1


def unpack(data: mmap, block: Block, codec: str) -> bytes:
    """The unpacked bytes of a block's records, at least one for each. Raises UnreadableError."""
    packed_bytes = block.end - block.start
    if block.count <= LARGEST_RECORD_BYTES // _LARGE_BYTES:
        most_bytes = LARGEST_RECORD_BYTES
    else:
        most_bytes = min(LARGEST_RECORD_BYTES, max(_LARGE_BLOCK_BYTES, packed_bytes * _HONEST_RATIO))
    try:
        unpacked = CODECS[codec].unpack(data[block.start : block.end], most_bytes)
    except TooLarge as error:
        reason = f"this block of {block.count:,} records unpacks to more than {most_bytes:,} bytes"
        raise bad_block(block.position, reason, _BOMB_HINT) from error
    except CODECS[codec].errors as error:
        raise bad_block(block.position, f"this block does not unpack ({codec}: {error})") from error
    if block.count > len(unpacked):
        reason = f"this block says that it holds {block.count:,} records in {len(unpacked):,} bytes"
        raise bad_block(block.position, reason)
    return unpacked


def pack_block(count: int, unpacked: bytes, header: Header) -> bytes:
    """A whole block of ``count`` records for a file with this header."""
    packed = CODECS[header.codec].pack(unpacked)
    return encode_long(count) + encode_long(len(packed)) + packed + header.sync


def encode_long(value: int) -> bytes:
    """Avro's long: zigzag, then seven bits a byte, lowest first."""
    remainder = (value << 1) ^ (value >> 63)
    out = bytearray()
    while remainder >= _MORE:
        out.append(remainder & 0x7F | _MORE)
        remainder >>= 7
    out.append(remainder)
    return bytes(out)
