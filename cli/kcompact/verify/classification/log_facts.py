"""Facts about each log that are known before its records are classified."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kcompact.rules.lookups import rows_of_logs
from kcompact.rules.verdicts import UNKNOWN_HORIZON_MS
from kcompact.verify.classification.bounds import Bounds
from kcompact.verify.rows.key_history import NEVER, History
from kcompact.verify.rows.key_rows import BEHIND_ALL, Flags, KeyRows, Longs
from kcompact.verify.rows.unaffected_keys import UnaffectedLog


@dataclass(frozen=True)
class LogFacts:
    """Figures of some of a log's records. Offsets are None where there is no such record; ends exclusive."""

    log_id: int
    records_before: int = 0
    records_after: int = 0
    before_first_offset: int | None = None
    before_end_offset: int | None = None
    after_first_offset: int | None = None
    after_end_offset: int | None = None
    first_kept_tombstone: int | None = None  # of those without a known horizon
    unjustified_from: int = 0  # removals that a round beginning at the checkpoint does not explain
    unjustified_up_to: int = 0  # removals that rounds ending at the checkpoint do not explain

    def plus(self, other: "LogFacts") -> "LogFacts":
        """Of the records of both."""
        return LogFacts(
            self.log_id,
            self.records_before + other.records_before,
            self.records_after + other.records_after,
            _least(self.before_first_offset, other.before_first_offset),
            _greatest(self.before_end_offset, other.before_end_offset),
            _least(self.after_first_offset, other.after_first_offset),
            _greatest(self.after_end_offset, other.after_end_offset),
            _least(self.first_kept_tombstone, other.first_kept_tombstone),
            self.unjustified_from + other.unjustified_from,
            self.unjustified_up_to + other.unjustified_up_to,
        )


def facts_of(
    rows: KeyRows, history: History, is_taken: Flags, bounds: Mapping[int, Bounds]
) -> dict[int, LogFacts]:
    """By log id. ``is_taken``: AFTER holds a record of another key at the place of this one of BEFORE."""
    checkpoints = {i: b.checkpoint_offset for i, b in bounds.items() if b.checkpoint_offset is not None}
    limits = {i: b.cleaned_before_offset for i, b in bounds.items() if b.cleaned_before_offset is not None}
    gone = rows.in_before & ~rows.in_after & ~is_taken
    unexplained = _unexplained(rows, history, rows.per_log(checkpoints, -1), rows.per_log(limits, BEHIND_ALL))
    kept_tombstone = (
        rows.in_after & rows.is_data & rows.is_tombstone & (rows.delete_horizon_ms == UNKNOWN_HORIZON_MS)
    )
    return {
        log_id: LogFacts(
            log_id,
            int(rows.in_before[at].sum()),
            int(rows.in_after[at].sum()),
            *_span(rows.offset[at[rows.in_before[at]]]),
            *_span(rows.offset[at[rows.in_after[at]]]),
            _span(rows.offset[at[kept_tombstone[at]]])[0],
            int((gone & unexplained[0])[at].sum()),
            int((gone & unexplained[1])[at].sum()),
        )
        for log_id, at in rows_of_logs(rows.log_id)
    }


def all_facts(
    parts: Iterable[Mapping[int, LogFacts]], unaffected: Mapping[int, UnaffectedLog]
) -> dict[int, LogFacts]:
    """The facts of whole logs: of the rows that were left to be classified, and of the unaffected keys."""
    by_log: dict[int, LogFacts] = {}
    for part in (*parts, {log_id: _of_unaffected(log_id, log) for log_id, log in unaffected.items()}):
        for log_id, facts in part.items():
            by_log[log_id] = by_log[log_id].plus(facts) if log_id in by_log else facts
    return by_log


def _of_unaffected(log_id: int, log: UnaffectedLog) -> LogFacts:
    return LogFacts(
        log_id,
        log.records_before,
        log.records_after,
        log.first_offset,
        log.last_offset + 1,
        log.after_first_offset,
        log.after_last_offset + 1,
        log.first_kept_tombstone,
    )


def _unexplained(rows: KeyRows, history: History, checkpoint: Longs, limit: Longs) -> tuple[Flags, Flags]:
    """Removals that a round from the checkpoint (-1: none) cannot explain, and that rounds up to it cannot.

    The first: a value that nothing from the checkpoint on replaces; a tombstone may be gone because it was
    due. The second: a record at or above the checkpoint, or a value that nothing below it replaces.
    """
    dirty = history.superseding_offset(rows, checkpoint)
    has_next = rows.is_data & (history.next_offset != NEVER)
    from_it = has_next & ~rows.is_tombstone & ~(dirty < limit)
    replaced_above = has_next & ~rows.is_tombstone & (history.next_offset >= checkpoint)
    is_cleaned = ~rows.is_control & ~rows.is_aborted  # those go beyond the end as well (R17)
    up_to_it = (checkpoint >= 0) & is_cleaned & ((rows.offset >= checkpoint) | replaced_above)
    return from_it, up_to_it


def _span(offsets: Longs) -> tuple[int | None, int | None]:
    """The first offset and the one after the last."""
    return (int(offsets.min()), int(offsets.max()) + 1) if len(offsets) else (None, None)


def _least(*offsets: int | None) -> int | None:
    return min((offset for offset in offsets if offset is not None), default=None)


def _greatest(*offsets: int | None) -> int | None:
    return max((offset for offset in offsets if offset is not None), default=None)
