"""Orders of rows by several columns: ``np.lexsort``'s, at a fraction of its time where numbers are dense.

``lexsort`` sorts once for every column. Rows of a log nearly always have offsets that occur once and lie
close together, and then one sort, or none, will do.
"""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Longs = NDArray[np.int64]

_SPARSE = 4  # so many times as many places as rows are still looked through
_LARGEST = 2**62


def order_by_place(rows: pa.Table) -> Longs:
    """Rows in the order of log_id, offset, split_id, position."""
    log_ids, offsets = rows["log_id"].to_numpy(), rows["offset"].to_numpy()
    logs = ranks_of(rows["log_id"])
    found = _order_by_dense_offset(logs, offsets) if len(offsets) else None
    if found is None:
        found = order_by_pairs(logs, offsets)
    if found is not None:
        return found
    return np.lexsort((rows["position"].to_numpy(), rows["split_id"].to_numpy(), offsets, log_ids))


def order_by_group(groups: Longs, offsets: Longs, is_second: NDArray[np.bool_]) -> Longs:
    """Rows in the order of group, from 0 on, offset, and which of two comes second."""
    found = None
    if offsets.max(initial=0) < _LARGEST // 2:
        found = order_by_pairs(groups, 2 * offsets + is_second)
    return np.lexsort((is_second, offsets, groups)) if found is None else found


def order_by_pairs(groups: Longs, offsets: Longs) -> Longs | None:
    """Rows in the order of group, from 0 on, and offset; None where a pair occurs twice, or is too large."""
    if not len(groups):
        return np.empty(0, np.int64)
    first, span = int(offsets.min()), int(offsets.max()) - int(offsets.min()) + 1
    if (int(groups.max()) + 1) * span > _LARGEST:
        return None
    pairs = groups * span + (offsets - first)
    order = np.argsort(pairs)
    return None if (np.diff(pairs[order]) == 0).any() else order


def _order_by_dense_offset(logs: Longs, offsets: Longs) -> Longs | None:
    """By log, from 0 on, and offset, without sorting; None where offsets are far apart or occur twice."""
    count = int(logs.max()) + 1
    first = np.full(count, np.iinfo(np.int64).max)
    last = np.full(count, -1)
    np.minimum.at(first, logs, offsets)
    np.maximum.at(last, logs, offsets)
    spans = [end - start + 1 for start, end in zip(first.tolist(), last.tolist(), strict=True)]
    if sum(spans) > _SPARSE * len(offsets):
        return None
    bases = np.cumsum([0, *spans[:-1]])
    row_at = np.full(sum(spans), -1)
    row_at[(bases - first)[logs] + offsets] = np.arange(len(offsets))
    order = row_at[row_at >= 0]
    return order if len(order) == len(offsets) else None


def ranks_of(numbers: pa.ChunkedArray) -> Longs:
    """The place of each number among the different ones, in ascending order."""
    if not len(numbers):
        return np.empty(0, np.int64)
    encoded = numbers.combine_chunks().dictionary_encode()
    ranks = np.argsort(np.argsort(encoded.dictionary.to_numpy()))
    return ranks[encoded.indices.to_numpy()]
