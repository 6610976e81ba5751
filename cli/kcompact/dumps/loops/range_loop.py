"""Ranges of a file read one by one into one buffer: what is between them is not read."""

import numpy as np
from numba import types

from kcompact.dumps.loops.compiling import array_type, loop

_SIGNATURE = types.int64(
    types.int32,
    array_type(types.int64),
    array_type(types.int64),
    array_type(types.uint8, written=True),
)

_pread = types.ExternalFunction(
    "pread",
    types.intp(types.int32, types.uintp, types.uintp, types.int64),  # an address, a size, a place
)


@loop(_SIGNATURE)
def read_each(descriptor: int, starts: np.ndarray, lengths: np.ndarray, out: np.ndarray) -> int:
    """Read the ranges, one after the other, into ``out``; how many of them were read as a whole.

    Those that touch are read at once. It ends before the first range for which there is no room in ``out``,
    or of which the system did not bring all bytes at once: why that was, is for the caller to find out.
    """
    filled = at = 0
    while at < len(starts):
        length, behind = lengths[at], at + 1
        while behind < len(starts) and starts[behind] == starts[at] + length:
            if lengths[behind] < 0 or lengths[behind] > len(out) - filled - length:
                break
            length += lengths[behind]
            behind += 1
        if length < 0 or length > len(out) - filled:
            return at
        if _pread(descriptor, out.ctypes.data + filled, length, starts[at]) != length:
            return at
        filled += length
        at = behind
    return len(starts)
