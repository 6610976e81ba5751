"""Keys of a pair of dumps that need no classification, found with numpy, so that only the others are judged.

A key (within its log) is unaffected if BEFORE has data records of it, AFTER exactly the last of them,
unchanged, and each of the others may have gone because the next one replaces it. No check can find anything
in such a key. Its rows are dropped; its figures are kept, and equal those that classification would give.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from kcompact.arrays import Flags, Longs
from kcompact.rules.lookups import Lookup, rows_of_logs
from kcompact.rules.verdicts import NEVER, UNKNOWN_HORIZON_MS
from kcompact.verify.classification.bounds import Replaceable
from kcompact.verify.classification.evidence import Evidence
from kcompact.verify.classification.known_log import PairFacts
from kcompact.verify.question import Question
from kcompact.verify.rows.key_rows import BEFORE_ALL, BEHIND_ALL, NOWHERE, KeyRows, key_rows


@dataclass(frozen=True)
class Rules:
    """The inputs of finding unaffected keys, the same for all workers. Picklable.

    Logs that ``replaceable`` lacks have no unaffected keys. ``compared`` are columns of ``key_rows.CONTENT``.
    ``keeps_tombstones``: whether a key with a kept tombstone can be unaffected. Records from ``certain_from``
    on cannot be unknown aborted data; from ``cleaned_from`` on retention and a moved log start took nothing.
    """

    replaceable: Mapping[int, Replaceable]
    lookups: Mapping[int, Lookup]
    compared: frozenset[str]
    keeps_tombstones: bool = True
    certain_from: Mapping[int, int] = field(default_factory=dict)
    cleaned_from: Mapping[int, int] = field(default_factory=dict)


def rules_of(question: Question, lookups: Mapping[int, Lookup]) -> Rules:
    """The rules for a pair of dumps."""
    candidates = {log_id: bounds.replaceable for log_id, bounds in question.bounds.items()}
    replaceable = {log_id: limits for log_id, limits in candidates.items() if limits is not None}
    certain_from = {log_id: bounds.certain_from_offset for log_id, bounds in question.bounds.items()}
    cleaned_from = {log_id: bounds.cleaned_from_offset for log_id, bounds in question.bounds.items()}
    return Rules(
        replaceable, lookups, question.compared, certain_from=certain_from, cleaned_from=cleaned_from
    )


def rules_alone(question: Question, lookups: Mapping[int, Lookup]) -> Rules:
    """The rules for a dump compared with itself: only keys with one record, a value, are unaffected."""
    return Rules(
        dict.fromkeys(question.logs, Replaceable()), lookups, question.compared, keeps_tombstones=False
    )


@dataclass(frozen=True)
class UnaffectedLog:
    """Figures of one log's unaffected keys.

    ``needed_end_offset``: the smallest cleaned end that lets their values go, below all offsets if none went.
    ``tombstones`` are the removed ones that may need a larger end, as rows of (offset, next_offset,
    timestamp_ms, delete_horizon_ms).
    """

    facts: PairFacts
    needed_end_offset: int
    tombstones: list[list[int]]
    evidence: Evidence = field(default_factory=Evidence)

    def plus(self, other: "UnaffectedLog") -> "UnaffectedLog":
        """The figures of the keys of both."""
        return UnaffectedLog(
            self.facts.plus(other.facts),
            max(self.needed_end_offset, other.needed_end_offset),
            self.tombstones + other.tombstones,
            self.evidence.plus(other.evidence),
        )

    @property
    def removed(self) -> int:
        """The number of records that went because another one replaces them."""
        return self.facts.records_before - self.facts.records_after


@dataclass(frozen=True)
class Unaffected:
    """The rows of some keys that are left for classification, as flags, and by log figures of the other keys.

    ``arrivals`` are (log_id, offset) of AFTER's records that BEFORE does not have there under their key;
    ``taken_at`` are the numbers of BEFORE's rows at whose place a record of another key arrived.
    """

    rest_before: Flags
    rest_after: Flags
    logs: dict[int, UnaffectedLog]
    arrivals: Longs
    taken_at: Longs

    def figures_only(self) -> "Unaffected":
        """Without the flags, which only the worker that has the rows needs."""
        nothing = np.zeros(0, np.bool_)
        return replace(self, rest_before=nothing, rest_after=nothing)


def find_unaffected(
    before: pa.Table, after: pa.Table, rules: Rules, arrivals: Longs | None = None
) -> Unaffected:
    """The unaffected keys of two tables of index rows, which hold no offset of a log twice.

    ``arrivals``: those of all keys, once they are known. A key that BEFORE alone has at such a place is not
    unaffected.
    """
    rows = key_rows(before, after, rules.compared, rules.lookups)
    is_right = _are_right(rows, rules)
    is_taken = taken_flags(rows, arrivals)
    of_group = np.bincount(
        rows.group[~is_right | is_taken], minlength=int(rows.group[-1]) + 1 if len(rows) else 0
    )
    is_unaffected = (of_group == 0)[rows.group] if len(rows) else np.zeros(0, np.bool_)
    is_arrival = ~rows.in_before
    return Unaffected(
        _numbers_left(rows.before_at[~is_unaffected], before.num_rows),
        _numbers_left(rows.after_at[~is_unaffected], after.num_rows),
        _figures(rows, is_unaffected, rules),
        np.stack([rows.log_id[is_arrival], rows.offset[is_arrival]], axis=1),
        rows.before_at[is_taken],
    )


def _are_right(rows: KeyRows, rules: Rules) -> Flags:
    """Whether each row is as all rows of an unaffected key are."""
    first, end = _bounds(rows, rules)
    has_next = rows.next_offset != NEVER
    replaced = (rows.next_offset >= first) & (rows.next_offset < end)
    right = np.where(has_next, ~rows.in_after & replaced, rows.in_after & ~rows.is_changed)
    right &= rows.is_data & np.isin(rows.log_id, list(rules.replaceable))
    if not rules.keeps_tombstones:
        right &= has_next | ~rows.is_tombstone
    flags: Flags = right
    return flags


def _bounds(rows: KeyRows, rules: Rules) -> tuple[Longs, Longs]:
    firsts = {log_id: replaceable.first_offset for log_id, replaceable in rules.replaceable.items()}
    ends = {log_id: replaceable.end_offset for log_id, replaceable in rules.replaceable.items()}
    return rows.per_log(firsts, BEFORE_ALL), rows.per_log(ends, BEHIND_ALL)


def _numbers_left(at: Longs, count: int) -> Flags:
    is_left = np.zeros(count, np.bool_)
    is_left[at[at != NOWHERE]] = True
    return is_left


def taken_flags(rows: KeyRows, arrivals: Longs | None) -> Flags:
    """Which of BEFORE's rows are at a place where AFTER's record of another key arrived (``arrivals``)."""
    flags = np.zeros(len(rows), np.bool_)
    if arrivals is None or not len(arrivals):
        return flags
    offsets_by_log = {log_id: arrivals[at, 1] for log_id, at in rows_of_logs(arrivals[:, 0])}
    for log_id, at in rows.by_log:
        if log_id in offsets_by_log:
            flags[at] = np.isin(rows.offset[at], offsets_by_log[log_id])
    return flags & rows.in_before & ~rows.in_after


def _figures(rows: KeyRows, unaffected: Flags, rules: Rules) -> dict[int, UnaffectedLog]:
    """The figures of unaffected rows, by log id."""
    chosen = np.flatnonzero(unaffected)
    return {
        log_id: replace(
            _figures_of(rows, chosen[at]),
            evidence=_evidence_of(rows, chosen[at], rules),
        )
        for log_id, at in rows_of_logs(rows.log_id[chosen])
    }


def _evidence_of(rows: KeyRows, unaffected_rows: Longs, rules: Rules) -> Evidence:
    """The evidence in the removals of one log's unaffected keys."""
    log_id = int(rows.log_id[unaffected_rows[0]])
    in_before = rows.offset[unaffected_rows]
    removed = unaffected_rows[~rows.in_after[unaffected_rows]]
    at_least = max(rules.cleaned_from.get(log_id, BEHIND_ALL), rules.certain_from.get(log_id, BEHIND_ALL))
    removed = removed[rows.offset[removed] >= at_least]
    values = removed[~rows.is_tombstone[removed]]
    return Evidence(
        int(rows.latest_offset[values].min(initial=BEHIND_ALL)),
        max(
            int(rows.next_offset[values].max(initial=BEFORE_ALL)),
            int(rows.offset[removed].max(initial=BEFORE_ALL)),
        ),
        int(rows.offset[removed].max(initial=BEFORE_ALL)),
        last_keyed_offset=int(
            in_before[in_before < rules.replaceable[log_id].end_offset].max(initial=BEFORE_ALL)
        ),
    )


def _figures_of(rows: KeyRows, unaffected_rows: Longs) -> UnaffectedLog:
    is_kept = rows.in_after[unaffected_rows]
    latest, removed = unaffected_rows[is_kept], unaffected_rows[~is_kept]
    tombstones = latest[rows.is_tombstone[latest] & (rows.delete_horizon_ms[latest] == UNKNOWN_HORIZON_MS)]
    is_tombstone = rows.is_tombstone[removed]
    needed = int(rows.next_offset[removed[~is_tombstone]].max(initial=BEFORE_ALL)) + 1
    late = removed[is_tombstone]
    late = late[rows.next_offset[late] + 1 > needed]
    columns = [rows.offset, rows.next_offset, rows.timestamp_ms, rows.delete_horizon_ms]
    facts = PairFacts(
        records_before=len(unaffected_rows),
        records_after=len(latest),
        before_first_offset=int(rows.offset[unaffected_rows].min()),
        before_end_offset=int(rows.offset[unaffected_rows].max()) + 1,
        first_kept_tombstone=int(rows.offset[tombstones].min(initial=BEHIND_ALL)),
    )
    return UnaffectedLog(facts, needed, np.stack([column[late] for column in columns], axis=1).tolist())
