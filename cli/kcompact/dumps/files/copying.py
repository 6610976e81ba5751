"""Byte ranges of a file, copied in the order given with few large reads."""

import os
from collections.abc import Iterator
from typing import BinaryIO

import numpy as np

WINDOW_BYTES = 8 << 20  # one read covers ranges as far apart as this
LARGEST_GAP_BYTES = 128 << 10  # reading over a gap is cheaper than another read, up to about here
RANGES_AT_A_TIME = 1 << 17  # of those to be copied: what is worked out for them takes more than they do


def read_ranges(path: str, starts: np.ndarray, lengths: np.ndarray) -> Iterator[memoryview]:
    """The bytes of each range, in the order given."""
    for window, offsets, ends in _read_windows(path, starts, lengths):
        view = memoryview(window)
        for offset, end in zip(offsets, ends, strict=True):
            yield view[offset:end]


def _read_windows(
    path: str, starts: np.ndarray, lengths: np.ndarray
) -> Iterator[tuple[bytes, list[int], list[int]]]:
    """Some MB at a time, and where the ranges in them start and end."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        for first, last in _windows(starts, lengths):
            base = int(starts[first])
            window = _pread(descriptor, base, int(starts[last - 1] + lengths[last - 1]) - base)
            offsets = starts[first:last] - base
            yield window, offsets.tolist(), (offsets + lengths[first:last]).tolist()
    finally:
        os.close(descriptor)


def copy_ranges(path: str, starts: np.ndarray, lengths: np.ndarray, out: BinaryIO) -> int:
    """Write the ranges one after another; return the bytes written."""
    written = 0
    for first in range(0, len(starts), RANGES_AT_A_TIME):
        here = slice(first, first + RANGES_AT_A_TIME)
        merged = _merged(starts[here].astype(np.int64), lengths[here].astype(np.int64))
        for window, offsets, ends in _read_windows(path, *merged):
            pieces = [window[offset:end] for offset, end in zip(offsets, ends, strict=True)]
            written += out.write(b"".join(pieces))
    return written


def _merged(starts: np.ndarray, lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Ranges that touch made one, up to a window's size."""
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
        # Ranges ascend nearly always: look for the first that does not, or that lies too far on.
        probe = min(len(starts), first + 4096)
        gaps = starts[first + 1 : probe] - ends[first : probe - 1]
        stops = np.flatnonzero((gaps < 0) | (gaps > LARGEST_GAP_BYTES) | (ends[first + 1 : probe] > limit))
        last = first + 1 + (int(stops[0]) if len(stops) else probe - first - 1)
        yield first, last
        first = last


def _pread(descriptor: int, start: int, length: int) -> bytes:
    """Exactly ``length`` bytes, however many reads that takes. Raises EOFError where the file was cut."""
    pieces: list[bytes] = []
    while length:
        piece = os.pread(descriptor, length, start)
        if not piece:
            raise EOFError(start)
        pieces.append(piece)
        start += len(piece)
        length -= len(piece)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)
