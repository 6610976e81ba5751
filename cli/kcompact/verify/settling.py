"""Keys of a pair of dumps that need no judgement, in numpy: the rules need only see the others.

A key (within its log) is settled if BEFORE has data records of it, AFTER exactly the last of them, unchanged,
and each of the others went because the next one replaces it. Nothing is found about such a key; all that is
told of it are figures, which are the same as the rules of ``removal`` come to.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa

from kcompact.dumps.contents import as_words
from kcompact.log.lookups import Lookup, look_up, rows_of_logs
from kcompact.log.verdicts import UNKNOWN_HORIZON_MS

Longs = np.ndarray
NEVER = -(2**63)
ALWAYS = 2**63 - 1


@dataclass(frozen=True)
class Replaceable:
    """Of one log: only records at offsets in [``first_offset``, ``end_offset``) can replace others."""

    first_offset: int = NEVER
    end_offset: int = ALWAYS


@dataclass(frozen=True)
class Rules:
    """What settling needs to know; travels to the workers.

    Logs that ``replaceable`` lacks are not settled. ``compared`` are columns of ``pair.CONTENT``.
    ``keeps_tombstones``: whether a key with a kept tombstone can be settled.
    """

    replaceable: Mapping[int, Replaceable]
    lookups: Mapping[int, Lookup]
    compared: frozenset[str]
    keeps_tombstones: bool = True


@dataclass(frozen=True)
class SettledLog:
    """Figures of one log's settled keys; None where there is no such record.

    ``needed_end_offset``: the smallest cleaned end that lets their values go. ``tombstones`` are rows of
    (offset, next_offset, timestamp_ms, delete_horizon_ms): removed ones that may need a larger end.
    """

    records_before: int
    records_after: int
    first_offset: int
    last_offset: int
    after_first_offset: int
    after_last_offset: int
    first_kept_tombstone: int | None
    needed_end_offset: int | None
    tombstones: list[list[int]]

    def plus(self, other: "SettledLog") -> "SettledLog":
        """Of the keys of both."""
        kept = [one.first_kept_tombstone for one in (self, other) if one.first_kept_tombstone is not None]
        needed = [one.needed_end_offset for one in (self, other) if one.needed_end_offset is not None]
        return SettledLog(
            records_before=self.records_before + other.records_before,
            records_after=self.records_after + other.records_after,
            first_offset=min(self.first_offset, other.first_offset),
            last_offset=max(self.last_offset, other.last_offset),
            after_first_offset=min(self.after_first_offset, other.after_first_offset),
            after_last_offset=max(self.after_last_offset, other.after_last_offset),
            first_kept_tombstone=min(kept, default=None),
            needed_end_offset=max(needed, default=None),
            tombstones=self.tombstones + other.tombstones,
        )

    @property
    def removed(self) -> int:
        """Records that went because another one replaces them."""
        return self.records_before - self.records_after


NONE_SETTLED: Mapping[int, SettledLog] = MappingProxyType({})


@dataclass(frozen=True)
class Settled:
    """Of some keys with all their records: which rows are left to be judged, and figures of the others.

    ``arrivals`` are (log_id, offset) of AFTER's records that BEFORE does not have there under their key.
    """

    rest_before: np.ndarray
    rest_after: np.ndarray
    logs: dict[int, SettledLog]
    arrivals: np.ndarray


def settle(before: pa.Table, after: pa.Table, rules: Rules, arrivals: np.ndarray | None = None) -> Settled:
    """Settle the keys of two tables of index rows, which hold no offset of a log twice.

    ``arrivals``, once they are known of all keys: a key that BEFORE has at such a place is not settled.
    """
    rows = _Rows.of(before, after, rules)
    keys = _Keys(rows)
    is_settled = keys.are_settled(rules)
    if arrivals is not None and len(arrivals):
        is_settled[np.unique(rows.group[_stand_at(rows, arrivals)])] = False
    settled = is_settled[rows.group]
    is_rest = np.empty(len(settled), bool)
    is_rest[rows.order] = ~settled
    split = before.num_rows
    return Settled(
        is_rest[:split], is_rest[split:], _figures(rows, keys, settled), _places(rows, keys.is_arrival)
    )


@dataclass(frozen=True)
class _Rows:
    """Both dumps' rows by log, key, offset; at one offset BEFORE's comes first. ``order``: whence."""

    order: Longs
    group: Longs  # a number per log and key, ascending from 0
    log_id: Longs
    offset: Longs
    timestamp_ms: Longs
    is_after: np.ndarray
    is_tombstone: np.ndarray
    is_odd: np.ndarray  # no key, a marker, aborted, or of a log that is not settled
    horizon_ms: Longs
    content: Longs  # (rows, words) that are equal where the content is, the timestamp apart

    @classmethod
    def of(cls, before: pa.Table, after: pa.Table, rules: Rules) -> "_Rows":
        both = pa.concat_tables([before, after])
        columns = _looked_up(both, rules)
        codes = _codes(both["key"])
        group = _numbers(columns["log_id"], codes)
        is_after = np.arange(both.num_rows) >= before.num_rows
        order = np.lexsort((is_after, columns["offset"], group))
        known = np.isin(columns["log_id"], list(rules.replaceable))
        odd = (codes < 0) | columns["is_control"] | columns["is_aborted"] | ~known
        hashes = [n for n in ("value_hash", "headers_hash") if n in rules.compared]
        content = [as_words(both[name]) for name in hashes]
        if "timestamp_ms" in rules.compared:
            content.append(columns["timestamp_ms"][:, None])
        group = group[order]
        return cls(
            order,
            np.cumsum(np.diff(group, prepend=group[:1]) != 0),
            columns["log_id"][order],
            columns["offset"][order],
            columns["timestamp_ms"][order],
            is_after[order],
            columns["is_tombstone"][order],
            odd[order],
            columns["delete_horizon_ms"][order],
            np.concatenate([part.view(np.int64) for part in content], axis=1)[order],
        )


class _Keys:
    """What the rows of each key (and log) have in common."""

    def __init__(self, rows: _Rows) -> None:
        self._rows = rows
        count = len(rows.group)
        self.starts = np.flatnonzero(np.diff(rows.group, prepend=-1))
        self.keys = len(self.starts)
        here, behind = slice(None, -1), slice(1, None)
        is_pair = np.zeros(count, bool)  # a row of BEFORE, followed by AFTER's of the same place
        is_pair[here] = (rows.group[here] == rows.group[behind]) & (rows.offset[here] == rows.offset[behind])
        self.is_kept = is_pair
        self.is_arrival = rows.is_after.copy()
        self.is_arrival[behind] &= ~is_pair[here]
        changed = np.zeros(count, bool)
        changed[here] = is_pair[here] & (rows.content[here] != rows.content[behind]).any(axis=1)
        self._changed = changed
        self.next_offset = np.zeros(count, np.int64)  # of a record of BEFORE that is not the key's last
        of_before = np.flatnonzero(~rows.is_after)
        has_next = np.zeros(count, bool)
        same = rows.group[of_before[:-1]] == rows.group[of_before[1:]]
        self.next_offset[of_before[:-1]] = rows.offset[of_before[1:]]
        has_next[of_before[:-1]] = same
        self.has_next = has_next

    def are_settled(self, rules: Rules) -> np.ndarray:
        """Whether each key is."""
        rows = self._rows
        is_before = ~rows.is_after
        bounds = _bounds(rows.log_id, rules)
        replaced = (self.next_offset >= bounds[0]) & (self.next_offset < bounds[1])
        right = np.where(self.has_next, ~self.is_kept & replaced, self.is_kept)
        right = np.where(is_before, right & ~self._changed, ~self.is_arrival) & ~rows.is_odd
        if not rules.keeps_tombstones:
            right &= self.has_next | ~rows.is_tombstone
        wrong = np.bincount(rows.group[~right], minlength=self.keys)
        found: np.ndarray = wrong == 0
        return found


def _bounds(log_ids: Longs, rules: Rules) -> tuple[Longs, Longs]:
    known, codes = np.unique(log_ids, return_inverse=True)
    found = [rules.replaceable.get(log_id, Replaceable()) for log_id in known.tolist()]
    firsts = np.array([one.first_offset for one in found], np.int64)
    ends = np.array([one.end_offset for one in found], np.int64)
    return firsts[codes], ends[codes]


def _looked_up(rows: pa.Table, rules: Rules) -> dict[str, Any]:
    """Columns by name, and what is told about single records: of AFTER's it is not asked."""
    names = ["log_id", "offset", "timestamp_ms", "is_tombstone", "is_control"]
    columns = {name: rows[name].to_numpy() for name in names}
    told = any(one.tells_single_records for one in rules.lookups.values())
    whole = rows.select(names).combine_chunks().to_batches() if told else []
    found = look_up(whole[0], rules.lookups) if whole else None
    for name, nothing in (("is_aborted", False), ("delete_horizon_ms", UNKNOWN_HORIZON_MS)):
        there = None if found is None else found.column(name).to_numpy(zero_copy_only=False)
        columns[name] = np.full(rows.num_rows, nothing) if there is None else there
    return columns


def _codes(keys: pa.ChunkedArray) -> Longs:
    """A number for each key, -1 for none."""
    array = keys.combine_chunks()
    array = array if isinstance(array, pa.Array) else pa.concat_arrays(array.chunks)
    codes: Longs = array.dictionary_encode().indices.fill_null(-1).to_numpy().astype(np.int64)
    return codes


def _numbers(log_ids: Longs, codes: Longs) -> Longs:
    """A number for each log and key."""
    known, logs = np.unique(log_ids, return_inverse=True)
    numbers: Longs = (codes + 1) * len(known) + logs
    return numbers


def _places(rows: _Rows, chosen: np.ndarray) -> np.ndarray:
    return np.stack([rows.log_id[chosen], rows.offset[chosen]], axis=1)


def _stand_at(rows: _Rows, places: np.ndarray) -> np.ndarray:
    """Which rows of BEFORE stand at one of the places."""
    found = np.zeros(len(rows.offset), bool)
    wanted = {log_id: places[at, 1] for log_id, at in rows_of_logs(places[:, 0])}
    for log_id, at in rows_of_logs(rows.log_id):
        if log_id in wanted:
            found[at] = np.isin(rows.offset[at], wanted[log_id])
    return found & ~rows.is_after


def _figures(rows: _Rows, keys: _Keys, settled: np.ndarray) -> dict[int, SettledLog]:
    """By log."""
    chosen = np.flatnonzero(settled)
    return {log_id: _figures_of(rows, keys, chosen[at]) for log_id, at in rows_of_logs(rows.log_id[chosen])}


def _figures_of(rows: _Rows, keys: _Keys, mine: Longs) -> SettledLog:
    is_after = rows.is_after[mine]
    before, after = mine[~is_after], mine[is_after]
    is_removed = keys.has_next[before]
    kept, removed = before[~is_removed], before[is_removed]
    kept = kept[rows.is_tombstone[kept] & (rows.horizon_ms[kept] == UNKNOWN_HORIZON_MS)]
    is_tombstone = rows.is_tombstone[removed]
    needed = int(keys.next_offset[removed[~is_tombstone]].max(initial=NEVER)) + 1
    late = removed[is_tombstone]
    late = late[keys.next_offset[late] + 1 > needed]
    tombstones = [rows.offset[late], keys.next_offset[late], rows.timestamp_ms[late], rows.horizon_ms[late]]
    return SettledLog(
        records_before=len(before),
        records_after=len(after),
        first_offset=int(rows.offset[before].min()),
        last_offset=int(rows.offset[before].max()),
        after_first_offset=int(rows.offset[after].min()),
        after_last_offset=int(rows.offset[after].max()),
        first_kept_tombstone=int(rows.offset[kept].min()) if len(kept) else None,
        needed_end_offset=needed if needed > NEVER + 1 else None,
        tombstones=np.stack(tombstones, axis=1).tolist(),
    )
