"""Lines of a byte range of a file, cuts at line ends that take few reads, and layouts that are cut so."""

from collections.abc import Iterator, Sequence
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa

from kcompact.dumps.loops.line_loop import index_lines
from kcompact.dumps.records.framed import TOO_LARGE, TOO_LARGE_HINT, Frame, FramedLayout
from kcompact.dumps.records.layout import DumpFile, SplitToIndex
from kcompact.dumps.records.record import LARGEST_RECORD_BYTES
from kcompact.errors import UnreadableError

CHUNK_BYTES = 4 << 20
_PROBE_BYTES = 64 << 10


def cut_behind(
    mark: bytes, source: BinaryIO, start: int, end: int, split_bytes: int
) -> list[tuple[int, int]]:
    """Ranges of about ``split_bytes`` of an open file, each starting behind a mark such as a line end."""
    cuts = [start]
    while end - cuts[-1] > split_bytes:
        cut = behind_next(mark, source, cuts[-1] + split_bytes - 1, end)
        if cut is None or cut >= end:
            break
        cuts.append(cut)
    return ranges_between(cuts, end)


def ranges_between(cuts: list[int], end: int) -> list[tuple[int, int]]:
    """The ranges that begin at cuts, the last one up to ``end``; empty ranges are left out."""
    return [(start, stop) for start, stop in pairwise([*cuts, end]) if start < stop]


def behind_next(mark: bytes, source: BinaryIO, position: int, end: int) -> int | None:
    """The end of the next mark from ``position`` on; None if the search comes to ``end``."""
    source.seek(position)
    tail = b""  # the end of what was read: a mark may have begun there
    probe_bytes = _PROBE_BYTES
    while position < end:
        probe = source.read(probe_bytes)
        if not probe:
            break
        index = (tail + probe).find(mark)
        if index >= 0:
            return position - len(tail) + index + len(mark)
        position += len(probe)
        tail = (tail + probe)[len(tail) + len(probe) - len(mark) + 1 :]
        probe_bytes = min(2 * probe_bytes, CHUNK_BYTES)
    return None


def lines_of(path: str, start: int, end: int) -> Iterator[Frame]:
    """The lines of a range, including blank ones, each with its line end; the last one may have none.

    Raises UnreadableError for a line of more than LARGEST_RECORD_BYTES, EOFError where the file is shorter.
    """
    with Path(path).open("rb") as source:
        source.seek(start)
        position, read_to = start, start
        pieces: list[bytes] = []  # a line that has not ended yet
        while read_to < end:
            chunk = source.read(min(CHUNK_BYTES, end - read_to))
            if not chunk:
                raise EOFError(path)
            read_to += len(chunk)
            first, *lines = chunk.split(b"\n")
            pieces.append(first)
            if lines:
                for line in (b"".join(pieces), *lines[:-1]):
                    yield Frame(position, line + b"\n")
                    position += len(line) + 1
                pieces = [lines[-1]]
            elif read_to - position > LARGEST_RECORD_BYTES:
                raise UnreadableError(TOO_LARGE, TOO_LARGE_HINT, position=position)
        last_line = b"".join(pieces)
        if last_line:
            yield Frame(position, last_line)


def without_line_end(line: bytes) -> bytes:
    """A line without its LF or CR LF, or without a CR alone at the end of a file."""
    return line.removesuffix(b"\n").removesuffix(b"\r")


def newline_of(head: bytes) -> bytes:
    """The line end of the first line: LF or CR LF."""
    line_end = head.find(b"\n")
    is_cr = head.endswith(b"\r", 0, len(head) if line_end < 0 else line_end)
    return b"\r\n" if is_cr else b"\n"


class LineLayout(FramedLayout):
    """A layout of records that are one line, or several."""

    def plan(self, file: DumpFile, split_bytes: int) -> list[tuple[int, int]]:
        """Cut after line ends."""
        if file.data_bytes - file.shape.start <= split_bytes:
            return _after_lines(file, BytesIO(), split_bytes)  # not opened: there may be ten thousand
        with Path(file.data_path).open("rb") as source:
            return _after_lines(file, source, split_bytes)

    def cut(self, file: DumpFile, source: BinaryIO, split_bytes: int) -> list[tuple[int, int]] | None:
        """As ``plan``, for an open file: it is only read where cuts are wanted."""
        return _after_lines(file, source, split_bytes)

    def index(self, part: SplitToIndex, extra: frozenset[str]) -> Iterator[pa.RecordBatch]:
        """Index rows, by a compiled loop if the dump is large and a loop can read its dialect."""
        yield from self.index_together([part], extra)

    def index_together(
        self, parts: Sequence[SplitToIndex], extra: frozenset[str]
    ) -> Iterator[pa.RecordBatch]:
        """As ``index``, with the lines of several files in one window."""
        return index_lines(parts, extra, self.index_ranges)

    def content(self, data: bytes) -> bytes:
        """The record without its last line end."""
        return without_line_end(data)


def _after_lines(file: DumpFile, source: BinaryIO, split_bytes: int) -> list[tuple[int, int]]:
    if not file.shape.splittable:
        return [(file.shape.start, file.data_bytes)]
    return cut_behind(b"\n", source, file.shape.start, file.data_bytes, split_bytes)
