"""Layouts whose records are byte ranges that can be read one by one: all JSON, CSV and text."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
import pyarrow as pa

from kcompact.dumps.files.copying import copy_ranges, read_ranges
from kcompact.dumps.records.indexing import Found, index_rows
from kcompact.dumps.records.joined_tombstones import joined_tombstones
from kcompact.dumps.records.layout import DumpFile, Layout, Reject, Split, SplitNotes
from kcompact.dumps.records.record import LARGEST_RECORD_BYTES, Record
from kcompact.errors import InputError


class Frame(NamedTuple):
    """One record as it lies in the file; ``data`` are all of its bytes, a line end included."""

    position: int
    data: bytes

    @property
    def record_bytes(self) -> int:
        """How many bytes of the file belong to the record."""
        return len(self.data)


TOO_LARGE = (
    f"no end of the record within {LARGEST_RECORD_BYTES:,} bytes, the most that Kafka's own sizes can say"
)
NOT_A_RECORD_HINT = (
    "export the dump again, with nothing but records in it; mended by hand, a record may be lost"
)
CUT_HINT = "export the dump again: what an interrupted export did not write is lost, deletes among it"
TOO_LARGE_HINT = (
    "is a line end missing? No broker holds such a record; leave it out, or export the dump again"
)


class UnreadableError(ValueError):
    """A record that cannot be read; becomes a Reject."""

    def __init__(self, reason: str, hint: str | None = None, *, position: int | None = None) -> None:
        super().__init__(reason)
        self.hint = hint
        self.position = position  # in the file; None: the record's own


@dataclass(frozen=True)
class TextShape:
    """The shape that all layouts here share: the first ``start`` bytes (BOM, header line) are no record."""

    start: int = 0
    begin: bytes = b""
    between: bytes = b""
    end: bytes = b""
    newline: bytes = b"\n"
    splittable: bool = True


def count_noise(notes: SplitNotes, lines: int) -> None:
    """Count lines in which a tool talks about itself."""
    if lines:
        notes.counts["skipped_noise_lines"] = notes.counts.get("skipped_noise_lines", 0) + lines


ReadRecord = Callable[[bytes, int], Record]
"""A record's content and its number in the split to a Record. Raises UnreadableError."""


class FramedLayout(Layout):
    """A Layout, but for how records are found (``plan``, ``frames``) and what they say (``reader``)."""

    def plan(self, file: DumpFile, split_bytes: int) -> list[tuple[int, int]]:
        """Byte ranges that start and end at a record."""
        raise NotImplementedError

    def frames(self, file: DumpFile, start: int, end: int, notes: SplitNotes) -> Iterator[Frame]:
        """The records of a byte range. Raises UnreadableError where the range does not fall into records."""
        raise NotImplementedError

    def content(self, data: bytes) -> bytes:
        """The part of a record's bytes that a reader is given: without a line end, where there may be one."""
        return data

    def reader(self, file: DumpFile, notes: SplitNotes, *, values: bool) -> ReadRecord:
        """How to read a record's content; without ``values``, a value may come out as any bytes or None."""
        raise NotImplementedError

    def placed(self, file: DumpFile, position: int, record: Record) -> Record:
        """The record, with what the place in the file tells of it."""
        del file, position
        return record

    def index(
        self, file: DumpFile, split: Split, extra: frozenset[str], notes: SplitNotes
    ) -> Iterator[pa.RecordBatch]:
        """Rows of ``index_schema(extra)``; stops at the first record that cannot be read."""
        found = self._found(file, split, notes, values=bool(extra))
        yield from index_rows(_until_reject(found, split, notes), split.split_id, extra, notes)

    def records(self, file: DumpFile, split: Split) -> Iterator[Found]:
        """Every record, decoded in full. Raises InputError."""
        try:
            yield from self._found(file, split, SplitNotes(), values=True)
        except _At as at:
            raise _input_error(file, at.position, at.cause) from at.cause

    def _found(self, file: DumpFile, split: Split, notes: SplitNotes, *, values: bool) -> Iterator[Found]:
        found = self._one_by_one(file, split, notes, values=values)
        return joined_tombstones(found, notes) if file.dialect.cdc and file.dialect.key_fields else found

    def _one_by_one(
        self, file: DumpFile, split: Split, notes: SplitNotes, *, values: bool
    ) -> Iterator[Found]:
        read = self.reader(file, notes, values=values)
        position = split.start
        try:
            for ordinal, frame in enumerate(self.frames(file, split.start, split.end, notes)):
                position = frame.position
                _refuse_too_large(frame)
                record = self.placed(file, position, read(self.content(frame.data), ordinal))
                if file.wants(record.topic, record.partition):
                    yield frame.position, frame.record_bytes, record
                else:
                    notes.left_out.add((record.topic, record.partition))
        except UnreadableError as unreadable:
            where = position if unreadable.position is None else unreadable.position
            raise _At(where, unreadable) from unreadable

    def decode(
        self, file: DumpFile, split: Split, positions: np.ndarray, record_bytes: np.ndarray
    ) -> Iterator[Record]:
        """The records at the given positions; all are read where one tells something of another."""
        if file.dialect.in_order:
            wanted = set(positions.tolist())
            found = self.records(file, split)
            by_position = {position: record for position, _, record in found if position in wanted}
            yield from (by_position[position] for position in positions.tolist())
            return
        read = self.reader(file, SplitNotes(), values=True)
        for ordinal, data in enumerate(read_ranges(file.data_path, positions, record_bytes)):
            try:
                record = read(self.content(bytes(data)), ordinal)
            except UnreadableError as error:  # in what the index did not look at
                raise _input_error(file, int(positions[ordinal]), error) from error
            yield self.placed(file, int(positions[ordinal]), record)

    def begin(self, file: DumpFile) -> bytes:
        """BOM, header line, opening bracket."""
        return bytes(file.shape.begin)

    def between(self, file: DumpFile) -> bytes:
        """The bytes between two records."""
        return bytes(file.shape.between)

    def end(self, file: DumpFile) -> bytes:
        """Closing bracket."""
        return bytes(file.shape.end)

    def copy(
        self,
        file: DumpFile,
        split: Split,
        positions: np.ndarray,
        record_bytes: np.ndarray,
        out: BinaryIO,
    ) -> int:
        """Copy the original bytes; a last line without a line end is given one."""
        del split
        if file.shape.between:
            return copy_separated(file, positions, record_bytes, out)
        unfinished = np.flatnonzero(positions + record_bytes == file.data_bytes)
        cut = int(unfinished[0]) + 1 if len(unfinished) else len(positions)
        written = copy_ranges(file.data_path, positions[:cut], record_bytes[:cut], out)
        if len(unfinished) and not _ends_line(file):
            written += out.write(file.shape.newline)
        return written + copy_ranges(file.data_path, positions[cut:], record_bytes[cut:], out)


def copy_separated(file: DumpFile, positions: np.ndarray, record_bytes: np.ndarray, out: BinaryIO) -> int:
    """Copy records with the file's separator between them; return the bytes written."""
    written, separator = 0, b""
    for record in read_ranges(file.data_path, positions, record_bytes):
        written += out.write(separator) + out.write(record)
        separator = file.shape.between
    return written


def _input_error(file: DumpFile, position: int, cause: UnreadableError) -> InputError:
    return InputError(f"{file.path}: byte {position}: {cause}", hint=cause.hint)


def _refuse_too_large(frame: Frame) -> None:
    if frame.record_bytes > LARGEST_RECORD_BYTES:
        raise UnreadableError(TOO_LARGE, TOO_LARGE_HINT)


class _At(Exception):  # noqa: N818  never leaves this module
    """Where an UnreadableError was met."""

    def __init__(self, position: int, cause: UnreadableError) -> None:
        super().__init__(position)
        self.position = position
        self.cause = cause


def _until_reject(found: Iterator[Found], split: Split, notes: SplitNotes) -> Iterator[Found]:
    try:
        yield from found
    except _At as at:
        notes.rejects.append(Reject(split.split_id, at.position, str(at.cause), at.cause.hint))


def _ends_line(file: DumpFile) -> bool:
    with Path(file.data_path).open("rb") as source:
        source.seek(file.data_bytes - 1)
        return source.read(1) == b"\n"
