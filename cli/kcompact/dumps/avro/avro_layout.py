"""Avro object containers: blocks are read by themselves, survivors are copied as the bytes they are.

A record's position is where its block starts in the split, times 2**32, plus where it starts in the unpacked
block; ``record_bytes`` are its bytes there.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from mmap import mmap
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa

from kcompact.dumps.avro import avro_copy
from kcompact.dumps.avro.avro_bounds import AvroBounds
from kcompact.dumps.avro.avro_container import (
    CUT_HINT,
    BadBlock,
    Block,
    Chunk,
    Header,
    blocks,
    cut_at_blocks,
    map_file,
    read_header,
    unpack,
)
from kcompact.dumps.avro.avro_dialect import avro_dialect, columns_of
from kcompact.dumps.avro.avro_reader import AvroReader
from kcompact.dumps.avro.avro_records import DAMAGE, Datum, RecordReader
from kcompact.dumps.avro.avro_schema import wire_schema
from kcompact.dumps.detect.event_proposals import check_events, parsed_values
from kcompact.dumps.dialects.columns import AVRO, value_place
from kcompact.dumps.dialects.dialect import Dialect
from kcompact.dumps.loops.avro.block_loop import BlockLoop, Cursor
from kcompact.dumps.loops.readiness import scanner_of
from kcompact.dumps.options import ReadOptions
from kcompact.dumps.records.framed import UnreadableError
from kcompact.dumps.records.indexing import Found, index_rows
from kcompact.dumps.records.layout import DumpFile, Layout, Reject, Split, SplitNotes
from kcompact.dumps.records.record import Record
from kcompact.dumps.records.structured import as_json
from kcompact.errors import InputError

BLOCK_SHIFT = 32
CHUNK_BYTES = 8 << 20  # unpacked, in memory at a time
_SAMPLED = 20  # values, for what they are


@dataclass(frozen=True)
class AvroShape:
    """The shape of an Avro file. ``target``: the output's header, if another file's."""

    header: Header
    target: Header | None = None


def recognise_avro(path: str, data_path: str, options: ReadOptions) -> tuple[AvroShape, Dialect]:
    """Shape and dialect of a file with Avro's magic; messages name it ``path``. Raises InputError."""
    header = read_header(path, data_path)
    try:
        wire = wire_schema(header.schema)
        AvroBounds(wire)
    except ValueError as error:
        raise InputError(f"{path}: the schema in the header is {error}", hint=CUT_HINT) from error
    columns = columns_of(path, wire)
    place = value_place(columns, options)
    notes = check_events(path, replace(AVRO["avro"], value=place), _sample(data_path, header, place), options)
    dialect = avro_dialect(columns, header.schema, wire, options)
    return AvroShape(header), replace(dialect, notes=dialect.notes + notes)


def _sample(data_path: str, header: Header, place: str) -> list[Any]:
    """The first values that are JSON or can be told as JSON, parsed."""
    path = tuple(place.split(".")) if place else ()
    try:
        text = wire_schema(header.schema, text=True)
        reader = RecordReader(text, frozenset((path,)))
        with map_file(data_path) as data:
            block = next(blocks(data, header.sync, len(header.raw), len(data)))
            datums = islice(reader.read(unpack(data, block, header.codec)), min(block.count, _SAMPLED))
            values = [datum.at(path) for datum in datums]
    except (StopIteration, BadBlock, *DAMAGE):
        return []  # told when it is read as a whole
    return parsed_values(value if isinstance(value, bytes) else as_json(value) for value in values)


class Avro(Layout):
    """The layout of Avro object containers."""

    def plan(self, file: DumpFile, split_bytes: int) -> list[tuple[int, int]]:
        """Cut behind sync markers. Without offsets, records are numbered through the file: one split."""
        with Path(file.data_path).open("rb") as source:
            return self.cut(file, source, split_bytes)

    def cut(self, file: DumpFile, source: BinaryIO, split_bytes: int) -> list[tuple[int, int]]:
        """Likewise: sync markers are looked for where cuts are wanted."""
        whole = file.dialect.in_order
        return cut_at_blocks(
            source, file.shape.header, file.data_bytes, file.data_bytes if whole else split_bytes
        )

    def index(
        self, file: DumpFile, split: Split, extra: frozenset[str], notes: SplitNotes
    ) -> Iterator[pa.RecordBatch]:
        """Rows of ``index_schema(extra)``; stops at the first block that cannot be read."""
        try:
            yield from _indexed(file, split, extra, notes)
        except BadBlock as bad:
            notes.rejects.append(Reject(split.split_id, bad.position, bad.reason, bad.hint))

    def records(self, file: DumpFile, split: Split) -> Iterator[Found]:
        """Every record, decoded in full. Raises InputError."""
        try:
            yield from _found(file, split, SplitNotes(), values=True)
        except BadBlock as bad:
            raise _input_error(file, bad) from bad

    def decode(
        self, file: DumpFile, split: Split, positions: np.ndarray, record_bytes: np.ndarray
    ) -> Iterator[Record]:
        """The records at the given positions, in that order. Of a dump without offsets, see ``records``."""
        reader = AvroReader(file, SplitNotes(), values=True)
        datums = reader.records()
        with map_file(file.data_path) as data:
            unpacked = avro_copy.Unpacked(data, file.shape.header)
            pairs = zip(positions.tolist(), record_bytes.tolist(), strict=True)
            for ordinal, (position, length) in enumerate(pairs):
                block, at = unpacked.at(split.start + (position >> BLOCK_SHIFT)), position & 0xFFFFFFFF
                yield reader(next(datums.read(block[at : at + length])), ordinal)

    def begin(self, file: DumpFile) -> bytes:
        """The input's header: its schema, codec, metadata and sync marker."""
        return bytes(file.shape.header.raw)

    def copy(
        self,
        file: DumpFile,
        split: Split,
        positions: np.ndarray,
        record_bytes: np.ndarray,
        out: BinaryIO,
    ) -> int:
        """One block for every input block that has survivors, their bytes as they are."""
        with map_file(file.data_path) as data:
            try:
                source = avro_copy.Source(data, file.shape.header, file.shape.target or file.shape.header)
                chosen = avro_copy.Chosen(split.start, positions, record_bytes)
                return avro_copy.copy_records(source, chosen, out)
            except BadBlock as bad:
                raise _input_error(file, bad) from bad


def _indexed(
    file: DumpFile, split: Split, extra: frozenset[str], notes: SplitNotes
) -> Iterator[pa.RecordBatch]:
    """All rows of a split: by a compiled loop where that pays and is possible. Raises BadBlock."""
    exact = _ExactReader(file, split, notes, values=bool(extra))

    def by_reference(chunk: Chunk, first: Cursor, last: Cursor) -> Iterator[pa.RecordBatch]:
        return index_rows(exact.read(chunk, first, last), split.split_id, extra, notes)

    scanner = scanner_of(file, extra, notes)
    by_loop = BlockLoop(scanner, file, split, extra, notes, by_reference) if scanner is not None else None
    with map_file(file.data_path) as data:
        for chunk in _chunks(data, file, split):
            if by_loop is None:
                yield from by_reference(chunk, Cursor(0), Cursor(len(chunk.blocks)))
            else:
                yield from by_loop.index(chunk)


def _found(file: DumpFile, split: Split, notes: SplitNotes, *, values: bool) -> Iterator[Found]:
    """All records of a split. Raises BadBlock."""
    exact = _ExactReader(file, split, notes, values=values)
    with map_file(file.data_path) as data:
        for chunk in _chunks(data, file, split):
            yield from exact.read(chunk, Cursor(0), Cursor(len(chunk.blocks)))


def _chunks(data: mmap, file: DumpFile, split: Split) -> Iterator[Chunk]:
    """Unpacked blocks, some CHUNK_BYTES together. Raises BadBlock, after what stands before the bad block."""
    header = file.shape.header
    found: list[Block] = []
    unpacked: list[bytes] = []
    size = 0
    try:
        for block in blocks(data, header.sync, split.start, split.end):
            records = unpack(data, block, header.codec)
            found.append(block)
            unpacked.append(records)
            size += len(records)
            if size >= CHUNK_BYTES:
                yield Chunk(found, unpacked)
                found, unpacked, size = [], [], 0
    except BadBlock:
        if found:
            yield Chunk(found, unpacked)
        raise
    if found:
        yield Chunk(found, unpacked)


class _ExactReader:
    """Reads the records of a split's chunks one by one."""

    def __init__(self, file: DumpFile, split: Split, notes: SplitNotes, *, values: bool) -> None:
        self._file, self._split, self._notes = file, split, notes
        self._reader = AvroReader(file, notes, values=values)
        self._datums = self._reader.records()
        self._ordinal = 0

    def read(self, chunk: Chunk, first: Cursor, last: Cursor) -> Iterator[Found]:
        """The records of a chunk between two places. Raises BadBlock."""
        for number in range(first.block, min(last.block + 1, len(chunk.blocks))):
            block, unpacked = chunk.blocks[number], chunk.unpacked[number]
            start = first if number == first.block else Cursor(number)
            stop = last.done if number == last.block else None
            if stop == 0:
                return
            base = block.position - self._split.start << BLOCK_SHIFT
            for datum in _read_block(self._datums, unpacked, block, start, stop):
                record = self._record(block, datum)
                if self._file.wants(record.topic, record.partition):
                    yield base | start.at + datum.position, datum.record_bytes, record
                else:
                    self._notes.left_out.add((record.topic, record.partition))

    def _record(self, block: Block, datum: Datum) -> Record:
        try:
            record = self._reader(datum, self._ordinal)
        except UnreadableError as error:
            raise BadBlock(block.position, f"in this block: {error}", error.hint) from error
        self._ordinal += 1
        return record


def _read_block(
    reader: RecordReader, unpacked: bytes, block: Block, start: Cursor, stop: int | None
) -> Iterator[Datum]:
    """The datums of a block from ``start`` on, until ``stop`` of the block are read. Raises BadBlock.

    None: as many as it says it holds, which must be all of its bytes.
    """
    end = start.at
    try:
        wanted = (block.count if stop is None else stop) - start.done
        for datum in islice(reader.read(unpacked[start.at :]), wanted):
            end = start.at + datum.position + datum.record_bytes
            yield datum
    except DAMAGE as error:
        why = str(error).partition(" from <")[0]  # without the address of a buffer in memory
        reason = f"a record in this block, {end:,} bytes into it, does not fit the schema ({why})"
        raise BadBlock(block.position, reason, CUT_HINT) from error
    if stop is None and end != len(unpacked):
        reason = f"{len(unpacked) - end:,} bytes are left over behind this block's {block.count:,} records"
        raise BadBlock(block.position, reason, CUT_HINT)


def _input_error(file: DumpFile, bad: BadBlock) -> InputError:
    return InputError(f"{file.path}: byte {bad.position}: {bad.reason}", hint=bad.hint)
