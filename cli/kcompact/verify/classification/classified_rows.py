"""Every record classified once: whether it is lost, and why it may be gone."""

import enum
from collections.abc import Callable, Mapping
from functools import cached_property

import numpy as np

from kcompact.arrays import Flags, Longs
from kcompact.rules.verdicts import NEVER, UNKNOWN_HORIZON_MS
from kcompact.verify.classification.known_log import KnownLog
from kcompact.verify.rows.key_rows import BEFORE_ALL, BEHIND_ALL, NOTHING_KEPT, NOWHERE, KeyRows


class Reason(enum.IntEnum):
    """Why a record may be missing: a guess at the broker's ``Verdict``.

    The first reason that applies counts; LOST if none does.
    """

    LOST = 0
    ABORTED = 1
    MARKER = 2
    SUPERSEDED = 3
    KEYLESS = 4
    BELOW_LOG_START = 5
    EXPIRED = 6
    TOMBSTONE_ASSUMED_EXPIRED = 7  # without a known delete horizon
    EXPIRED_TOMBSTONE = 8

    @property
    def label(self) -> str:
        """The name of the reason in reports."""
        return self.name.lower()


class ClassifiedRows:
    """The classification of ``rows``, as columns beside theirs; ``known_logs`` is by log id.

    ``is_taken``: AFTER holds a record of another key at the place of this record of BEFORE. ``arrived``:
    BEFORE holds no record of this key at this place, or one that differs from AFTER's.
    """

    def __init__(self, rows: KeyRows, is_taken: Flags, known_logs: Mapping[int, KnownLog]) -> None:
        self.rows, self.is_taken, self.known_logs = rows, is_taken, known_logs
        self.is_gone: Flags = rows.in_before & ~rows.in_after & ~is_taken
        self.arrived: Flags = ~rows.in_before | rows.is_changed
        self.limit_offset = self.of_log(lambda log: log.limit_offset)
        self.is_end_given: Flags = self.of_log(lambda log: log.is_end_given) > 0
        self.front_end_offset = self.of_log(lambda log: log.bounds.front_end_offset)
        self.cleaned_from_offset = self.of_log(lambda log: log.bounds.cleaned_from_offset)
        self.first_kept_tombstone = self.of_log(lambda log: log.facts.first_kept_tombstone)
        self.cleanable_end_offset = self.of_log(lambda log: log.bounds.cleanable_end_offset)
        self.superseding_offset = rows.superseding_offset(
            self.of_log(lambda log: _or(log.bounds.checkpoint_offset, BEFORE_ALL))
        )

    def of_log(self, number: Callable[[KnownLog], int]) -> Longs:
        """``number`` of each row's log, as a column."""
        return self.rows.per_log({log_id: number(log) for log_id, log in self.known_logs.items()}, 0)

    @cached_property
    def superseded_at_offset(self) -> Longs:
        """The offset of a later record of the key that lets this one go; NEVER: the cleaned section has none.

        If the checkpoint says where cleaning ended, any later record below it does. Otherwise only one at or
        above the first dirty offset, and below the bound of every round, does (R21).
        """
        at = np.where(self.is_end_given, self.rows.next_offset, self.superseding_offset)
        return np.where(self.rows.is_data & (at < self.limit_offset), at, NEVER)

    @cached_property
    def replaced_at_offset(self) -> Longs:
        """As ``superseded_at_offset``, of later records that no round can have left out of its map."""
        at = self.rows.mapped_superseding_offset(self.of_log(lambda log: log.mapped_from_offset))
        return np.where(self.rows.is_data & (at < self.limit_offset), at, NEVER)

    @cached_property
    def is_last_record(self) -> Flags:
        """Whether it is the last record of its key in BEFORE."""
        return self.rows.is_data & (self.rows.offset == self.rows.latest_offset)

    @cached_property
    def is_outlived(self) -> Flags:
        """Whether an older record of the key stayed, and none below every round's bound replaces this one.

        A round that removed this record because of a later one would have removed the older one, too.
        """
        rows, number = self.rows, np.arange(len(self.rows))
        kept = np.maximum.accumulate(np.where(rows.is_data & rows.in_after, number, NOWHERE))
        has_older = (kept != NOWHERE) & (kept < number) & (rows.group[kept] == rows.group)
        is_last_below = (rows.offset < self.limit_offset) & (rows.next_offset >= self.limit_offset)
        return (self.is_last_record | (rows.is_data & is_last_below)) & has_older

    @cached_property
    def is_too_early(self) -> Flags:
        """Whether a tombstone that nothing replaces could not have gone yet (``Bounds.are_too_early``)."""
        rows, flags = self.rows, np.zeros(len(self.rows), np.bool_)
        for log_id, at in rows.by_log:
            bounds = self.known_logs[log_id].bounds
            flags[at] = bounds.are_too_early(rows.timestamp_ms[at], rows.delete_horizon_ms[at])
        return flags

    @cached_property
    def may_be_aborted(self) -> Flags:
        """Whether a record may be aborted data that nothing given names."""
        rows, flags = self.rows, np.zeros(len(self.rows), np.bool_)
        for log_id, at in rows.by_log:
            flags[at] = self.known_logs[log_id].bounds.may_be_aborted(rows.offset[at])
        return flags

    @cached_property
    def is_expired_alone(self) -> Flags:
        """Whether a tombstone without a known horizon went by itself, though its log still has another."""
        is_other_there = self.first_kept_tombstone != BEHIND_ALL
        is_asked = self.of_log(lambda log: log.bounds.policy.drop_tombstones) == 0
        return self._is_gone_for(Reason.TOMBSTONE_ASSUMED_EXPIRED) & (
            self.is_last_record & is_other_there & is_asked
        )

    @cached_property
    def is_out_of_turn(self) -> Flags:
        """Whether a tombstone went by itself although an earlier one of the log is still there.

        Horizons of one log mostly ascend; of batches that were rewritten at different times they need not.
        """
        return self.is_expired_alone & (self.rows.offset > self.first_kept_tombstone)

    @cached_property
    def is_due_tombstone(self) -> Flags:
        """Whether a tombstone may have gone by itself, as it was due, even if a later record replaces it.

        A later record may be above the cleaned end. If an older record of the key outlived the tombstone
        (``is_outlived``), being due does not explain that, unless both are ``_is_clean_as_given``.
        """
        rows = self.rows
        is_tombstone = rows.is_data & rows.is_tombstone
        may_go = ~self.is_outlived | self._is_clean_as_given
        return is_tombstone & (rows.offset < self.limit_offset) & may_go & ~self.is_too_early

    @cached_property
    def _is_clean_as_given(self) -> Flags:
        """Whether it is below a checkpoint that says where the round began, and batches tell its horizon.

        The round's map holds no record from there, so the round removes tombstones for their horizon alone
        (R21, R23).
        """
        has_batches = self.of_log(lambda log: log.bounds.knowledge.batches_given) > 0
        first_dirty = self.of_log(lambda log: _or(log.bounds.checkpoint_offset, BEFORE_ALL))
        has_horizon = has_batches & (self.rows.delete_horizon_ms != UNKNOWN_HORIZON_MS)
        return has_horizon & ~self.is_end_given & (self.rows.offset < first_dirty)

    @cached_property
    def is_undone_as_given(self) -> Flags:
        """Whether a key's last record, a tombstone that was due, is gone, while an older value stayed.

        A broker leaves this only where both records were clean (``_is_clean_as_given``).
        """
        has_value = (self.rows.kept_offset != NOTHING_KEPT) & ~self.rows.kept_is_tombstone
        return self._is_gone_for(Reason.EXPIRED_TOMBSTONE) & self.is_last_record & has_value

    @cached_property
    def is_expired(self) -> Flags:
        """Whether retention may have taken a record: only from the front of the log, and only what may go.

        A segment goes when its youngest record, and so each of its records, is older than ``retention.ms``,
        or when the log after it is at least ``retention.bytes`` (R53). Where segments end can only make a
        record go later.
        """
        is_front = self.rows.offset < self.front_end_offset
        expired_ms = self.of_log(lambda log: _or(log.bounds.policy.retained_from_ms, BEFORE_ALL))
        expired_end_offset = self.of_log(lambda log: log.expired_end_offset)
        return is_front & ((self.rows.timestamp_ms < expired_ms) | (self.rows.offset < expired_end_offset))

    @cached_property
    def keeps_keyless(self) -> Flags:
        """Whether records without a key were to stay: kcompact can do so, a broker cannot."""
        return self.of_log(lambda log: log.bounds.policy.null_keys == "keep") > 0

    @cached_property
    def is_below_log_start(self) -> Flags:
        """Whether a record is below the known log start offset."""
        return self.rows.offset < self.of_log(lambda log: _or(log.bounds.log_start_offset, BEFORE_ALL))

    @cached_property
    def reason(self) -> Longs:
        """The ``Reason`` why a record may be gone; LOST (0) also for records that are not gone."""
        rows = self.rows
        is_unstamped = rows.delete_horizon_ms == UNKNOWN_HORIZON_MS
        conditions = {
            Reason.ABORTED: rows.is_aborted & (rows.offset < self.cleanable_end_offset),
            Reason.MARKER: rows.is_control,
            Reason.SUPERSEDED: self.superseded_at_offset != NEVER,
            Reason.KEYLESS: rows.is_keyless
            & ~rows.is_control
            & ~self.keeps_keyless
            & (rows.offset < self.limit_offset),
            Reason.BELOW_LOG_START: self.is_below_log_start,
            Reason.EXPIRED: self.is_expired,
            Reason.TOMBSTONE_ASSUMED_EXPIRED: self.is_due_tombstone & is_unstamped,
            Reason.EXPIRED_TOMBSTONE: self.is_due_tombstone,
        }
        reasons = np.select(list(conditions.values()), list(conditions), Reason.LOST)
        return np.where(self.is_gone, reasons, Reason.LOST)

    @cached_property
    def is_lost(self) -> Flags:
        """Whether a record is gone without a reason."""
        return self.is_gone & (self.reason == Reason.LOST)

    @cached_property
    def needed_end_offset(self) -> Longs:
        """The smallest cleaned end (exclusive) that lets a record go for its reason; BEFORE_ALL: any does."""
        offset = self.rows.offset
        by_itself = self._is_gone_for(
            Reason.KEYLESS, Reason.EXPIRED_TOMBSTONE, Reason.TOMBSTONE_ASSUMED_EXPIRED
        )
        is_replaced = self._is_gone_for(Reason.SUPERSEDED)
        replacement = np.where(self.is_due_tombstone, offset, self.superseded_at_offset)
        needed = np.where(by_itself, offset + 1, np.where(is_replaced, replacement + 1, BEFORE_ALL))
        # A record that retention may have taken tells nothing about compaction.
        return np.where(self.is_expired | self.is_below_log_start, BEFORE_ALL, needed)

    @cached_property
    def doubtful_from_offset(self) -> Longs:
        """The record can only be a finding if the log's cleaned end is above this offset.

        BEHIND_ALL: it cannot be one. BEFORE_ALL: it may be one wherever cleaning ended.
        """
        rows = self.rows
        out_of_turn = self.is_out_of_turn | (
            self.is_expired_alone & (self.of_log(lambda log: log.bounds.stamps_ascend) > 0)
        )
        is_another = self.arrived | self.is_taken | rows.is_doubted
        anyhow = is_another | self.is_lost | out_of_turn | self.is_undone_as_given
        replaced = np.where(rows.offset < rows.kept_offset, self.superseded_at_offset, BEHIND_ALL)
        dropped = np.where(rows.is_keyless | rows.is_aborted, rows.offset, BEHIND_ALL)
        survivors = np.where(
            rows.in_after, np.minimum(np.where(rows.is_data, replaced, BEHIND_ALL), dropped), BEHIND_ALL
        )
        return np.where(anyhow, BEFORE_ALL, survivors)

    def _is_gone_for(self, *reasons: Reason) -> Flags:
        return self.is_gone & np.isin(self.reason, reasons)


def _or(value: int | None, nothing: int) -> int:
    return nothing if value is None else value
