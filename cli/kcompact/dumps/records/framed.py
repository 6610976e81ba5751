"""Layouts whose records are byte ranges that can be read one by one: all JSON, CSV and text."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import BinaryIO, ClassVar, Final, NamedTuple

import numpy as np
import pyarrow as pa

from kcompact.dumps.files.copying import copy_ranges, read_ranges
from kcompact.dumps.records.indexing import Entry, index_rows
from kcompact.dumps.records.layout import Chosen, DumpFile, SplitNotes, SplitToIndex
from kcompact.dumps.records.layout_interface import Layout, asked_for, until_reject
from kcompact.dumps.records.record import LARGEST_RECORD_BYTES, Record
from kcompact.dumps.records.value_keys import ValueKeys
from kcompact.errors import InputError, UnreadableError

_CHUNK_BYTES = 16 << 20  # read at once to count lines


class Frame(NamedTuple):
    """One record as the file has it. ``data`` holds all of its bytes, including the line end."""

    position: int
    data: bytes

    @property
    def record_bytes(self) -> int:
        """How many bytes of the file belong to the record."""
        return len(self.data)


TOO_LARGE = (
    f"no end of the record within {LARGEST_RECORD_BYTES:,} bytes, the most that Kafka's own sizes can say"
)
NOISE_LINES: Final = "skipped_noise_lines"  # lines in which a tool talks about itself: a count of SplitNotes
NOT_A_RECORD_HINT = (
    "export the dump again as JSON (kcat -J), with nothing but records in it; mended by hand, a record may be"
    " lost"
)
_MARK_HINT = (
    r"were files joined that begin with one? Take the marks away: sed 's/^\xEF\xBB\xBF//' FILE > NEW (of"
    " UTF-16, after iconv -f UTF-16 -t UTF-8 FILE > NEW); keys that do begin with one are"
    " to be exported as JSON lines (kcat -J)"
)
MARK_WITHIN = "a byte order mark within the file", _MARK_HINT
CUT_HINT = "export the dump again: what an interrupted export did not write is lost, deletes among it"
TOO_LARGE_HINT = (
    "is a line end missing? No broker holds such a record; leave it out, or export the dump again"
)


@dataclass(frozen=True)
class TextShape:
    """The shape that all framed layouts share. Records begin after ``start`` bytes (BOM, header line).

    ``begin``, ``between`` and ``end`` are the bytes around records in an output file (``Layout.around``).
    """

    start: int = 0
    begin: bytes = b""
    between: bytes = b""
    end: bytes = b""
    newline: bytes = b"\n"
    splittable: bool = True


Reader = Callable[[bytes, int], Record]
"""A function from a record's content and its number in the split to the Record. Raises UnreadableError."""


class FramedLayout(Layout):
    """A Layout whose subclasses find records (``frames``, ``plan``) and name a reader of single ones."""

    reader: ClassVar[Callable[..., Reader]]
    """Called with file, notes and ``values``: if False, it only matters whether a value is null."""

    def plan(self, file: DumpFile, split_bytes: int) -> list[tuple[int, int]]:
        """The whole file as one range: by default, records can only be recognised from the first one on."""
        del split_bytes
        return [(file.shape.start, file.data_bytes)]

    def refusal(self, file: DumpFile, bad: UnreadableError) -> InputError:
        """The error that a user sees; it names the line if the whole file is on this machine."""
        if bad.position is None or file.origin is not None:
            return super().refusal(file, bad)
        return InputError(f"{file.path}:{line_number(file.data_path, bad.position)}: {bad}", hint=bad.hint)

    @abstractmethod
    def frames(self, file: DumpFile, start: int, end: int, notes: SplitNotes) -> Iterator[Frame]:
        """The records of a byte range. Raises UnreadableError where its bytes cannot be cut into records."""

    def content(self, data: bytes) -> bytes:
        """The part of a record's bytes that a reader is given; layouts of lines leave out the line end."""
        return data

    def placed(self, file: DumpFile, position: int, record: Record) -> Record:
        """The record, completed by facts that only its position in the file tells."""
        del file, position
        return record

    def read(self, part: SplitToIndex, *, values: bool) -> Iterator[Entry]:
        """The records of the split that are asked for, as ``asked_for`` gives them."""
        return self._read_ranges(part, [part.split.byte_range], values=values)

    def index_ranges(
        self, part: SplitToIndex, ranges: Sequence[tuple[int, int]], extra: frozenset[str]
    ) -> Iterator[pa.RecordBatch]:
        """As ``index``, one record after another, but only of records in the given ranges of the split."""
        records = until_reject(self._read_ranges(part, ranges, values=bool(extra)), part)
        yield from index_rows(records, part, extra)

    def _read_ranges(
        self, part: SplitToIndex, ranges: Sequence[tuple[int, int]], *, values: bool
    ) -> Iterator[Entry]:
        return asked_for(self._framed_records(part, ranges, values=values), part, _span)

    def _framed_records(
        self, part: SplitToIndex, ranges: Sequence[tuple[int, int]], *, values: bool
    ) -> Iterator[Entry]:
        file, split, notes, *_ = part
        read = self._reader(file, notes, values=values)
        position = split.start
        frames = (self.frames(file, start, end, notes) for start, end in ranges)
        try:
            for ordinal, frame in enumerate(chain.from_iterable(frames)):
                position = frame.position
                _refuse_too_large(frame)
                record = read(self.content(frame.data), ordinal)
                yield position, frame.record_bytes, self.placed(file, position, record)
        except UnreadableError as bad:
            bad.position = position if bad.position is None else bad.position
            raise

    def decode_alone(self, chosen: Chosen, notes: SplitNotes) -> Iterator[Record]:
        """The chosen records, each read by itself. Raises UnreadableError, with the position."""
        file, _, positions, record_bytes = chosen
        read = self._reader(file, notes, values=True)
        for ordinal, data in enumerate(read_ranges(file.data_path, positions, record_bytes)):
            position = int(positions[ordinal])
            try:
                record = read(self.content(bytes(data)), ordinal)
            except UnreadableError as bad:
                bad.position = position
                raise
            yield self.placed(file, position, record)

    def _reader(self, file: DumpFile, notes: SplitNotes, *, values: bool) -> Reader:
        """The reader; where the dialect takes keys or deletes from values, it applies ``ValueKeys``, too."""
        read = self.reader(file, notes, values=values or file.dialect.reads_values)
        if not file.dialect.reads_values:
            return read
        keyed = ValueKeys(file, notes).keyed
        return lambda data, ordinal: keyed(read(data, ordinal))

    def around(self, file: DumpFile) -> tuple[bytes, bytes, bytes]:
        """The bytes before, between and after records, from the file's shape."""
        return file.shape.begin, file.shape.between, file.shape.end

    def copy(self, chosen: Chosen, out: BinaryIO) -> int:
        """Write the original bytes of the chosen records; a last line without a line end is given one."""
        file, _, positions, record_bytes = chosen
        if file.shape.between:
            return _copy_separated(chosen, out)
        unfinished = np.flatnonzero(positions + record_bytes == file.data_bytes)
        cut = int(unfinished[0]) + 1 if len(unfinished) else len(positions)
        written = copy_ranges(file.data_path, positions[:cut], record_bytes[:cut], out)
        if len(unfinished) and last_byte(file) != b"\n":
            written += out.write(file.shape.newline)
        return written + copy_ranges(file.data_path, positions[cut:], record_bytes[cut:], out)


def _copy_separated(chosen: Chosen, out: BinaryIO) -> int:
    """Copy records with the file's separator between them; return the bytes written."""
    written, separator = 0, b""
    for record in read_ranges(chosen.file.data_path, chosen.positions, chosen.record_bytes):
        written += out.write(separator) + out.write(record)
        separator = chosen.file.shape.between
    return written


def _refuse_too_large(frame: Frame) -> None:
    if frame.record_bytes > LARGEST_RECORD_BYTES:
        raise UnreadableError(TOO_LARGE, TOO_LARGE_HINT)


def last_byte(file: DumpFile) -> bytes:
    """The last byte of a file that is not empty."""
    with Path(file.data_path).open("rb") as source:
        source.seek(file.data_bytes - 1)
        return source.read(1)


def _span(first: Entry, second: Entry) -> int:
    """The bytes from the begin of one record to the end of the next one, including bytes between them."""
    return second[0] + second[1] - first[0]


def line_number(path: str, position: int) -> int:
    """The line, counted from 1, that the byte at ``position`` is on."""
    lines, remaining = 1, position
    with Path(path).open("rb") as source:
        while remaining > 0:
            chunk = source.read(min(remaining, _CHUNK_BYTES))
            if not chunk:
                break
            lines += chunk.count(b"\n")
            remaining -= len(chunk)
    return lines
