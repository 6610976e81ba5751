"""Avro object containers: each block is read by itself, and survivors are copied byte for byte.

A record's position is the start of its block in the split, times 2**32, plus its own start in the unpacked
block; ``record_bytes`` is its length there.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from mmap import mmap
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from kcompact.dumps.avro import avro_copy
from kcompact.dumps.avro.avro_bounds import AvroBounds
from kcompact.dumps.avro.avro_container import (
    CUT_HINT,
    Block,
    Chunk,
    Header,
    bad_block,
    blocks,
    map_file,
    read_header,
    unpack,
)
from kcompact.dumps.avro.avro_reader import DAMAGE, AvroReader, Datum, RecordReader
from kcompact.dumps.avro.avro_schema import avro_dialect, columns_of, kind_names_at, wire_schema
from kcompact.dumps.detect.candidate import Recognised
from kcompact.dumps.detect.choosing import notes_on_columns
from kcompact.dumps.detect.event_proposals import (
    check_delete_flags,
    check_events,
    marks_of,
    parsed_values,
)
from kcompact.dumps.dialects.envelope import AVRO, value_place
from kcompact.dumps.dialects.sampled_values import Row, with_bytes_unread
from kcompact.dumps.loops.avro.block_loop import BlockLoop, Cursor
from kcompact.dumps.loops.readiness import scanner_of
from kcompact.dumps.options import ReadOptions
from kcompact.dumps.records.indexing import Entry, index_rows
from kcompact.dumps.records.layout import Chosen, DumpFile, Split, SplitNotes, SplitToIndex
from kcompact.dumps.records.layout_interface import Layout, asked_for, until_reject, with_tombstones
from kcompact.dumps.records.record import Record
from kcompact.dumps.records.structured import as_json
from kcompact.dumps.text.lines import cut_behind
from kcompact.errors import InputError, UnreadableError

BLOCK_SHIFT = 32
CHUNK_BYTES = 8 << 20  # unpacked, in memory at a time
_SAMPLED = 20  # values that are looked at to see what they are
_LOOKED_AT = 200  # records that are looked at, for example for fields that tell of deletes
_BEGINNING = Cursor(0)


@dataclass(frozen=True)
class AvroShape:
    """The shape of an Avro file. ``target`` is the output's header if that is another file's."""

    header: Header
    target: Header | None = None


def recognise_avro(path: str, data_path: str, options: ReadOptions) -> Recognised:
    """Recognise a file with Avro's magic; messages name it ``path``. Raises InputError."""
    header = read_header(path, data_path)
    try:
        wire = wire_schema(header.schema)
        AvroBounds(wire)
    except ValueError as error:
        raise InputError(f"{path}: the schema in the header is {error}", hint=CUT_HINT) from error
    columns = columns_of(path, wire)
    place = value_place(columns, options)
    dialect = AVRO["avro"].with_places({"value": place})
    notes = check_events(path, dialect, _sample(data_path, header, place), options)
    dialect = avro_dialect(columns, header.schema, wire, options)
    if marks := marks_of(dialect, columns.names):
        rows = _first_rows(data_path, header, [*marks, *filter(None, [dialect.value.place])])
        flag = check_delete_flags(path, dialect, rows, marks, options)
        dialect = replace(dialect, delete_flag=flag)
    places = (dialect.key.place, dialect.value.place)
    kinds = {place: kind_names_at(header.schema, place) for place in places if place}
    of_bytes = [part for part in kinds if kinds[part] == {"bytes"}]  # never null
    if parts := [part for part in kinds if part in of_bytes or kinds[part] - _WITHOUT_TEXT]:
        rows = with_bytes_unread(_first_rows(data_path, header, parts), of_bytes)
        notes += notes_on_columns(path, dialect, rows, options)
    return Recognised("avro", dialect, AvroShape(header), notes=notes)


_WITHOUT_TEXT = {"bytes", "fixed", "null"}


def _sample(data_path: str, header: Header, place: str) -> list[Any]:
    """The first values, parsed, as far as they are JSON or can be written as JSON."""

    def spelt(value: Any) -> bytes | None:
        try:
            return value if isinstance(value, bytes) else as_json(value)
        except UnreadableError:
            return None  # reported when the whole is read

    return parsed_values(spelt(row[place]) for row in _first_rows(data_path, header, [place], _SAMPLED))


def _first_rows(data_path: str, header: Header, places: list[str], most: int = _LOOKED_AT) -> list[Row]:
    """The values at these places of the first records."""
    paths = {place: tuple(place.split(".")) if place else () for place in places}
    try:
        reader = RecordReader(wire_schema(header.schema, text=True), frozenset(paths.values()))
        with map_file(data_path) as data:
            block = next(blocks(data, header.sync, len(header.raw), len(data)))
            datums = islice(reader.read(unpack(data, block, header.codec)), min(block.count, most))
            return [{place: datum.at(path) for place, path in paths.items()} for datum in datums]
    except (StopIteration, UnreadableError, *DAMAGE):
        return []  # reported when the whole is read


class Avro(Layout):
    """The layout of Avro object containers."""

    def plan(self, file: DumpFile, split_bytes: int) -> list[tuple[int, int]]:
        """Cut after sync markers; one range if records depend on those before them (``Dialect.in_order``)."""
        with Path(file.data_path).open("rb") as source:
            return self.cut(file, source, split_bytes)

    def cut(self, file: DumpFile, source: BinaryIO, split_bytes: int) -> list[tuple[int, int]]:
        """As ``plan``, for an open file: it is only read where cuts are wanted."""
        header: Header = file.shape.header
        most_bytes = file.data_bytes if file.dialect.in_order else split_bytes
        return cut_behind(header.sync, source, len(header.raw), file.data_bytes, most_bytes)

    def read(self, part: SplitToIndex, *, values: bool) -> Iterator[Entry]:
        """The records that are asked for, read with fastavro."""
        return asked_for(_all_entries(part, values=values), part)

    def index(self, part: SplitToIndex, extra: frozenset[str]) -> Iterator[pa.RecordBatch]:
        """Index rows, by a compiled loop if the dump is large and a loop can read its schema and dialect."""
        if part.file.dialect.in_order:
            return super().index(part, extra)
        return until_reject(_indexed(part, extra), part)

    def decode_alone(self, chosen: Chosen, notes: SplitNotes) -> Iterator[Record]:
        """The chosen records, each read by itself. Raises UnreadableError."""
        file, split, positions, record_bytes = chosen
        reader = AvroReader(file, notes, values=True)
        datums = reader.records()
        with map_file(file.data_path) as data:
            unpacked = avro_copy.Unpacked(data, file.shape.header)
            pairs = zip(positions.tolist(), record_bytes.tolist(), strict=True)
            for ordinal, (position, length) in enumerate(pairs):
                start, at = split.start + (position >> BLOCK_SHIFT), position & 0xFFFFFFFF
                datum = next(datums.read(unpacked.at(start)[at : at + length]))
                try:
                    yield reader(datum, ordinal)
                except UnreadableError as bad:
                    bad.position = start
                    raise

    def around(self, file: DumpFile) -> tuple[bytes, bytes, bytes]:
        """The input's header: its schema, codec, metadata and sync marker."""
        return file.shape.header.raw, b"", b""

    def copy(self, chosen: Chosen, out: BinaryIO) -> int:
        """Write a block for each input block that has survivors, and these byte for byte."""
        try:
            chosen = with_tombstones(chosen, _all_entries)
            with map_file(chosen.file.data_path) as data:
                return avro_copy.copy_records(chosen, data, out)
        except UnreadableError as bad:
            raise self.refusal(chosen.file, bad) from bad


def _all_entries(part: SplitToIndex, *, values: bool = False) -> Iterator[Entry]:
    """The records of a split, one by one. Raises UnreadableError."""
    exact = _ExactReader(part, values=values)
    with map_file(part.file.data_path) as data:
        for chunk in _chunks(data, part.file, part.split):
            yield from exact.entries(chunk, _BEGINNING, Cursor(len(chunk)))


def _indexed(part: SplitToIndex, extra: frozenset[str]) -> Iterator[pa.RecordBatch]:
    """All rows of a split. Raises UnreadableError."""
    exact = _ExactReader(part, values=bool(extra))

    def by_reference(chunk: Chunk, first: Cursor, last: Cursor) -> Iterator[pa.RecordBatch]:
        return index_rows(exact.read(chunk, first, last), part, extra)

    scanner = scanner_of(part, extra)
    by_loop = BlockLoop(scanner, part, extra, by_reference) if scanner is not None else None
    with map_file(part.file.data_path) as data:
        for chunk in _chunks(data, part.file, part.split):
            if by_loop is None:
                yield from by_reference(chunk, _BEGINNING, Cursor(len(chunk)))
            else:
                yield from by_loop.index(chunk)


def _chunks(data: mmap, file: DumpFile, split: Split) -> Iterator[Chunk]:
    """Unpacked blocks in chunks of about CHUNK_BYTES. Raises UnreadableError after the blocks before it."""
    header = file.shape.header
    chunk: Chunk = []
    size = 0
    try:
        for block in blocks(data, header.sync, split.start, split.end):
            chunk.append((block, unpack(data, block, header.codec)))
            size += len(chunk[-1][1])
            if size >= CHUNK_BYTES:
                yield chunk
                chunk, size = [], 0
    except UnreadableError:
        if chunk:
            yield chunk
        raise
    if chunk:
        yield chunk


class _ExactReader:
    """Reads the records of a split's chunks one by one."""

    def __init__(self, part: SplitToIndex, *, values: bool) -> None:
        self._part = part
        self._reader = AvroReader(part.file, part.notes, values=values)
        self._datums = self._reader.records()
        self._ordinal = 0

    def read(self, chunk: Chunk, first: Cursor, last: Cursor) -> Iterator[Entry]:
        """The records between two places of a chunk, as far as they are asked for. Raises UnreadableError."""
        return asked_for(self.entries(chunk, first, last), self._part)

    def entries(self, chunk: Chunk, first: Cursor, last: Cursor) -> Iterator[Entry]:
        """All records between two places of a chunk. Raises UnreadableError."""
        for number, (block, unpacked) in enumerate(chunk[first.block : last.block + 1], first.block):
            start = first if number == first.block else Cursor(number)
            stop = last.done if number == last.block else None
            if stop == 0:
                return
            base = block.position - self._part.split.start << BLOCK_SHIFT
            for datum in read_block(self._datums, unpacked, block, start, stop):
                try:
                    record = self._reader(datum, self._ordinal)
                except UnreadableError as error:
                    raise bad_block(block.position, f"in this block: {error}", error.hint) from error
                self._ordinal += 1
                yield base | start.at + datum.position, datum.record_bytes, record


def read_block(
    reader: RecordReader, unpacked: bytes, block: Block, start: Cursor = _BEGINNING, stop: int | None = None
) -> Iterator[Datum]:
    """The datums of a block from ``start`` on, until ``stop`` of its records are read.

    With None, all records that the block says it holds: they have to take all of its bytes. Raises
    UnreadableError.
    """
    end = start.at
    try:
        count = (block.count if stop is None else stop) - start.done
        for datum in islice(reader.read(unpacked[start.at :]), count):
            end = start.at + datum.position + datum.record_bytes
            yield datum
    except DAMAGE as error:
        why = str(error).partition(" from <")[0]  # without the address of a buffer in memory
        reason = f"a record in this block, {end:,} bytes into it, does not fit the schema ({why})"
        raise bad_block(block.position, reason) from error
    if stop is None and end != len(unpacked):
        reason = f"{len(unpacked) - end:,} bytes are left over after this block's {block.count:,} records"
        raise bad_block(block.position, reason)
