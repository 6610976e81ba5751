"""Some MB of whole lines at once, as numpy sees them."""

import os
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from kcompact.dumps.record import LARGEST_RECORD_BYTES

WINDOW_BYTES = 4 << 20
PAD_BYTES = 1024  # readable bytes before the first and after the last line: gathers may run over
_BLOCK_BYTES = 512 << 10  # scans go block by block, so that what they make stays in the processor's cache
NEWLINE, RETURN, QUOTE, BACKSLASH = b'\n\r"\\'
_FIRST_PRINTABLE = 32
_REPLACEMENT = "\ufffd".encode()


class LongLineError(ValueError):
    """A line longer than LARGEST_RECORD_BYTES starts at ``position`` of a file."""

    def __init__(self, position: int) -> None:
        super().__init__(position)
        self.position = position


class ByteRange(NamedTuple):
    """A range of a file that starts and ends at a line."""

    path: str
    start: int
    end: int


class Stretch(NamedTuple):
    """The lines [first, last) of a window come from one range."""

    range_number: int
    base: int  # position in the file of the window's data[0], were it from there
    first: int
    last: int


@dataclass(frozen=True)
class LineWindow:
    """Whole lines. ``starts`` and ``ends`` are indexes into ``data``; ``ends`` are those of the newlines.

    ``odd`` marks lines with other control characters than a line end. The data are overwritten by the next
    window. ``stretches`` cover all lines, in order.
    """

    data: np.ndarray  # uint8, with PAD_BYTES on either side
    stretches: tuple[Stretch, ...]
    starts: np.ndarray
    ends: np.ndarray
    odd: np.ndarray

    @property
    def first(self) -> int:
        """Index of the first line's first byte."""
        return int(self.starts[0])

    @property
    def last(self) -> int:
        """Index after the last line's newline."""
        return int(self.ends[-1]) + 1

    def stretch_of(self, number: int) -> Stretch:
        """Where a line is from."""
        return self.stretches[bisect_right(self.stretches, number, key=lambda stretch: stretch.first) - 1]

    def position(self, number: int) -> int:
        """Where a line starts in its file."""
        return self.stretch_of(number).base + int(self.starts[number])

    def per_line(self, values: Sequence[int]) -> np.ndarray:
        """A value of each stretch, for each of its lines."""
        return np.repeat(values, [stretch.last - stretch.first for stretch in self.stretches])

    def line(self, number: int) -> bytes:
        """A line without its line end."""
        return self.data[self.starts[number] : self.ends[number]].tobytes().removesuffix(b"\r")

    def gather(self, positions: np.ndarray, width: int) -> np.ndarray:
        """``width`` bytes (a multiple of 8) from each position: uint64 of shape (positions, width / 8)."""
        cells = np.ndarray((len(self.data) - width,), f"V{width}", self.data, strides=(1,))
        return cells[positions].view("<u8").reshape(len(positions), width // 8)

    def words(self, positions: np.ndarray) -> np.ndarray:
        """The 8 bytes from each position as a little-endian number."""
        cells: np.ndarray = np.ndarray((len(self.data) - 8,), "<u8", self.data, strides=(1,))
        return cells[positions]

    def mark_odd(self, words: Iterable[bytes]) -> None:
        """Mark the lines that hold any of the words as odd."""
        text = self.data[self.first : self.last].tobytes()
        escapes = BACKSLASH in text
        for word in words:
            at = text.find(word) if escapes or BACKSLASH not in word else -1
            while at >= 0:
                number = int(np.searchsorted(self.ends, at + self.first))
                self.odd[number] = True
                at = text.find(word, int(self.ends[number]) - self.first)

    def holds(self, byte: int) -> bool:
        """Whether a byte occurs at all: a search that takes a third of the time of a count."""
        memory: bytearray = self.data.base.obj  # type: ignore[union-attr]  # see _room
        return memory.find(byte, self.first, self.last) >= 0

    def count(self, byte: int) -> int:
        """How often a byte occurs."""
        flags = np.empty(_BLOCK_BYTES, bool)
        total = 0
        for start in range(self.first, self.last, _BLOCK_BYTES):
            block = self.data[start : min(start + _BLOCK_BYTES, self.last)]
            np.equal(block, byte, out=flags[: len(block)])
            total += int(np.count_nonzero(flags[: len(block)]))
        return total


def windows_of(ranges: Sequence[ByteRange]) -> Iterator[LineWindow]:
    """The lines of one range, or of several in one window; a last line without a newline is given one.

    Raises EOFError where a file is shorter than its range, LongLineError.
    """
    if len(ranges) == 1:
        yield from _windows_of_one(*ranges[0])
        return
    window = _window_of_all(ranges)
    if window is not None:
        yield window


def _room(size: int) -> np.ndarray:
    """Zeros, as a view of a bytearray."""
    return np.frombuffer(bytearray(size), np.uint8)


def _window_of_all(ranges: Sequence[ByteRange]) -> LineWindow | None:
    """None: there is no line in any of them."""
    data = _room(sum(end - start + 1 for _, start, end in ranges) + 2 * PAD_BYTES)
    filled, begins, bases = PAD_BYTES, [], []
    for path, start, end in ranges:
        begins.append(filled)
        bases.append(start - filled)
        descriptor = os.open(path, os.O_RDONLY)
        try:
            filled, _ = _fill(descriptor, data, filled, start, end)
        finally:
            os.close(descriptor)
        if end > start and data[filled - 1] != NEWLINE:
            data[filled] = NEWLINE
            filled += 1
    window = _cut(data, filled, 0) if filled > PAD_BYTES else None
    if window is None:
        return None
    firsts = np.searchsorted(window.starts, begins).tolist()
    found = enumerate(zip(bases, firsts, [*firsts[1:], len(window.starts)], strict=True))
    return replace(window, stretches=tuple(Stretch(n, *lines) for n, lines in found if lines[1] < lines[2]))


def _windows_of_one(path: str, start: int, end: int) -> Iterator[LineWindow]:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        data = _room(min(WINDOW_BYTES, end - start + 1) + 2 * PAD_BYTES)
        position, filled = start, PAD_BYTES  # of the next byte to read; of the next byte to fill
        while position < end:
            filled, position = _fill(descriptor, data, filled, position, end)
            base = position - filled
            if position == end and data[filled - 1] != NEWLINE:
                data[filled] = NEWLINE
                filled += 1
            window = _cut(data, filled, base)
            if window is None:  # one line longer than the window
                data = _twice_as_long(data, position=base + PAD_BYTES)
                continue
            yield window
            rest = filled - window.last
            data[PAD_BYTES : PAD_BYTES + rest] = data[window.last : filled].copy()
            filled = PAD_BYTES + rest
    finally:
        os.close(descriptor)


def _twice_as_long(data: np.ndarray, position: int) -> np.ndarray:
    """A longer window for a line, at ``position`` in its file, that does not fit into ``data``."""
    longest = LARGEST_RECORD_BYTES + 1 + 2 * PAD_BYTES
    if len(data) >= longest:
        raise LongLineError(position)
    longer = _room(min(2 * len(data), longest))
    longer[: len(data)] = data
    return longer


def _fill(descriptor: int, data: np.ndarray, filled: int, position: int, end: int) -> tuple[int, int]:
    """Read until the data are full but for the pad, or the range ends."""
    wanted = min(len(data) - PAD_BYTES - 1 - filled, end - position)
    while wanted:
        done = os.preadv(descriptor, [data[filled : filled + wanted].data], position)
        if not done:
            raise EOFError(position)
        filled, position, wanted = filled + done, position + done, wanted - done
    return filled, position


def _cut(data: np.ndarray, filled: int, base: int) -> LineWindow | None:
    controls = _controls(data, PAD_BYTES, filled)
    kinds = data[controls]
    is_end = kinds == NEWLINE
    ends = controls if is_end.all() else controls[is_end]
    if not len(ends):
        return None
    starts = np.empty_like(ends)
    starts[0], starts[1:] = PAD_BYTES, ends[:-1] + 1
    odd = np.zeros(len(ends), bool)
    if len(controls) > len(ends):
        others = controls[~is_end]
        # A carriage return is part of a line end only right before the newline.
        others = others[(data[others] != RETURN) | (data[others + 1] != NEWLINE)]
        lines = np.searchsorted(ends, others)
        odd[lines[lines < len(ends)]] = True
    return LineWindow(data, (Stretch(0, base, 0, len(ends)),), starts, ends, odd)


def _controls(data: np.ndarray, first: int, last: int) -> np.ndarray:
    """Where control characters stand in data[first:last]."""
    flags = np.empty(_BLOCK_BYTES, bool)
    found = []
    for start in range(first, last, _BLOCK_BYTES):
        block = data[start : min(start + _BLOCK_BYTES, last)]
        np.less(block, _FIRST_PRINTABLE, out=flags[: len(block)])
        found.append(np.flatnonzero(flags[: len(block)]) + start)
    return np.concatenate(found)


def mark_replacements(window: LineWindow) -> None:
    """Mark lines as odd in which bytes were lost (U+FFFD): they may have been a key's."""
    if not window.holds(_REPLACEMENT[0]):
        return
    at = np.flatnonzero(window.data[window.first : window.last] == _REPLACEMENT[0]) + window.first
    following = window.data[at[:, None] + np.arange(len(_REPLACEMENT))]
    at = at[(following == np.frombuffer(_REPLACEMENT, np.uint8)).all(axis=1)]
    window.odd[np.searchsorted(window.ends, at)] = True
