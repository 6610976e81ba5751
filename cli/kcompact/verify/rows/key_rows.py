"""Records of both dumps side by side, key by key: one row per log, key and offset, as arrays."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from kcompact.arrays import Flags, Longs, flags_of
from kcompact.dumps.records.record_contents import CONTENT, CONTENT_HASHES, content_words, key_numbers
from kcompact.rules.lookups import Lookup, look_up
from kcompact.rules.orders import order_by_group, ranked
from kcompact.rules.verdicts import UNKNOWN_HORIZON_MS

BEFORE_ALL = -(2**63)
BEHIND_ALL = 2**63 - 1
"""Offsets and times below and above all others: bounds that bound nothing."""

NOWHERE = -1
"""The row number of a record that a dump does not hold."""

EXTRA = CONTENT_HASHES | {"is_control"}
"""Extra index columns that verification needs."""


@dataclass(frozen=True)
class KeyRows:
    """All records of some keys, ordered by log and key, then offset. Made by ``key_rows``.

    ``group`` numbers log and key from 0. ``before_at`` and ``after_at`` are row numbers in the two tables
    (NOWHERE: this dump holds no such record under this key). ``differs``: by column of CONTENT, whether it is
    not the same in both dumps; only where both hold the record.
    """

    before: pa.Table
    after: pa.Table
    before_at: Longs
    after_at: Longs
    group: Longs
    log_id: Longs
    offset: Longs
    timestamp_ms: Longs  # BEFORE's where it holds the record, else AFTER's; so are the next ones
    is_tombstone: Flags
    is_control: Flags
    is_aborted: Flags
    is_perhaps_overlooked: Flags  # a round may have taken it for aborted while it filled its map
    is_keyless: Flags
    delete_horizon_ms: Longs
    differs: Mapping[str, Flags]

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
        """Whether both dumps hold the record, with a difference."""
        return np.any([np.zeros(len(self), np.bool_), *self.differs.values()], axis=0)

    @cached_property
    def is_data(self) -> Flags:
        """Whether it is a record of BEFORE that takes part in compaction: a key, no marker, not aborted."""
        return self.in_before & ~self.is_keyless & ~self.is_control & ~self.is_aborted

    @cached_property
    def after_is_tombstone(self) -> Flags:
        """AFTER's own; false where it holds no such record."""
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
    """By column, for pairs of row numbers; the key is the same in both."""
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
    """A number for each log and key."""
    ids, logs = ranked(log_ids)
    numbers: Longs = (codes + 1) * len(ids) + logs
    return numbers
