"""The history of a key: what its other records say about one of them."""

from dataclasses import dataclass

import numpy as np

from kcompact.arrays import Flags, Longs
from kcompact.verify.rows.key_rows import KeyRows

NEVER = 2**63 - 1
"""The offset of a later record of a key that has none."""
NOTHING_KEPT = -1
"""``kept_offset`` of a key of which AFTER has no record."""


@dataclass(frozen=True)
class History:
    """Columns beside ``KeyRows``; only data records of BEFORE count, and only their rows mean anything.

    ``next_offset``: of the key's next record, NEVER: there is none. ``next_mapped_offset``: of the next that
    no round can have overlooked. ``latest_offset``: of its last one.
    ``kept_offset``: of its last record that AFTER has at the same offset, NOTHING_KEPT: of none.
    """

    next_offset: Longs
    next_mapped_offset: Longs
    latest_offset: Longs
    kept_offset: Longs
    kept_is_tombstone: Flags

    def superseding_offset(self, rows: KeyRows, first_dirty_offset: Longs) -> Longs:
        """The key's first later record at or above an offset that is the same for all rows of a log."""
        return _first_from(rows, rows.is_data, self.next_offset, first_dirty_offset)

    def mapped_superseding_offset(self, rows: KeyRows, first_dirty_offset: Longs) -> Longs:
        """The same, of records that no round can have overlooked."""
        mapped = rows.is_data & ~rows.is_perhaps_overlooked
        return _first_from(rows, mapped, self.next_mapped_offset, first_dirty_offset)


def _first_from(rows: KeyRows, chosen: Flags, next_offset: Longs, first_dirty_offset: Longs) -> Longs:
    """The key's first later record of those that are chosen; ``next_offset`` is that of the next one."""
    dirty = np.flatnonzero(chosen & (rows.offset >= first_dirty_offset))
    _, firsts = np.unique(rows.group[dirty], return_index=True)
    first_of_group = np.full(int(rows.group[-1]) + 1 if len(rows) else 0, NEVER)
    first_of_group[rows.group[dirty[firsts]]] = rows.offset[dirty[firsts]]
    later = np.where(next_offset >= first_dirty_offset, next_offset, first_of_group[rows.group])
    return np.where(next_offset == NEVER, NEVER, later)


def _next_of(rows: KeyRows, chosen: Flags) -> Longs:
    """For every row the offset of the next chosen row of its group, NEVER: there is none."""
    count = len(rows)
    chosen_at = np.where(chosen, np.arange(count), count)
    at = np.append(np.minimum.accumulate(chosen_at[::-1])[::-1][1:], count)[:count]
    is_of_key = rows.is_data & (np.append(rows.group, -1)[at] == rows.group)
    return np.where(is_of_key, np.append(rows.offset, NEVER)[at], NEVER)


def history_of(rows: KeyRows) -> History:
    """The history of all rows."""
    data = np.flatnonzero(rows.is_data)
    next_offset = next_mapped_offset = _next_of(rows, rows.is_data)
    if rows.is_perhaps_overlooked.any():
        next_mapped_offset = _next_of(rows, rows.is_data & ~rows.is_perhaps_overlooked)
    last = _last_of_groups(rows, data)
    last_kept = _last_of_groups(rows, data[rows.in_after[data]])
    return History(
        next_offset,
        next_mapped_offset,
        np.where(last < 0, NOTHING_KEPT, rows.offset[last]) if len(rows) else next_offset,
        np.where(last_kept < 0, NOTHING_KEPT, rows.offset[last_kept]) if len(rows) else next_offset,
        (last_kept >= 0) & rows.after_is_tombstone[last_kept] if len(rows) else np.zeros(0, np.bool_),
    )


def _last_of_groups(rows: KeyRows, chosen: Longs) -> Longs:
    """For every row the number of the last chosen row of its group, -1: none is chosen."""
    if not len(rows):
        return np.zeros(0, np.int64)
    last = np.full(int(rows.group[-1]) + 1, -1)
    last[rows.group[chosen]] = chosen  # ascending: the last one stays
    return last[rows.group]
