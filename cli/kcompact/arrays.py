"""Columns as numpy arrays, an element per row, and rows of tables that are alike."""

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Longs = NDArray[np.int64]
Flags = NDArray[np.bool_]


def flags_of(column: pa.Array | pa.ChunkedArray) -> Flags:
    """A column of flags without nulls."""
    return np.asarray(column.to_numpy(zero_copy_only=False), np.bool_)


def aggregated(rows: pa.Table, by: Sequence[str], how: Mapping[str, str]) -> pa.Table:
    """Rows alike in ``by`` as one, in the order of the first of them; ``how``: Arrow's name, by column."""
    grouped = rows.group_by([*by], use_threads=False).aggregate([*how.items()])
    return grouped.rename_columns([*by, *how])
