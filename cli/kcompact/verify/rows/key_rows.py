"""Records of both dumps side by side, key by key: one row per log, key and offset, as arrays."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from kcompact.arrays import Flags, Longs, flags_of
from kcompact.dumps.records.record_contents import CONTENT, CONTENT_HASHES, content_words, key_numbers
from kcompact.rules.lookups import Lookup, look_up, rows_of_logs
from kcompact.rules.orders import order_by_group, ranked
from kcompact.rules.verdicts import NEVER, UNKNOWN_HORIZON_MS

BEFORE_ALL = -(2**63)
BEHIND_ALL = 2**63 - 1
"""Offsets and times below and above all others, for bounds that exclude nothing."""

NOWHERE = -1
"""The row number of a record that a dump does not hold."""

NOTHING_KEPT = -1
"""``kept_offset`` of a key of which AFTER has no record."""

Lacking = Mapping[str, frozenset[int]]
"""By column of CONTENT, the splits of files that do not have it."""

EXTRA = CONTENT_HASHES | {"is_control"}
"""Extra index columns that verification needs."""


@dataclass(frozen=True)
class KeyRows:
    """All records of some keys, ordered by log and key, then offset. Made by ``key_rows``.

    ``group`` numbers log and key from 0. ``before_at`` and ``after_at`` are row numbers in the two tables
    (NOWHERE: this dump holds no such record under this key). ``differs``: by column of CONTENT, whether both
    dumps hold the record, with different content. ``doubts``: by column, whether such a difference may be
    none (``doubted_differences``).

    Properties about other records of the key (``next_offset``, for example) count only data records of
    BEFORE, and mean something only in rows of such records.
    """

    before: pa.Table
    after: pa.Table
    before_at: Longs
    after_at: Longs
    group: Longs
    log_id: Longs
    offset: Longs
    timestamp_ms: Longs  # here and below: BEFORE's where it holds the record, else AFTER's
    is_tombstone: Flags
    is_control: Flags
    is_aborted: Flags
    is_perhaps_overlooked: Flags  # a round may have taken it for aborted while it filled its map
    is_keyless: Flags
    delete_horizon_ms: Longs
    differs: Mapping[str, Flags]
    doubts: Mapping[str, Flags] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.offset)

    @property
    def in_before(self) -> Flags:
        """Whether BEFORE holds the record."""
        return self.before_at != NOWHERE

    @property
    def in_after(self) -> Flags:
        """Whether AFTER holds a record of the same key at the same offset."""
        return self.after_at != NOWHERE

    @cached_property
    def is_changed(self) -> Flags:
        """Whether both dumps hold the record, with a certain difference."""
        nothing = np.zeros(len(self), np.bool_)
        certain = (differs & ~self.doubts.get(name, nothing) for name, differs in self.differs.items())
        return np.any([nothing, *certain], axis=0)

    @cached_property
    def is_doubted(self) -> Flags:
        """Whether both dumps hold the record, with differences all of which may be none."""
        return np.any([np.zeros(len(self), np.bool_), *self.differs.values()], axis=0) & ~self.is_changed

    def comparing(self, lacking: tuple[Lacking, Lacking]) -> "KeyRows":
        """The rows without differences in columns that a file lacks; ``lacking``: of BEFORE and of AFTER."""
        differs = dict(self.differs)
        for splits_by_name, table, at in zip(
            lacking, (self.before, self.after), (self.before_at, self.after_at), strict=True
        ):
            for name in differs.keys() & splits_by_name.keys():
                lacks = np.isin(table["split_id"].to_numpy(), list(splits_by_name[name]))
                differs[name] = differs[name] & ~np.append(lacks, False)[at]
        return replace(self, differs=differs)

    @cached_property
    def is_data(self) -> Flags:
        """Whether it is a record of BEFORE that takes part in compaction: a key, no marker, not aborted."""
        return self.in_before & ~self.is_keyless & ~self.is_control & ~self.is_aborted

    @cached_property
    def after_is_tombstone(self) -> Flags:
        """Whether AFTER's record is a tombstone; false where AFTER holds no such record."""
        flags = np.zeros(len(self), np.bool_)
        flags[self.in_after] = self.after["is_tombstone"].to_numpy()[self.after_at[self.in_after]]
        return flags

    @cached_property
    def logs(self) -> tuple[Longs, Longs]:
        """The log ids that occur, and for every row the position of its own among them."""
        return ranked(self.log_id)

    def per_log(self, values: Mapping[int, int], nothing: int) -> Longs:
        """A number per log as a column; ``nothing`` where a log has none."""
        log_ids, codes = self.logs
        return np.array([values.get(i, nothing) for i in log_ids.tolist()], np.int64)[codes]

    @cached_property
    def by_log(self) -> list[tuple[int, Longs]]:
        """Each log id with the numbers of its rows, ascending."""
        return list(rows_of_logs(self.log_id))

    @cached_property
    def next_offset(self) -> Longs:
        """The offset of the key's next record; NEVER: there is none."""
        return self._next_of(self.is_data)

    @cached_property
    def next_mapped_offset(self) -> Longs:
        """As ``next_offset``, of records that no round can have overlooked."""
        if not self.is_perhaps_overlooked.any():
            return self.next_offset
        return self._next_of(self._is_mapped)

    @cached_property
    def latest_offset(self) -> Longs:
        """The offset of the key's last record."""
        return self.offset[self._last_of_groups(np.flatnonzero(self.is_data))]

    @cached_property
    def kept_offset(self) -> Longs:
        """The offset of the key's last record that AFTER has there, too; NOTHING_KEPT: AFTER has none."""
        return np.where(self._last_kept < 0, NOTHING_KEPT, self.offset[self._last_kept])

    @cached_property
    def kept_is_tombstone(self) -> Flags:
        """Whether AFTER's record at ``kept_offset`` is a tombstone."""
        return (self._last_kept >= 0) & self.after_is_tombstone[self._last_kept]

    def last_of_key(self, chosen: Flags) -> Longs:
        """The number of the key's last chosen row; NOWHERE: none is chosen."""
        return self._last_of_groups(np.flatnonzero(chosen))

    def superseding_offset(self, first_dirty_offset: Longs) -> Longs:
        """The offset of the key's first later record from the log's first dirty offset on; NEVER: none."""
        return self._first_from(self.is_data, self.next_offset, first_dirty_offset)

    def mapped_superseding_offset(self, first_dirty_offset: Longs) -> Longs:
        """As ``superseding_offset``, of records that no round can have overlooked."""
        return self._first_from(self._is_mapped, self.next_mapped_offset, first_dirty_offset)

    @property
    def _is_mapped(self) -> Flags:
        return self.is_data & ~self.is_perhaps_overlooked

    @cached_property
    def _last_kept(self) -> Longs:
        return self._last_of_groups(np.flatnonzero(self.is_data & self.in_after))

    @property
    def _groups(self) -> int:
        return int(self.group[-1]) + 1 if len(self) else 0

    def _next_of(self, chosen: Flags) -> Longs:
        """For every row the offset of the next chosen row of its group, NEVER: there is none."""
        count = len(self)
        chosen_at = np.where(chosen, np.arange(count), count)
        at = np.append(np.minimum.accumulate(chosen_at[::-1])[::-1][1:], count)[:count]
        is_of_key = self.is_data & (np.append(self.group, -1)[at] == self.group)
        return np.where(is_of_key, np.append(self.offset, NEVER)[at], NEVER)

    def _first_from(self, chosen: Flags, next_offset: Longs, first_dirty_offset: Longs) -> Longs:
        """As ``superseding_offset``, of chosen records only; ``next_offset``: that of the next chosen one."""
        dirty = np.flatnonzero(chosen & (self.offset >= first_dirty_offset))
        _, firsts = np.unique(self.group[dirty], return_index=True)
        first_of_group = np.full(self._groups, NEVER)
        first_of_group[self.group[dirty[firsts]]] = self.offset[dirty[firsts]]
        later = np.where(next_offset >= first_dirty_offset, next_offset, first_of_group[self.group])
        return np.where(next_offset == NEVER, NEVER, later)

    def _last_of_groups(self, chosen: Longs) -> Longs:
        """For every row the number of the last chosen row of its group, NOWHERE: none is chosen."""
        last = np.full(self._groups, NOWHERE)
        last[self.group[chosen]] = chosen  # ascending: the last one stays
        return last[self.group]

    def key(self, row: int) -> bytes | None:
        """The key of a row."""
        table, at = (
            (self.before, self.before_at) if self.before_at[row] != NOWHERE else (self.after, self.after_at)
        )
        key: bytes | None = table["key"][int(at[row])].as_py()
        return key


def key_rows(
    before: pa.Table, after: pa.Table, compared: frozenset[str], lookups: Mapping[int, Lookup]
) -> KeyRows:
    """Pair two tables of index rows (INDEX_SCHEMA, EXTRA) that hold no offset of a log twice.

    ``compared`` are columns of CONTENT. ``lookups`` say by log id which of BEFORE's records were aborted or
    perhaps overlooked, and their delete horizons.
    """
    both = pa.concat_tables([before, after])
    codes = key_numbers(both["key"])
    log_id, offset = both["log_id"].to_numpy(), both["offset"].to_numpy()
    group = _numbers(log_id, codes)
    is_after = np.arange(both.num_rows) >= before.num_rows
    order = order_by_group(group, offset, is_after)
    first, partner = _paired(order, group[order], offset[order])
    in_before = first < before.num_rows
    after_at = np.where(in_before, partner, first)
    after_at = np.where(after_at == NOWHERE, NOWHERE, after_at - before.num_rows)
    before_at = np.where(in_before, first, NOWHERE)
    is_aborted, is_perhaps_overlooked, horizon_ms = _looked_up(both, lookups)
    in_group = group[first]
    return KeyRows(
        before,
        after,
        before_at,
        after_at,
        np.cumsum(np.diff(in_group, prepend=in_group[:1]) != 0),
        log_id[first],
        offset[first],
        both["timestamp_ms"].to_numpy()[first],
        both["is_tombstone"].to_numpy()[first],
        both["is_control"].to_numpy()[first],
        is_aborted[first],
        is_perhaps_overlooked[first],
        codes[first] < 0,
        horizon_ms[first],
        _differences(both, first, partner, compared),
    )


def _paired(order: Longs, group: Longs, offset: Longs) -> tuple[Longs, Longs]:
    """The first row of each place, and the row of AFTER directly after it at the same place (NOWHERE: none).

    ``group`` and ``offset`` are those of the rows in ``order``.
    """
    is_second = np.zeros(len(order), np.bool_)
    is_second[1:] = (np.diff(group) == 0) & (np.diff(offset) == 0)
    partner = np.full(len(order), NOWHERE)
    has_second = np.concatenate((is_second[1:], np.zeros(min(1, len(order)), np.bool_)))
    partner[has_second] = order[is_second]
    return order[~is_second], partner[~is_second]


def _differences(both: pa.Table, first: Longs, partner: Longs, compared: frozenset[str]) -> dict[str, Flags]:
    """``KeyRows.differs``, from the numbers of paired rows; their keys are equal."""
    paired = np.flatnonzero(partner != NOWHERE)
    differs = {}
    for name in CONTENT:
        if name == "key" or name not in compared:
            continue
        words = content_words(both, name)
        differs[name] = np.zeros(len(first), np.bool_)
        differs[name][paired] = (words[first[paired]] != words[partner[paired]]).any(axis=1)
    return differs


def _looked_up(rows: pa.Table, lookups: Mapping[int, Lookup]) -> tuple[Flags, Flags, Longs]:
    """Whether each record was aborted, or is perhaps overlooked, and its delete horizon."""
    if not rows.num_rows or not any(lookup.tells_single_records for lookup in lookups.values()):
        none = np.zeros(rows.num_rows, np.bool_)
        return none, none, np.full(rows.num_rows, UNKNOWN_HORIZON_MS)
    (whole,) = rows.select(["log_id", "offset", "timestamp_ms"]).combine_chunks().to_batches()
    batch = look_up(whole, lookups)
    return (
        flags_of(batch.column("is_aborted")),
        flags_of(batch.column("is_overlooked")),
        batch.column("delete_horizon_ms").to_numpy(),
    )


def _numbers(log_ids: Longs, codes: Longs) -> Longs:
    """A number for each (log, key)."""
    ids, logs = ranked(log_ids)
    numbers: Longs = (codes + 1) * len(ids) + logs
    return numbers
