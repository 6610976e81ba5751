"""The history of a key: what its other records say about one of them."""

from dataclasses import dataclass

import numpy as np

from kcompact.verify.rows.key_rows import Flags, KeyRows, Longs

NEVER = 2**63 - 1
"""The offset of a later record of a key that has none."""
NOTHING_KEPT = -1
"""``kept_offset`` of a key of which AFTER has no record."""


@dataclass(frozen=True)
class History:
    """Columns beside ``KeyRows``; only data records of BEFORE count, and only their rows mean anything.

    ``next_offset``: of the key's next record, NEVER: there is none. ``latest_offset``: of its last one.
    ``kept_offset``: of its last record that AFTER has at the same offset, NOTHING_KEPT: of none.
    """

    next_offset: Longs
    latest_offset: Longs
    kept_offset: Longs
    kept_is_tombstone: Flags

    def superseding_offset(self, rows: KeyRows, first_dirty_offset: Longs) -> Longs:
        """The key's first later record at or above an offset that is the same for all rows of a log."""
        data = np.flatnonzero(rows.is_data)
        dirty = data[rows.offset[data] >= first_dirty_offset[data]]
        _, firsts = np.unique(rows.group[dirty], return_index=True)
        first_of_group = np.full(int(rows.group[-1]) + 1 if len(rows) else 0, NEVER)
        first_of_group[rows.group[dirty[firsts]]] = rows.offset[dirty[firsts]]
        later = np.where(self.next_offset >= first_dirty_offset, self.next_offset, first_of_group[rows.group])
        return np.where(self.next_offset == NEVER, NEVER, later)


def history_of(rows: KeyRows) -> History:
    """The history of all rows."""
    data = np.flatnonzero(rows.is_data)
    group = rows.group[data]
    next_offset = np.full(len(rows), NEVER)
    has_next = group[:-1] == group[1:]
    next_offset[data[:-1][has_next]] = rows.offset[data[1:][has_next]]
    last = _last_of_groups(rows, data)
    last_kept = _last_of_groups(rows, data[rows.in_after[data]])
    return History(
        next_offset,
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
