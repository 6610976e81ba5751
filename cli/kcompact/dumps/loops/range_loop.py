"""Reads ranges of a file into one buffer, without the bytes between them."""

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
    """Read the ranges one after another into ``out``; return how many were read completely.

    Adjacent ranges are read at once. Reading ends before the first range for which ``out`` has no room, or of
    which the system returned fewer bytes; the caller has to find out why.
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
