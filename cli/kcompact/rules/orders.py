"""Orders of rows by several columns, as of ``np.lexsort``, in a fraction of its time where numbers are dense.

``lexsort`` sorts once for every column. The offsets of a log's rows nearly always occur once and lie close
together, and then a single sort is enough, or none is needed.
"""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from kcompact.arrays import Flags, Longs

_SPARSE = 4  # up to so many possible offsets per row, rows are ordered without sorting
_LARGEST = 2**62
_RADIX_SORTED = 1 << 16  # numpy sorts numbers of two bytes in one pass


def order_by_place(rows: pa.Table) -> Longs:
    """The positions of rows in the order of log_id, offset, split_id and position."""
    log_ids, offsets = rows["log_id"].to_numpy(), rows["offset"].to_numpy()
    order = order_by_offset(log_ids, offsets)
    if order is not None:
        return order
    return np.lexsort((rows["position"].to_numpy(), rows["split_id"].to_numpy(), offsets, log_ids))


def repeated_places(rows: pa.Table) -> tuple[Longs, Longs]:
    """The positions of rows that share their place (log and offset) with other rows, in the order of places.

    The second array numbers these places: rows of one place have the same number.
    """
    order = order_by_place(rows)
    log_ids, offsets = (rows[name].to_numpy()[order] for name in ("log_id", "offset"))
    starts = np.ones(len(order), np.bool_)
    starts[1:] = (np.diff(log_ids) != 0) | (np.diff(offsets) != 0)
    places = np.cumsum(starts) - 1
    is_repeated = np.bincount(places)[places] > 1
    return order[is_repeated], places[is_repeated]


def order_by_offset(log_ids: Longs, offsets: Longs) -> Longs | None:
    """The positions of rows in the order of log_id and offset.

    None where an offset occurs twice in a log, or where offsets are too large for ``order_by_pairs``.
    """
    _, logs = ranked(log_ids)
    order = _order_by_dense_offset(logs, offsets) if len(offsets) else None
    return order_by_pairs(logs, offsets) if order is None else order


def order_by_group(groups: Longs, offsets: Longs, is_second: Flags) -> Longs:
    """The positions of rows in the order of group (numbers from 0 on), offset and ``is_second``."""
    order = None
    if offsets.max(initial=0) < _LARGEST // 2:
        order = order_by_pairs(groups, 2 * offsets + is_second)
    return np.lexsort((is_second, offsets, groups)) if order is None else order


def order_by_pairs(groups: Longs, offsets: Longs) -> Longs | None:
    """The positions of rows in the order of group (numbers from 0 on) and offset.

    None where a pair of both occurs twice, or is too large for 64 bits. Groups may be integers of any width:
    they are widened first, as numpy would multiply numbers of 32 bits in 32 bits.
    """
    if not len(groups):
        return np.empty(0, np.int64)
    first, span = int(offsets.min()), int(offsets.max()) - int(offsets.min()) + 1
    if (int(groups.max()) + 1) * span > _LARGEST:
        return None
    pairs = groups.astype(np.int64, copy=False) * span + (offsets - first)
    order = np.argsort(pairs)
    return None if (np.diff(pairs[order]) == 0).any() else order


def _order_by_dense_offset(logs: Longs, offsets: Longs) -> Longs | None:
    """The order by log (numbers from 0 on) and offset, without sorting.

    None where offsets are far apart, or where one occurs twice in a log.
    """
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


def ranked(numbers: Longs) -> tuple[Longs, Longs]:
    """The distinct numbers, ascending, and the rank of each number among them.

    This is ``np.unique`` with its inverse, by hashing instead of sorting.
    """
    encoded = pa.array(numbers).dictionary_encode()
    values = encoded.dictionary.to_numpy()
    order = np.argsort(values)
    ranks = np.empty(len(values), np.int64)
    ranks[order] = np.arange(len(values))
    return values[order], ranks[encoded.indices.to_numpy()]


def stretches(groups: Longs) -> Iterator[Longs]:
    """The positions of the rows of each group (numbers from 0 on), group by group, each in their order."""
    small = groups.astype(np.uint16) if groups.max(initial=0) < _RADIX_SORTED else groups
    order = np.argsort(small, kind="stable")
    cuts = np.flatnonzero(np.diff(groups[order])) + 1
    return (at for at in np.split(order, cuts) if len(at))
