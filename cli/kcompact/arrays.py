"""Columns as numpy arrays with an element per row, and the merging of equal rows of a table."""

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
    """Rows that are equal in ``by``, merged, in the order of the first ones.

    ``how``: by column, the name of Arrow's aggregation.
    """
    grouped = rows.group_by([*by], use_threads=False).aggregate([*how.items()])
    return grouped.rename_columns([*by, *how])
