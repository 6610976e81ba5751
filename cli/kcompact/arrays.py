"""Columns as numpy arrays, an element per row."""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Longs = NDArray[np.int64]
Flags = NDArray[np.bool_]


def flags_of(column: pa.Array | pa.ChunkedArray) -> Flags:
    """A column of flags without nulls."""
    return np.asarray(column.to_numpy(zero_copy_only=False), np.bool_)
