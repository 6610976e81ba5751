"""Links: where each record's key was before, and which later record supersedes it.

This is Kafka's offset map of all rounds at once: a record enters the map if it has a key and is neither
aborted nor a control record (``CleanedTransactionMetadata``, ``Cleaner.buildOffsetMapForSegment``).
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kcompact.rules.orders import order_by_pairs, ranked
from kcompact.rules.verdicts import NEVER

Longs = NDArray[np.int64]
Flags = NDArray[np.bool_]

NO_OFFSET = -1
"""``previous_offset`` of a key's first record."""

LINKS = pa.schema(
    [
        pa.field("is_mapped", pa.bool_(), nullable=False),  # enters the offset map
        pa.field("is_repeated", pa.bool_(), nullable=False),  # the same offset is there before this record
        pa.field("previous_offset", pa.int64(), nullable=False),  # of the key, below; NO_OFFSET: none
        pa.field("superseded_at_offset", pa.int64(), nullable=False),  # NEVER: by no later record
        pa.field("deletes_clean_value", pa.bool_(), nullable=False),  # a clean tombstone right after a value
    ]
)
"""The columns that ``with_links`` adds.

``superseded_at_offset`` is the smallest later offset of the key in the dirty section; plain "next" would not
do, for a clean section may hold duplicates, which a map of the dirty section does not heal.
"""


@dataclass(frozen=True)
class KeyOrder:
    """Rows of some keys, all of them, put in the order of keys and offsets.

    Every array is in that order; ``order`` holds positions in the table. Rows outside the map meet only those
    of their own key and offset.
    """

    order: Longs
    group: Longs  # equal for the records of one key in one log
    offset: Longs
    first_dirty_offset: Longs
    is_mapped: Flags
    is_tombstone: Flags

    @classmethod
    def of(cls, rows: pa.Table) -> "KeyOrder":
        """From rows with key, is_tombstone, is_control, the columns of places and those of LOOKED_UP."""
        log_id, offset = (rows[name].to_numpy() for name in ("log_id", "offset"))
        key = pa.concat_arrays(rows["key"].chunks) if rows["key"].num_chunks else pa.array([], pa.binary())
        has_key = key.is_valid().to_numpy(zero_copy_only=False)
        mapped = has_key & ~_flags(rows, "is_aborted") & ~_flags(rows, "is_control")
        number = key.dictionary_encode().indices.fill_null(-1).to_numpy(zero_copy_only=False)
        alone = np.where(mapped, -1, offset)
        order = _order_of_mapped(rows["log_id"], number, offset) if mapped.all() else None
        if order is None:
            split_id, position = rows["split_id"].to_numpy(), rows["position"].to_numpy()
            order = np.lexsort((position, split_id, offset, alone, number, log_id))
        follows = np.ones(len(order), np.bool_)
        for column in (log_id, number, alone):
            follows[1:] &= np.diff(column[order]) == 0
        follows[:1] = False
        group = np.cumsum(~follows) - 1
        first_dirty = rows["first_dirty_offset"].to_numpy()[order]
        tombstones = _flags(rows, "is_tombstone")[order]
        return cls(order, group, offset[order], first_dirty, mapped[order], tombstones)

    @property
    def follows(self) -> Flags:
        """Whether the row before is of the same key and log."""
        follows = np.zeros(len(self.order), np.bool_)
        follows[1:] = self.group[1:] == self.group[:-1]
        return follows

    @property
    def previous_offset(self) -> Longs:
        """The offset of the row before in the same group, NO_OFFSET if there is none."""
        before = np.full(len(self.order), NO_OFFSET, np.int64)
        before[1:] = self.offset[:-1]
        return np.where(self.follows, before, NO_OFFSET)

    @property
    def is_repeated(self) -> Flags:
        """Whether the row before is of the same group and offset."""
        return self.follows & (self.previous_offset == self.offset)

    @property
    def superseded_at_offset(self) -> Longs:
        """The smallest larger offset of the group that is at or above the log's first dirty offset."""
        if not len(self.order):
            return self.offset
        run = np.cumsum(~self.is_repeated) - 1  # of equal offsets
        starts = np.flatnonzero(~self.is_repeated)
        run_offset = self.offset[starts]
        later = np.full(len(starts), NEVER, np.int64)
        follows = self.group[starts[1:]] == self.group[starts[:-1]]
        later[:-1] = np.where(follows, run_offset[1:], NEVER)
        next_offset = later[run]
        dirty = np.where(self.offset >= self.first_dirty_offset, self.offset, NEVER)
        group_starts = np.flatnonzero(~self.follows)
        first_dirty = np.minimum.reduceat(dirty, group_starts)[self.group]
        superseding: Longs = np.where(next_offset >= self.first_dirty_offset, next_offset, first_dirty)
        return superseding

    @property
    def deletes_clean_value(self) -> Flags:
        """Tombstones of the clean section right after a value, which stays as long as they do."""
        follows_value = np.zeros(len(self.order), np.bool_)
        follows_value[1:] = ~self.is_tombstone[:-1]
        is_clean = self.offset < self.first_dirty_offset
        return self.is_tombstone & is_clean & self.follows & follows_value & self.is_mapped

    def unsorted(self, values: np.ndarray) -> np.ndarray:
        """Values in this order as a column of the table."""
        column = np.empty_like(values)
        column[self.order] = values
        return column


def _order_of_mapped(log_ids: pa.ChunkedArray, keys: Longs, offsets: Longs) -> Longs | None:
    """By log, key and offset; None where a record may be there twice."""
    return order_by_pairs(ranked(log_ids.to_numpy())[1] * (int(keys.max(initial=0)) + 1) + keys, offsets)


def with_links(rows: pa.Table) -> pa.Table:
    """``rows`` (see ``KeyOrder.of``) with the columns of LINKS."""
    keys = KeyOrder.of(rows)
    mapped = keys.is_mapped
    columns = (
        mapped,
        keys.is_repeated,
        np.where(mapped, keys.previous_offset, NO_OFFSET),
        np.where(mapped, keys.superseded_at_offset, NEVER),
        keys.deletes_clean_value,
    )
    for field, values in zip(LINKS, columns, strict=True):
        rows = rows.append_column(field, pa.array(keys.unsorted(values), field.type))
    return rows


def _flags(rows: pa.Table, name: str) -> Flags:
    flags: Flags = rows[name].to_numpy(zero_copy_only=False)
    return flags
