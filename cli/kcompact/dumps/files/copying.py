"""Copies byte ranges of a file in the order given, with few large reads."""

import os
from collections.abc import Iterator
from types import ModuleType
from typing import BinaryIO

import numpy as np

from kcompact.dumps.loops.readiness import loaded_loop

WINDOW_BYTES = 8 << 20  # one read covers ranges as far apart as this
LARGEST_GAP_BYTES = 128 << 10  # reading over a gap is cheaper than another read, up to about here
_JOINED_BYTES = 1 << 20  # written at once: few enough to be in the processor's cache still
RANGES_AT_A_TIME = 1 << 17  # in one batch: arrays computed for ranges take more memory than the ranges


def first_bytes(path: str, length: int) -> bytes:
    """The first bytes of a file, with as few system calls as can be: ten thousand files may be looked at."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return os.read(descriptor, length)
    finally:
        os.close(descriptor)


def read_ranges(path: str, starts: np.ndarray, lengths: np.ndarray) -> Iterator[memoryview]:
    """The bytes of each range, in the order given."""
    for window, offsets, ends in _read_windows(path, starts, lengths, are_kept=True):
        for offset, end in zip(offsets, ends, strict=True):
            yield window[offset:end]


def _read_windows(
    path: str, starts: np.ndarray, lengths: np.ndarray, *, are_kept: bool
) -> Iterator[tuple[memoryview, list[int], list[int]]]:
    """Windows of some MB of the file, each with the starts and ends of the ranges in it.

    Unless ``are_kept``, each reuses the memory of the one before: new memory takes as much time as reading.
    """
    descriptor, room = os.open(path, os.O_RDONLY), bytearray()
    try:
        for first, last in _windows(starts, lengths):
            base = int(starts[first])
            length = int(starts[last - 1] + lengths[last - 1]) - base
            if are_kept or length > len(room):
                room = bytearray(length)
            window = memoryview(room)[:length]
            _read_into(window, descriptor, base)
            offsets = starts[first:last] - base
            yield window, offsets.tolist(), (offsets + lengths[first:last]).tolist()
    finally:
        os.close(descriptor)


def copy_ranges(path: str, starts: np.ndarray, lengths: np.ndarray, out: BinaryIO) -> int:
    """Write the ranges one after another; return the bytes written."""
    written = 0
    loop = loaded_loop("range_loop")
    for first in range(0, len(starts), RANGES_AT_A_TIME):
        batch = slice(first, first + RANGES_AT_A_TIME)
        ranges = starts[batch].astype(np.int64), lengths[batch].astype(np.int64)
        pieces = _joined_in_windows(path, *ranges) if loop is None else _joined_each(loop, path, *ranges)
        for piece in pieces:
            written += out.write(piece)
    return written


def _joined_in_windows(path: str, starts: np.ndarray, lengths: np.ndarray) -> Iterator[bytes]:
    """The ranges joined, a piece at a time; each piece is cut out of a window with the bytes between them."""
    for window, offsets, ends in _read_windows(path, *_merged(starts, lengths), are_kept=False):
        yield b"".join([window[offset:end] for offset, end in zip(offsets, ends, strict=True)])


def _joined_each(
    loop: ModuleType, path: str, starts: np.ndarray, lengths: np.ndarray
) -> Iterator[memoryview]:
    """The ranges joined, a piece at a time, without reading the bytes between them.

    Each piece reuses the memory of the one before.
    """
    ends, first = np.cumsum(lengths), 0
    descriptor, room = os.open(path, os.O_RDONLY), bytearray(min(_JOINED_BYTES, int(ends[-1])))
    try:
        while first < len(starts):
            if lengths[first] > len(room):
                room = bytearray(int(lengths[first]))
            before = int(ends[first] - lengths[first])
            last = first + loop.read_each(
                descriptor, starts[first:], lengths[first:], np.frombuffer(room, np.uint8)
            )
            if last == first:  # one call did not read the whole range, or the file ends before it
                _read_into(memoryview(room)[: lengths[first]], descriptor, int(starts[first]))
                last += 1
            yield memoryview(room)[: int(ends[last - 1]) - before]
            first = last
    finally:
        os.close(descriptor)


def _merged(starts: np.ndarray, lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The ranges, with those that touch merged, up to about a window's size."""
    if not len(starts):
        return starts, lengths
    ends = starts + lengths
    opens = np.ones(len(starts), dtype=bool)
    # Also cut where a window is full, so that a range stays small enough to be read at once.
    opens[1:] = (starts[1:] != ends[:-1]) | (np.diff(ends // WINDOW_BYTES) > 0)
    firsts = np.flatnonzero(opens)
    lasts = np.append(firsts[1:], len(starts)) - 1
    return starts[firsts], ends[lasts] - starts[firsts]


def _windows(starts: np.ndarray, lengths: np.ndarray) -> Iterator[tuple[int, int]]:
    """Runs [first, last) of ranges that one read serves."""
    ends = starts + lengths
    first = 0
    while first < len(starts):
        limit = int(starts[first]) + WINDOW_BYTES
        # Ranges ascend nearly always: look for the first that does not, or that is too far on.
        probe = min(len(starts), first + 4096)
        gaps = starts[first + 1 : probe] - ends[first : probe - 1]
        stops = np.flatnonzero((gaps < 0) | (gaps > LARGEST_GAP_BYTES) | (ends[first + 1 : probe] > limit))
        last = first + 1 + (int(stops[0]) if len(stops) else probe - first - 1)
        yield first, last
        first = last


def _read_into(window: memoryview, descriptor: int, start: int) -> None:
    """Fill the window, however many reads that takes. Raises EOFError where the file was cut."""
    filled = 0
    while filled < len(window):
        count = os.preadv(descriptor, [window[filled:]], start + filled)
        if not count:
            raise EOFError(start + filled)
        filled += count
