"""Hashes that send keys to receivers, as ``engine/exchange.py`` defines them."""

import numpy as np
from numba import types

from kcompact.dumps.loops.compiling import array_type, int64, loop
from kcompact.dumps.loops.siphash import last_word
from kcompact.dumps.loops.words import WORD, word_at

_FACTOR, _HALF, _ONE, _BYTE_BITS = np.uint64(0x9E3779B97F4A7C15), np.uint64(29), np.uint64(1), np.uint64(8)
_SIGNATURE = types.void(
    array_type(types.uint8), array_type(types.int32), array_type(types.uint64, written=True)
)


@loop(_SIGNATURE)
def hash_keys(data: np.ndarray, offsets: np.ndarray, hashes: np.ndarray) -> None:
    """Hash keys into one word each; key i is ``data[offsets[i]:offsets[i + 1]]``."""
    for key in range(len(hashes)):
        at, end = int64(offsets[key]), int64(offsets[key + 1])
        value = (np.uint64(end - at) + _ONE) * _FACTOR
        while at < end:
            if at + WORD <= end:
                word = word_at(data, at)
            else:  # its bytes are the highest ones
                word = last_word(data, at, end) << (_BYTE_BITS * np.uint64(WORD - (end - at)))
            value = (value ^ word) * _FACTOR
            value ^= value >> _HALF
            at += WORD
        hashes[key] = value * _FACTOR
