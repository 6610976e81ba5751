"""Lines of a file by byte range, found without reading what is between; and layouts that are cut at lines."""

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
    """Ranges of about ``split_bytes`` of an open file that start after a mark, such as a line end."""
    cuts = [start]
    while end - cuts[-1] > split_bytes:
        cut = behind_next(mark, source, cuts[-1] + split_bytes - 1, end)
        if cut is None or cut >= end:
            break
        cuts.append(cut)
    return ranges_between(cuts, end)


def ranges_between(cuts: list[int], end: int) -> list[tuple[int, int]]:
    """The ranges that cuts begin, the last of which ends at ``end``; none that is empty."""
    return [(start, stop) for start, stop in pairwise([*cuts, end]) if start < stop]


def behind_next(mark: bytes, source: BinaryIO, position: int, end: int) -> int | None:
    """Where the next mark from ``position`` on ends; None if none begins before ``end``."""
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
    """The lines of a range, blank ones included, each with its line end; the last may have none.

    Raises UnreadableError for one that goes on for more than LARGEST_RECORD_BYTES.
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
    """A line without its LF or CR LF; a CR at the end of a file is one, too."""
    return line.removesuffix(b"\n").removesuffix(b"\r")


def newline_of(head: bytes) -> bytes:
    """How the first line ends."""
    line_end = head.find(b"\n")
    is_cr = head.endswith(b"\r", 0, len(head) if line_end < 0 else line_end)
    return b"\r\n" if is_cr else b"\n"


class LineLayout(FramedLayout):
    """A record is a line, or several."""

    def plan(self, file: DumpFile, split_bytes: int) -> list[tuple[int, int]]:
        """Cut after line ends."""
        if file.data_bytes - file.shape.start <= split_bytes:
            return _after_lines(file, BytesIO(), split_bytes)  # not to be cut: there may be ten thousand
        with Path(file.data_path).open("rb") as source:
            return _after_lines(file, source, split_bytes)

    def cut(self, file: DumpFile, source: BinaryIO, split_bytes: int) -> list[tuple[int, int]] | None:
        """Likewise: line ends are looked for where cuts are wanted."""
        return _after_lines(file, source, split_bytes)

    def index(self, part: SplitToIndex, extra: frozenset[str]) -> Iterator[pa.RecordBatch]:
        """By a compiled loop where the dump is large and its dialect allows it."""
        yield from self.index_together([part], extra)

    def index_together(
        self, parts: Sequence[SplitToIndex], extra: frozenset[str]
    ) -> Iterator[pa.RecordBatch]:
        """Likewise, across the ends of files."""
        return index_lines(parts, extra, self.index_ranges)

    def content(self, data: bytes) -> bytes:
        """The record without its last line end."""
        return without_line_end(data)


def _after_lines(file: DumpFile, source: BinaryIO, split_bytes: int) -> list[tuple[int, int]]:
    if not file.shape.splittable:
        return [(file.shape.start, file.data_bytes)]
    return cut_behind(b"\n", source, file.shape.start, file.data_bytes, split_bytes)
