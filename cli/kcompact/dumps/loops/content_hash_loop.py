"""Hashes of many values at once, as ``dumps/records/content_hashes.py`` defines them."""

import numpy as np
from numba import types

from kcompact.dumps.loops.compiling import array_type, loop
from kcompact.dumps.loops.siphash import hash_of
from kcompact.dumps.records.content_hashes import LONGEST_OF_MANY, NULL, VALUE

_SIGNATURE = types.void(
    array_type(types.uint8),
    array_type(types.int64),
    array_type(types.int64),
    array_type(types.uint64),
    array_type(types.uint64, 2, written=True),
)
_NULL, _VALUE = np.uint64(NULL), np.uint64(VALUE)


@loop(_SIGNATURE)
def hash_ranges(
    data: np.ndarray, starts: np.ndarray, lengths: np.ndarray, secret: np.ndarray, hashes: np.ndarray
) -> None:
    """Hash ranges of data into (rows, 2) words; a negative length is null. Long ones are passed over."""
    for at in range(len(starts)):
        if lengths[at] > LONGEST_OF_MANY:
            continue
        first_word = _NULL if lengths[at] < 0 else _VALUE
        end = starts[at] + max(lengths[at], 0)
        hashes[at, 0], hashes[at, 1] = hash_of(data, starts[at], end, first_word, secret)
