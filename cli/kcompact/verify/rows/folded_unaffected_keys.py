"""Keys that need no classification, found from one row for all values of a key; the other keys are listed.

The rule is that of ``unaffected_keys``, for logs in which nothing known keeps any record from replacing an
earlier one. Only the last two records of a key matter: each earlier one is replaced by a record below the
last one, so that a round that explains what became of the last two explains its removal, too.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kcompact.arrays import Flags, Longs, flags_of
from kcompact.engine.blocks import rows_in
from kcompact.engine.passes.grouping import numbered
from kcompact.engine.shuffle import Block
from kcompact.rules.lookups import rows_of_logs, values_of_logs
from kcompact.rules.verdicts import UNKNOWN_HORIZON_MS
from kcompact.verify.classification.evidence import Evidence
from kcompact.verify.classification.known_log import PairFacts
from kcompact.verify.rows.folding import (
    CONTENT_COLUMNS,
    CONTROLS,
    FOLDED,
    FOLDING,
    KEYLESS,
    TOMBSTONES,
    VALUES,
    tasks_with,
)
from kcompact.verify.rows.key_rows import BEFORE_ALL, BEHIND_ALL
from kcompact.verify.rows.keyed_rows import AFTER
from kcompact.verify.rows.pairs import renamed_logs
from kcompact.verify.rows.unaffected_keys import Rules, UnaffectedLog

_NONE = -1  # no such offset or row
_OF_RECORDS = ("records", "first_offset", "last_offset", "second_offset")


@dataclass(frozen=True)
class FoldedShare:
    """Rows of FOLDED of one receiver: BEFORE's values, one row a key, its other records, and AFTER's."""

    values: pa.Table
    tombstones: pa.Table
    controls: pa.Table
    after: pa.Table
    after_keyless: pa.Table

    @property
    def rows(self) -> pa.Table:
        """All rows with a key, in the order of the fields."""
        return pa.concat_tables([self.values, self.tombstones, self.controls, self.after])


def folded_share(blocks: Sequence[Block], renamed: Mapping[int, int]) -> FoldedShare:
    """The rows in the blocks of one receiver; ``renamed`` as in ``ShareReader``."""
    values, *others = (rows_in(blocks, kind) for kind in (VALUES, TOMBSTONES, CONTROLS, AFTER, KEYLESS))
    tombstones, controls, *after = (pa.Table.from_batches(rows, FOLDED) for rows in others)
    merged = FOLDING.merged(values) if values else pa.Table.from_batches([], FOLDED)
    return FoldedShare(merged, tombstones, controls, *(renamed_logs(rows, renamed) for rows in after))


@dataclass(frozen=True)
class FoldedUnaffected:
    """Figures of unaffected keys by log id, and the other keys.

    ``places`` (log_id, offset) are those of AFTER's records of the other keys, and of its records without a
    key, where BEFORE may hold yet another key. ``tasks`` are the numbers of the tasks of the reading stage
    that have all records of the other keys.
    """

    logs: dict[int, UnaffectedLog]
    keys: pa.Array
    places: Longs
    tasks: frozenset[int] = frozenset()


def find_unaffected_in_blocks(
    blocks: Sequence[Block], renamed: Mapping[int, int], rules: Rules, affected_keys: pa.Array
) -> FoldedUnaffected:
    """As ``find_unaffected_folded``, of the blocks of one receiver; ``renamed`` as in ``ShareReader``."""
    unaffected = find_unaffected_folded(folded_share(blocks, renamed), rules, affected_keys)
    return replace(unaffected, tasks=frozenset(tasks_with(blocks, unaffected.keys)))


def find_unaffected_folded(share: FoldedShare, rules: Rules, affected_keys: pa.Array) -> FoldedUnaffected:
    """Split the keys of one share into unaffected ones and the others.

    Keys in ``affected_keys`` are never unaffected. A key is unaffected in all logs that have it, or in none.
    Requires ``rules.lookups`` that tell nothing about single records. A log with a first offset in
    ``rules.replaceable`` has no unaffected keys.
    """
    rows = share.rows
    if not rows.num_rows:
        return FoldedUnaffected({}, pa.array([], pa.binary()), _places_of(share.after_keyless))
    keys = rows["key"].combine_chunks()
    keys = keys if isinstance(keys, pa.Array) else pa.concat_arrays(keys.chunks)
    log_ids = rows["log_id"].to_numpy()
    histories = _histories(share, rows, numbered(keys, log_ids), log_ids)
    number_of_key = keys.dictionary_encode().indices.to_numpy()
    is_left = np.zeros(int(number_of_key.max()) + 1, np.bool_)
    is_left[number_of_key[histories.some_row[~histories.are_right(rules)]]] = True
    if len(affected_keys):
        is_left[number_of_key[flags_of(pc.is_in(keys, affected_keys))]] = True
    is_unaffected = ~is_left[number_of_key[histories.some_row]]
    first_row = np.empty(len(is_left), np.int64)
    first_row[number_of_key[::-1]] = np.arange(len(number_of_key))[::-1]
    in_after = np.arange(len(log_ids)) >= len(log_ids) - share.after.num_rows
    is_of_left = is_left[number_of_key]
    left_after = rows.filter(pa.array(in_after & is_of_left))
    places = _places_of(pa.concat_tables([left_after, share.after_keyless]))
    return FoldedUnaffected(
        histories.figures(is_unaffected, rules),
        keys.take(pa.array(first_row[is_left])),
        places[~_are_known(places, rows.filter(pa.array(~in_after & is_of_left)))],
    )


def _places_of(rows: pa.Table, column: str = "last_offset") -> Longs:
    return np.stack([rows["log_id"].to_numpy(), rows[column].to_numpy()], axis=1)


def _are_known(places: Longs, rows: pa.Table) -> Flags:
    """Whether each place is that of a record of BEFORE whose offset ``rows`` name."""
    columns = ("first_offset", "second_offset", "last_offset")
    known_places = np.concatenate([_places_of(rows, column) for column in columns])
    known_offsets = {log_id: known_places[at, 1] for log_id, at in rows_of_logs(known_places[:, 0])}
    flags = np.zeros(len(places), np.bool_)
    for log_id, at in rows_of_logs(places[:, 0]):
        if log_id in known_offsets:
            flags[at] = np.isin(places[at, 1], known_offsets[log_id])
    return flags


@dataclass(frozen=True)
class _Histories:
    """Columns with one element per (log, key): numbers of ``rows``, and offsets; _NONE where there is none.

    ``last_value_offset`` and ``last_tombstone_offset`` are those of the last value and the last tombstone
    that a later record replaces.
    """

    rows: pa.Table
    log_id: Longs
    some_row: Longs
    records: Longs
    first_offset: Longs
    last_offset: Longs
    last_row: Longs
    last_is_tombstone: Flags
    last_value_offset: Longs
    last_tombstone_offset: Longs
    last_tombstone_row: Longs
    has_control: Flags
    records_after: Longs
    after_row: Longs

    @property
    def previous_offset(self) -> Longs:
        """The offset of the record before the last one."""
        offsets: Longs = np.maximum(self.last_value_offset, self.last_tombstone_offset)
        return offsets

    def are_right(self, rules: Rules) -> Flags:
        """Whether AFTER holds only the last record, unchanged, and that one may replace the others."""
        ends = {i: r.end_offset for i, r in rules.replaceable.items() if r.first_offset == BEFORE_ALL}
        end = values_of_logs(self.log_id, ends, BEFORE_ALL)
        right = (self.records > 0) & (self.records_after == 1) & ~self.has_control
        right &= np.isin(self.log_id, list(ends)) & ((self.records == 1) | (self.last_offset < end))
        if not rules.keeps_tombstones:
            right &= ~self.last_is_tombstone
        chosen = np.flatnonzero(right)
        compared = [name for part in rules.compared - {"key"} for name in CONTENT_COLUMNS[part]]
        for name in ["last_offset", *compared]:
            column = self.rows[name].to_numpy()
            right[chosen] &= column[self.last_row[chosen]] == column[self.after_row[chosen]]
        flags: Flags = right
        return flags

    def figures(self, is_unaffected: Flags, rules: Rules) -> dict[int, UnaffectedLog]:
        """The figures of unaffected keys, by log id."""
        chosen = np.flatnonzero(is_unaffected)
        return {
            log_id: self._of_log(chosen[at], log_id, rules)
            for log_id, at in rows_of_logs(self.log_id[chosen])
        }

    def _of_log(self, at: Longs, log_id: int, rules: Rules) -> UnaffectedLog:
        last, previous = self.last_offset[at], self.previous_offset[at]
        is_replaced = previous != _NONE
        is_value = is_replaced & (self.last_value_offset[at] == previous)
        needed = int(last[is_value].max(initial=BEFORE_ALL)) + 1
        late = at[is_replaced & ~is_value & (last + 1 > needed)]
        timestamps = self.rows["timestamp_ms"].to_numpy()[self.last_tombstone_row[late]]
        horizons = np.full(len(late), UNKNOWN_HORIZON_MS)
        columns = [self.last_tombstone_offset[late], self.last_offset[late], timestamps, horizons]
        kept_tombstones = last[self.last_is_tombstone[at]]
        facts = PairFacts(
            records_before=int(self.records[at].sum()),
            records_after=len(at),
            before_first_offset=int(self.first_offset[at].min()),
            before_end_offset=int(last.max()) + 1,
            first_kept_tombstone=int(kept_tombstones.min(initial=BEHIND_ALL)),
        )
        evidence = self._evidence(at, log_id, rules)
        return UnaffectedLog(facts, needed, np.stack(columns, axis=1).tolist(), evidence)

    def _evidence(self, at: Longs, log_id: int, rules: Rules) -> Evidence:
        """Replaced values prove what was mapped, and all removed records which segments were rewritten."""
        at_least = max(rules.cleaned_from.get(log_id, BEHIND_ALL), rules.certain_from.get(log_id, BEHIND_ALL))
        last, previous, value = self.last_offset[at], self.previous_offset[at], self.last_value_offset[at]
        is_value_gone = (value != _NONE) & (value >= at_least)
        removed = previous[(previous != _NONE) & (previous >= at_least)]
        rewritten = int(removed.max(initial=BEFORE_ALL))
        end = rules.replaceable[log_id].end_offset
        return Evidence(
            int(last[is_value_gone].min(initial=BEHIND_ALL)),
            max(int(last[is_value_gone & (value == previous)].max(initial=BEFORE_ALL)), rewritten),
            rewritten,
            last_keyed_offset=int(last[last < end].max(initial=BEFORE_ALL)),
        )


def _histories(share: FoldedShare, rows: pa.Table, groups: Longs, log_ids: Longs) -> _Histories:
    """The columns of each (log, key). ``groups`` is its number for each row, from 0 on without gaps."""
    count = int(groups.max()) + 1
    ends = np.cumsum([share.values.num_rows, share.tombstones.num_rows, share.controls.num_rows])
    values, tombstones, controls, after = np.split(np.arange(len(groups)), ends)
    columns = {name: rows[name].to_numpy() for name in _OF_RECORDS}

    def spread(of_rows: Longs, column: Longs, nothing: int = _NONE) -> Longs:
        by_group = np.full(count, nothing)
        by_group[groups[of_rows]] = column
        return by_group

    tombstones, starts, seconds = _by_offset(tombstones, groups, columns["last_offset"])
    value_row, tombstone_row = spread(values, values), spread(tombstones, tombstones)
    value, tombstone = (_offsets_of(at, columns["last_offset"]) for at in (value_row, tombstone_row))
    last_is_tombstone = tombstone > value
    second_row = spread(seconds, seconds)
    second_value = spread(values, columns["second_offset"][values])
    second_tombstone = _offsets_of(second_row, columns["last_offset"])
    some_row = spread(np.arange(len(groups)), np.arange(len(groups)))
    first = np.minimum(
        spread(values, columns["first_offset"][values], BEHIND_ALL),
        spread(starts, columns["first_offset"][starts], BEHIND_ALL),
    )
    return _Histories(
        rows,
        log_ids[some_row],
        some_row,
        spread(values, columns["records"][values], 0) + np.bincount(groups[tombstones], minlength=count),
        first,
        np.maximum(value, tombstone),
        np.where(last_is_tombstone, tombstone_row, value_row),
        last_is_tombstone,
        np.where(last_is_tombstone, value, second_value),
        np.where(last_is_tombstone, second_tombstone, tombstone),
        np.where(last_is_tombstone, second_row, tombstone_row),
        np.bincount(groups[controls], minlength=count) > 0,
        np.bincount(groups[after], minlength=count),
        spread(after, after),
    )


def _by_offset(tombstones: Longs, groups: Longs, offsets: Longs) -> tuple[Longs, Longs, Longs]:
    """Tombstone rows by group and offset; each group's first row; each group's last row but one, if any."""
    ordered = tombstones[np.lexsort((offsets[tombstones], groups[tombstones]))]
    is_first = np.diff(groups[ordered], prepend=_NONE) != 0
    is_last = np.append(is_first[1:], np.ones(min(1, len(ordered)), np.bool_))
    is_second = ~is_last[:-1] & is_last[1:]
    return ordered, ordered[is_first], ordered[:-1][is_second]


def _offsets_of(rows: Longs, offsets: Longs) -> Longs:
    """The offsets of rows; _NONE where there is no row."""
    row_offsets: Longs = np.where(rows == _NONE, _NONE, offsets[rows]) if len(offsets) else rows
    return row_offsets
