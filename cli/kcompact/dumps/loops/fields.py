"""Field contents of every format: bytes as they are, whole numbers, and signs of lost bytes."""

import numpy as np

from kcompact.dumps.loops.compiling import int64, part

REFUSED = -1
_MOST_DIGITS = 18  # always an int64
_ZERO, _NINE = b"09"
_REPLACEMENT = np.frombuffer("\ufffd".encode(), np.uint8)


@part
def copied(data: np.ndarray, start: int, end: int, out: np.ndarray, out_at: int) -> int:
    """Copy a range; return where the copy ends."""
    for at in range(start, end):
        out[out_at] = data[at]
        out_at += 1
    return out_at


@part
def is_lossy(data: np.ndarray, start: int, end: int) -> bool:
    """Whether U+FFFD stands in a range, for bytes that were lost."""
    for at in range(start, end - 2):
        if (
            data[at] == _REPLACEMENT[0]
            and data[at + 1] == _REPLACEMENT[1]
            and data[at + 2] == _REPLACEMENT[2]
        ):
            return True
    return False


@part
def whole_number(data: np.ndarray, start: int, end: int) -> int:
    """The number that all of a range spells in digits, the first of which is 0 only alone; else REFUSED."""
    if not 0 < end - start <= _MOST_DIGITS or (data[start] == _ZERO and end - start > 1):
        return REFUSED
    value = 0
    for at in range(start, end):
        if not _ZERO <= data[at] <= _NINE:
            return REFUSED
        value = value * 10 + (int64(data[at]) - _ZERO)
    return value
