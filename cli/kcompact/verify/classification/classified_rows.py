"""Every record classified once: whether it is lost, and why it may be gone."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kcompact.rules.verdicts import UNKNOWN_HORIZON_MS
from kcompact.verify.classification.bounds import Bounds
from kcompact.verify.classification.cleaned_end import Reading
from kcompact.verify.classification.log_facts import LogFacts
from kcompact.verify.rows.key_history import NEVER, NOTHING_KEPT, History
from kcompact.verify.rows.key_rows import BEFORE_ALL, BEHIND_ALL, Flags, KeyRows, Longs

SUPERSEDED = "superseded"
KEYLESS = "keyless"
ABORTED = "aborted"
MARKER = "marker"
EXPIRED_TOMBSTONE = "expired_tombstone"
ASSUMED_EXPIRED = "tombstone_assumed_expired"
EXPIRED = "expired"
BELOW_LOG_START = "below_log_start"
LOST = "lost"
REASONS = (
    LOST,
    ABORTED,
    MARKER,
    SUPERSEDED,
    KEYLESS,
    BELOW_LOG_START,
    EXPIRED,
    ASSUMED_EXPIRED,
    EXPIRED_TOMBSTONE,
)
"""Why a record may be missing; the first that applies counts, LOST if none does."""


@dataclass(frozen=True)
class KnownLog:
    """The facts about a log that classifying its records needs, as numbers. Picklable.

    Where nothing is known it is a number that changes nothing: BEFORE_ALL or BEHIND_ALL.
    """

    is_end_given: int
    is_reading_certain: int
    is_bound_estimated: int
    limit_offset: int
    uncleanable_offset: int
    checkpoint_offset: int
    log_start_offset: int
    before_end_offset: int
    front_end_offset: int  # retention has taken nothing from this offset on
    first_kept_tombstone: int
    now_ms: int
    tombstones_due_ms: int
    records_expired_ms: int
    expired_end_offset: int  # below, retention.bytes may have taken records
    drops_tombstones: int
    stamps_come_first: int  # tombstones without a delete horizon outlive the cleaning
    stamps_ascend: int  # of two of them, the earlier one is due first
    certain_from_offset: int  # no record from this offset on can be unknown aborted data
    tells_cleanup_policy: int
    tells_delete_retention: int


def known_log(facts: LogFacts, reading: Reading, bounds: Bounds, expired_end_offset: int) -> KnownLog:
    """Everything together."""
    policy = bounds.policy

    def number(value: int | None, nothing: int) -> int:
        return nothing if value is None else value

    return KnownLog(
        is_end_given=int(reading.is_end_given),
        is_reading_certain=int(reading.is_certain),
        is_bound_estimated=int(bounds.is_bound_estimated),
        limit_offset=number(reading.limit_offset, BEHIND_ALL),
        uncleanable_offset=number(bounds.cleaned_before_offset, BEHIND_ALL),
        checkpoint_offset=number(bounds.checkpoint_offset, BEFORE_ALL),
        log_start_offset=number(bounds.log_start_offset, BEFORE_ALL),
        before_end_offset=number(facts.before_end_offset, 0),
        front_end_offset=bounds.front_end_offset,
        first_kept_tombstone=number(facts.first_kept_tombstone, BEHIND_ALL),
        now_ms=policy.now_ms,
        tombstones_due_ms=policy.now_ms - policy.delete_retention_ms,
        records_expired_ms=number(policy.retained_from_ms, BEFORE_ALL),
        expired_end_offset=expired_end_offset,
        drops_tombstones=int(policy.drop_tombstones),
        stamps_come_first=int(bounds.stamps_come_first),
        stamps_ascend=int(bounds.stamps_ascend),
        certain_from_offset=bounds.certain_from_offset,
        tells_cleanup_policy=int("cleanup.policy" in bounds.knowledge.configs),
        tells_delete_retention=int("delete.retention.ms" in bounds.knowledge.configs),
    )


_OF_NO_LOG = known_log(
    LogFacts(0), Reading(is_end_given=False, limit_offset=None), Bounds(), expired_end_offset=BEFORE_ALL
)


class ClassifiedRows:
    """Columns beside ``rows`` (``KeyRows``) and ``history``; those of its log are named as in ``KnownLog``.

    ``is_taken``: a record of BEFORE at whose place AFTER holds one of another key.
    """

    def __init__(
        self, rows: KeyRows, history: History, is_taken: Flags, known_logs: Mapping[int, KnownLog]
    ) -> None:
        self.rows, self.history, self.is_taken = rows, history, is_taken
        self._known_logs = known_logs
        self.is_gone: Flags = rows.in_before & ~rows.in_after & ~is_taken
        self.arrived: Flags = ~rows.in_before | rows.is_changed
        self.limit_offset = self.of_log("limit_offset")
        self.is_end_given: Flags = self.of_log("is_end_given") > 0
        self.superseding_offset = history.superseding_offset(rows, self.of_log("checkpoint_offset"))
        self.front_end_offset = self.of_log("front_end_offset")

    def of_log(self, name: str) -> Longs:
        """A column of what is known of each record's log."""
        values = {log_id: getattr(log, name) for log_id, log in self._known_logs.items()}
        return self.rows.per_log(values, getattr(_OF_NO_LOG, name))

    @cached_property
    def superseded_at_offset(self) -> Longs:
        """The later record of the same key that lets this one go; NEVER if the cleaned section holds none.

        Where the checkpoint says where cleaning ended, any later record below it does; else (R21) only one at
        or above the first dirty offset, and below whatever bounds every round.
        """
        at = np.where(self.is_end_given, self.history.next_offset, self.superseding_offset)
        return np.where(self.rows.is_data & (at < self.limit_offset), at, NEVER)

    @cached_property
    def is_last_record(self) -> Flags:
        """The last record of its key in BEFORE."""
        return self.rows.is_data & (self.rows.offset == self.history.latest_offset)

    @cached_property
    def is_too_early(self) -> Flags:
        """Whether a tombstone that nothing replaces could not have gone yet (R23, R25, R28, R29).

        With a known horizon, that one counts. Otherwise a round had to set it first, and it cannot be before
        the tombstone's timestamp plus ``delete.retention.ms``.
        """
        rows = self.rows
        by_time = rows.timestamp_ms > self.of_log("tombstones_due_ms")
        by_rounds = self.of_log("stamps_come_first") > 0
        by_horizon = rows.delete_horizon_ms > self.of_log("now_ms")
        is_known = rows.delete_horizon_ms != UNKNOWN_HORIZON_MS
        return (self.of_log("drops_tombstones") == 0) & np.where(is_known, by_horizon, by_time | by_rounds)

    @cached_property
    def is_expired_alone(self) -> Flags:
        """Whether a tombstone without a known horizon went by itself although another one is still there."""
        is_other_there = self.of_log("first_kept_tombstone") != BEHIND_ALL
        is_asked = self.of_log("drops_tombstones") == 0
        return self._is_gone_for(ASSUMED_EXPIRED) & self.is_last_record & is_other_there & is_asked

    @cached_property
    def is_out_of_turn(self) -> Flags:
        """Whether a tombstone went by itself although an earlier one of the log is still there.

        Horizons of one log mostly ascend; of batches that were rewritten at different times they need not.
        """
        return self.is_expired_alone & (self.rows.offset > self.of_log("first_kept_tombstone"))

    @cached_property
    def is_due_tombstone(self) -> Flags:
        """Whether a tombstone may have gone by itself, be it its key's last record or not.

        Its replacement may be above the cleaned end. Where the key's last one went and a value stayed, the
        deletion is undone, and no due date excuses that.
        """
        rows, history = self.rows, self.history
        undone = self.is_last_record & (history.kept_offset != NOTHING_KEPT) & ~history.kept_is_tombstone
        is_tombstone = rows.is_data & rows.is_tombstone
        return is_tombstone & (rows.offset < self.limit_offset) & ~undone & ~self.is_too_early

    @cached_property
    def is_expired(self) -> Flags:
        """Whether retention may have taken a record: only from the front of the log, and only what may go.

        A segment goes when its youngest record is older than ``retention.ms``, so each of its records is; or
        when the log after it is at least ``retention.bytes`` (R53). Segment bounds can only make it go
        later.
        """
        is_front = self.rows.offset < self.front_end_offset
        is_old = self.rows.timestamp_ms < self.of_log("records_expired_ms")
        return is_front & (is_old | (self.rows.offset < self.of_log("expired_end_offset")))

    @cached_property
    def is_below_log_start(self) -> Flags:
        """Whether a record is below the known log start offset."""
        return self.rows.offset < self.of_log("log_start_offset")

    @cached_property
    def reason(self) -> Longs:
        """Position in REASONS of why a record that is gone may be; 0 for those that are not gone, too."""
        rows = self.rows
        is_unstamped = rows.delete_horizon_ms == UNKNOWN_HORIZON_MS
        conditions = {
            ABORTED: rows.is_aborted & (rows.offset < self.of_log("uncleanable_offset")),
            MARKER: rows.is_control,
            SUPERSEDED: self.superseded_at_offset != NEVER,
            KEYLESS: rows.is_keyless & ~rows.is_control & (rows.offset < self.limit_offset),
            BELOW_LOG_START: self.is_below_log_start,
            EXPIRED: self.is_expired,
            ASSUMED_EXPIRED: self.is_due_tombstone & is_unstamped,
            EXPIRED_TOMBSTONE: self.is_due_tombstone,
        }
        reasons = np.select(list(conditions.values()), [REASONS.index(name) for name in conditions], 0)
        return np.where(self.is_gone, reasons, 0)

    @cached_property
    def is_lost(self) -> Flags:
        """Gone without a reason."""
        return self.is_gone & (self.reason == 0)

    @cached_property
    def needed_end_offset(self) -> Longs:
        """The smallest cleaned end (exclusive) that lets a record go for its reason; BEFORE_ALL: any."""
        replaced = np.where(self.is_due_tombstone, self.rows.offset, self.superseded_at_offset)
        by_itself = self._is_gone_for(KEYLESS, EXPIRED_TOMBSTONE, ASSUMED_EXPIRED)
        needed = np.where(by_itself, self.rows.offset + 1, BEFORE_ALL)
        needed = np.where(
            self._is_gone_for(SUPERSEDED), np.where(replaced == NEVER, NEVER, replaced + 1), needed
        )
        # What retention may have taken says nothing about compaction.
        return np.where(self.is_expired | self.is_below_log_start, BEFORE_ALL, needed)

    @cached_property
    def doubtful_from_offset(self) -> Longs:
        """A record can be a finding if its log's cleaned end is above this; BEHIND_ALL: it cannot be one.

        What the end does not excuse is doubtful from BEFORE_ALL on.
        """
        rows = self.rows
        out_of_turn = self.is_out_of_turn | (self.is_expired_alone & (self.of_log("stamps_ascend") > 0))
        anyhow = self.arrived | self.is_lost | self.is_taken | out_of_turn
        replaced = np.where(rows.offset < self.history.kept_offset, self.superseded_at_offset, BEHIND_ALL)
        dropped = np.where(rows.is_keyless | rows.is_aborted, rows.offset, BEHIND_ALL)
        survivors = np.where(
            rows.in_after, np.minimum(np.where(rows.is_data, replaced, BEHIND_ALL), dropped), BEHIND_ALL
        )
        return np.where(anyhow, BEFORE_ALL, survivors)

    def _is_gone_for(self, *reasons: str) -> Flags:
        return self.is_gone & np.isin(self.reason, [REASONS.index(reason) for reason in reasons])
