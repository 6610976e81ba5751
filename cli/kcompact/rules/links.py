"""Links: where the key of each record occurred before, and which later record supersedes the record.

Links stand for Kafka's offset maps of all rounds at once. A record enters a map if it has a key, is no
control record, and is neither aborted nor taken for aborted by its round (``CleanedTransactionMetadata``,
``Cleaner.buildOffsetMapForSegment``).
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from kcompact.arrays import Flags, Longs, flags_of
from kcompact.rules.orders import order_by_pairs, ranked
from kcompact.rules.verdicts import NEVER

NO_OFFSET = -1
"""``previous_offset`` of the first record of a key."""

LINKS = pa.schema(
    [
        pa.field("is_mapped", pa.bool_(), nullable=False),  # enters the offset map
        pa.field("is_repeated", pa.bool_(), nullable=False),  # a row before it has the same key and offset
        pa.field("previous_offset", pa.int64(), nullable=False),  # of the key's last mapped record before
        pa.field("superseded_at_offset", pa.int64(), nullable=False),  # NEVER: by no later record
        pa.field("deletes_clean_value", pa.bool_(), nullable=False),  # see KeyOrder.deletes_clean_value
    ]
)
"""The columns that ``with_links`` adds.

``superseded_at_offset`` is the smallest later mapped offset of the key in the dirty section. It is not simply
the next offset of the key: the clean section may hold several records of a key, which a map of the dirty
section does not tell apart.
"""


@dataclass(frozen=True)
class KeyOrder:
    """All rows of some keys, in the order of logs, keys and offsets.

    Every array is in that order; ``order`` holds positions in the table. Rows without history (see below) are
    grouped only with rows of the same key and the same offset.
    """

    order: Longs
    group: Longs  # a number for each key of each log
    offset: Longs
    first_dirty_offset: Longs
    has_history: Flags  # the record has a key, and is neither aborted nor a control record
    is_mapped: Flags  # the record has history, and its round does not take it for aborted
    is_tombstone: Flags

    @classmethod
    def of(cls, rows: pa.Table) -> "KeyOrder":
        """The order of ``rows``.

        They have the columns of LOOKED_UP, and key, is_tombstone, is_control, log_id, offset, split_id,
        position.
        """
        log_id, offset = (rows[name].to_numpy() for name in ("log_id", "offset"))
        key = pa.concat_arrays(rows["key"].chunks) if rows["key"].num_chunks else pa.array([], pa.binary())
        has_key = flags_of(key.is_valid())
        has_history = has_key & ~flags_of(rows["is_aborted"]) & ~flags_of(rows["is_control"])
        number = key.dictionary_encode().indices.fill_null(-1).to_numpy(zero_copy_only=False)
        alone = np.where(has_history, -1, offset)
        order = _order_of_keyed(rows["log_id"], number, offset) if has_history.all() else None
        if order is None:
            split_id, position = rows["split_id"].to_numpy(), rows["position"].to_numpy()
            order = np.lexsort((position, split_id, offset, alone, number, log_id))
        follows = np.ones(len(order), np.bool_)
        for column in (log_id, number, alone):
            follows[1:] &= np.diff(column[order]) == 0
        follows[:1] = False
        group = np.cumsum(~follows) - 1
        first_dirty = rows["first_dirty_offset"].to_numpy()[order]
        tombstones = flags_of(rows["is_tombstone"])[order]
        mapped = has_history & ~flags_of(rows["is_overlooked"])
        return cls(order, group, offset[order], first_dirty, has_history[order], mapped[order], tombstones)

    @cached_property
    def follows(self) -> Flags:
        """Whether the row before is of the same group."""
        follows = np.zeros(len(self.order), np.bool_)
        follows[1:] = self.group[1:] == self.group[:-1]
        return follows

    @cached_property
    def previous_offset(self) -> Longs:
        """The offset of the last mapped row before each row in its group, or NO_OFFSET."""
        mapped_at = np.where(self.is_mapped, np.arange(len(self.order)), -1)
        at = np.concatenate(([-1], np.maximum.accumulate(mapped_at)[:-1]))[: len(self.order)]
        is_of_key = (at >= 0) & (self.group[at] == self.group)
        return np.where(is_of_key, self.offset[at], NO_OFFSET)

    @cached_property
    def is_repeated(self) -> Flags:
        """Whether the row before is of the same group and offset."""
        is_same = np.zeros(len(self.order), np.bool_)
        is_same[1:] = self.offset[1:] == self.offset[:-1]
        return self.follows & is_same

    @property
    def superseded_at_offset(self) -> Longs:
        """The smallest mapped offset in the group above the row's own and in the dirty section, or NEVER."""
        if not len(self.order):
            return self.offset
        is_repeated = self.is_repeated
        run = np.cumsum(~is_repeated) - 1  # a number for each run of equal offsets
        starts = np.flatnonzero(~is_repeated)
        count, groups, is_mapped = len(starts), self.group[starts], self.is_mapped[starts]
        mapped_at = np.where(is_mapped, np.arange(count), count)
        at = np.append(np.minimum.accumulate(mapped_at[::-1])[::-1][1:], count)  # the next one
        is_of_key = (at < count) & (np.append(groups, -1)[at] == groups)
        next_offset = np.where(is_of_key, np.append(self.offset[starts], NEVER)[at], NEVER)[run]
        is_dirty = self.is_mapped & (self.offset >= self.first_dirty_offset)
        dirty = np.where(is_dirty, self.offset, NEVER)
        group_starts = np.flatnonzero(~self.follows)
        first_dirty = np.minimum.reduceat(dirty, group_starts)[self.group]
        superseding: Longs = np.where(next_offset >= self.first_dirty_offset, next_offset, first_dirty)
        return superseding

    @property
    def deletes_clean_value(self) -> Flags:
        """Tombstones of the clean section directly after a value of their key.

        The map of the dirty section does not remove this value: without the tombstone it would be back.
        """
        follows_value = np.zeros(len(self.order), np.bool_)
        follows_value[1:] = ~self.is_tombstone[:-1]
        is_clean = self.offset < self.first_dirty_offset
        return self.is_tombstone & is_clean & self.follows & follows_value & self.has_history

    def unsorted(self, values: np.ndarray) -> np.ndarray:
        """``values``, which are in this order, in the order of the table."""
        column = np.empty_like(values)
        column[self.order] = values
        return column


def _order_of_keyed(log_ids: pa.ChunkedArray, keys: Longs, offsets: Longs) -> Longs | None:
    """The order by log, key and offset; None where ``order_by_pairs`` has none, as a record occurs twice."""
    return order_by_pairs(ranked(log_ids.to_numpy())[1] * (int(keys.max(initial=0)) + 1) + keys, offsets)


def with_links(rows: pa.Table) -> pa.Table:
    """``rows`` (see ``KeyOrder.of``) with the columns of LINKS."""
    keys = KeyOrder.of(rows)
    has_history = keys.has_history
    columns = (
        keys.is_mapped,
        keys.is_repeated,
        np.where(has_history, keys.previous_offset, NO_OFFSET),
        np.where(has_history, keys.superseded_at_offset, NEVER),
        keys.deletes_clean_value,
    )
    for field, values in zip(LINKS, columns, strict=True):
        rows = rows.append_column(field, pa.array(keys.unsorted(values), field.type))
    return rows
