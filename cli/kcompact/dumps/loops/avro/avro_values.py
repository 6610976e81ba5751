"""Avro's whole numbers, and numbers as keys."""

import numpy as np

from kcompact.dumps.loops.compiling import int64, part

REFUSED = -1
MOST_DIGITS = 20  # of a number as a key, its sign counted
_MORE = 0x80
_SEVEN_BITS = 0x7F
_LAST_SHIFT = 63  # of the tenth byte, which holds a single bit
_LARGEST = 2**63 - 1
_MINUS, _ZERO = b"-0"
_TEN = 10


@part
def long_at(data: np.ndarray, at: int, end: int) -> tuple[int, int]:
    """Avro's long (or int) at ``at``, and where it ends; REFUSED if that is not before ``end``."""
    shift, number = 0, int64(0)
    while at < end:
        byte = int64(data[at])
        at += 1
        if shift == _LAST_SHIFT and byte > 1:
            return 0, REFUSED
        number |= (byte & _SEVEN_BITS) << shift
        if byte < _MORE:
            return (number >> 1 & _LARGEST) ^ -(number & 1), at
        shift += 7
    return 0, REFUSED


@part
def is_ascii(data: np.ndarray, start: int, end: int) -> bool:
    """Whether a range holds no other bytes."""
    for at in range(start, end):
        if data[at] >= _MORE:
            return False
    return True


@part
def written_number(number: int, out: np.ndarray, at: int) -> int:
    """Write a number in digits; return where they end, or REFUSED for the one that has no counterpart."""
    if number < 0:
        if number < -_LARGEST:
            return REFUSED
        out[at] = _MINUS
        at += 1
        number = -number
    end, remainder = at + 1, number // _TEN
    while remainder > 0:
        remainder //= _TEN
        end += 1
    for place in range(end - 1, at - 1, -1):
        out[place] = _ZERO + number % _TEN
        number //= _TEN
    return end
