"""Windows of a file: some MB of whole lines, in a buffer with PADDING_BYTES behind them for loops to read."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from io import FileIO
from typing import NamedTuple

import numpy as np

from kcompact.dumps.records.record import LARGEST_RECORD_BYTES

WINDOW_BYTES = 4 << 20
PADDING_BYTES = 32  # zeros behind the last byte, as loops load that many bytes at once
_NEWLINE = b"\n"


class LongLineError(ValueError):
    """A line longer than LARGEST_RECORD_BYTES starts at ``position`` of a file."""

    def __init__(self, position: int) -> None:
        super().__init__(position)
        self.position = position


class ByteRange(NamedTuple):
    """A range of a file that starts and ends at the start of a line."""

    path: str
    start: int
    end: int


Cutting = Callable[[bytearray, int, int, bool], tuple[bytearray, int]]
"""A function that makes lines of records that are no lines: see ``lines_of_values_loop``.

Its arguments are a buffer, how much of it is filled, the file position of its first byte, and whether no more
bytes follow. It returns another buffer of the same length, and where the last line in it ends.
"""


class FileStretch(NamedTuple):
    """The bytes [first, last) of a window come from one range."""

    range_number: int
    base: int  # what to add to a place in the window for a position in the file
    first: int
    last: int


@dataclass
class Window:
    """Whole lines: the bytes before ``end``, which follows a newline. ``stretches`` cover them in order.

    ``data`` are the file's bytes. ``lines`` are the same bytes, or the lines that a Cutting has made of them.
    A reader may set ``next_start`` to the start of a record that does not end in this window: the next window
    then begins with it. ``is_last``: no more bytes of the (last) range follow.
    """

    buffer: bytearray
    end: int
    stretches: tuple[FileStretch, ...]
    is_last: bool = True
    next_start: int | None = None
    cut_buffer: bytearray | None = None

    def __post_init__(self) -> None:
        self.data = np.frombuffer(self.buffer, np.uint8)
        self.lines = self.data if self.cut_buffer is None else np.frombuffer(self.cut_buffer, np.uint8)


def windows_of(ranges: Sequence[ByteRange], cutting: Cutting | None = None) -> Iterator[Window]:
    """Windows of the lines of one range, or one window of several; a last line without a newline gets one.

    With a ``cutting`` there is one range. Raises EOFError where a file is shorter than its range, and
    LongLineError.
    """
    if len(ranges) == 1:
        yield from _windows_of_range(ranges[0], cutting or _as_it_is)
        return
    wanted_bytes = sum(end - start + 1 for _, start, end in ranges) + PADDING_BYTES
    window = _window_of_all(ranges, bytearray(wanted_bytes))
    if window.end:
        yield window


def _window_of_all(ranges: Sequence[ByteRange], buffer: bytearray) -> Window:
    stretches, filled = [], 0
    for number, byte_range in enumerate(ranges):
        first = filled
        with _opened(byte_range) as source:
            filled = _with_newline(buffer, _filled(buffer, filled, source, byte_range.end))
        if filled > first:
            stretches.append(FileStretch(number, byte_range.start - first, first, filled))
    return Window(buffer, filled, tuple(stretches))


def _as_it_is(buffer: bytearray, filled: int, base: int, is_last: bool) -> tuple[bytearray, int]:
    """The Cutting of records that are lines already."""
    del base, is_last
    return buffer, buffer.rfind(_NEWLINE, 0, filled) + 1


def _windows_of_range(byte_range: ByteRange, cutting: Cutting) -> Iterator[Window]:
    buffer = bytearray(min(WINDOW_BYTES, byte_range.end - byte_range.start + 1) + PADDING_BYTES)
    filled = 0
    with _opened(byte_range) as source:
        while source.tell() < byte_range.end:
            filled = _filled(buffer, filled, source, byte_range.end)
            base = source.tell() - filled
            is_last = source.tell() == byte_range.end
            if is_last:
                filled = _with_newline(buffer, filled)
            lines, end = cutting(buffer, filled, base, is_last)
            used = 0
            if end:
                window = Window(buffer, end, (FileStretch(0, base, 0, end),), is_last, cut_buffer=lines)
                yield window
                used = end if window.next_start is None else window.next_start
            if not used:
                buffer = _twice_as_long(buffer, base)
            buffer[: filled - used] = buffer[used:filled]  # the unused bytes move to the start
            filled -= used


def _with_newline(buffer: bytearray, filled: int) -> int:
    if filled and buffer[filled - 1] != _NEWLINE[0]:
        buffer[filled : filled + 1] = _NEWLINE
        filled += 1
    buffer[filled : filled + PADDING_BYTES] = bytes(PADDING_BYTES)
    return filled


def _twice_as_long(buffer: bytearray, position: int) -> bytearray:
    """A longer buffer, for the line at ``position`` of its file that does not fit. Raises LongLineError."""
    longest = LARGEST_RECORD_BYTES + 1 + PADDING_BYTES
    if len(buffer) >= longest:
        raise LongLineError(position)
    longer = bytearray(min(2 * len(buffer), longest))
    longer[: len(buffer)] = buffer
    return longer


def _opened(byte_range: ByteRange) -> FileIO:
    """The opened file of a range, at the start of the range."""
    source = FileIO(byte_range.path)
    source.seek(byte_range.start)
    return source


def _filled(buffer: bytearray, filled: int, source: FileIO, end: int) -> int:
    """Fill the buffer up to the end of the range, with room left for a newline and the padding.

    Returns how much is filled. Raises EOFError.
    """
    stop = filled + min(len(buffer) - PADDING_BYTES - 1 - filled, end - source.tell())
    while filled < stop:
        count = source.readinto(memoryview(buffer)[filled:stop])
        if not count:
            raise EOFError(source.tell())
        filled += count
    return filled
