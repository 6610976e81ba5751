"""Proofs drawn from removed records: which rounds a log went through for certain (``Evidence``)."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from kcompact.arrays import Flags, Longs
from kcompact.rules.verdicts import UNKNOWN_HORIZON_MS
from kcompact.verify.classification.bounds import Bounds
from kcompact.verify.classification.classified_rows import ClassifiedRows, Reason
from kcompact.verify.classification.evidence import Evidence
from kcompact.verify.classification.known_log import KnownLog
from kcompact.verify.rows.key_rows import BEFORE_ALL, BEHIND_ALL


def evidence_of(classified: ClassifiedRows) -> dict[int, Evidence]:
    """Evidence by log id. Records that retention or an abort may have removed prove nothing."""
    rows, reason = classified.rows, classified.reason
    gone = classified.is_gone & is_cleaned(classified)
    replaced = gone & (reason == Reason.SUPERSEDED)
    stays, stays_if_reached = outliving(classified)
    by_later = is_gone_for_later(classified, stays)
    reached = (
        (replaced & rows.is_tombstone)
        | (gone & (reason == Reason.KEYLESS))
        | (gone & rows.is_data & rows.is_tombstone & (reason != Reason.LOST))
    )
    # If it is open what the checkpoint means, the very next record of the key may have been the replacement.
    is_certain = classified.of_log(lambda log: log.is_reading_certain) > 0
    superseded_at = np.where(is_certain, classified.superseded_at_offset, rows.next_offset)
    mapped = np.where(by_later, superseded_at, np.where(reached, rows.offset, BEFORE_ALL))
    rewritten = gone & (by_later | reached | np.isin(reason, [Reason.ABORTED, Reason.MARKER]))
    if_reached = replaced & stays_if_reached
    is_mappable = rows.is_data & (rows.offset < classified.cleanable_end_offset)
    return {
        log_id: Evidence(
            int(rows.latest_offset[at[by_later[at]]].min(initial=BEHIND_ALL)),
            int(mapped[at].max()),
            _last(rows.offset[at[rewritten[at]]]),
            _last(superseded_at[at[if_reached[at]]]),
            _last(rows.offset[at[is_mappable[at]]]),
        )
        for log_id, at in rows.by_log
    }


def is_gone_for_later(classified: ClassifiedRows, stays: Flags) -> Flags:
    """Whether a record is gone for certain because a later one of its key was in a round's map (R21).

    A replaced tombstone may have gone by itself, unless it is one of those that cannot (``stays``, made by
    ``outliving``).
    """
    replaced = classified.is_gone & is_cleaned(classified) & (classified.reason == Reason.SUPERSEDED)
    return replaced & (~classified.rows.is_tombstone | stays)


def outliving(classified: ClassifiedRows) -> tuple[Flags, Flags]:
    """``outlives_rounds`` of the tombstones that are gone; false of all other rows."""
    rows = classified.rows
    stays, stays_if_reached = np.zeros(len(rows), np.bool_), np.zeros(len(rows), np.bool_)
    is_gone = classified.is_gone & rows.is_data & rows.is_tombstone
    for log_id, of_log in rows.by_log:
        at, log = of_log[is_gone[of_log]], classified.known_logs[log_id]
        columns = rows.offset[at], rows.timestamp_ms[at], rows.delete_horizon_ms[at]
        stays[at], stays_if_reached[at] = outlives_rounds(
            *columns, log.bounds, log.facts.first_kept_tombstone
        )
    return stays, stays_if_reached


def outlives_rounds(
    offset: Longs, timestamp_ms: Longs, horizon_ms: Longs, bounds: Bounds, first_kept_tombstone: int
) -> tuple[Flags, Flags]:
    """Which tombstones of a log cannot have gone by themselves, and which cannot if rounds reached another.

    The other one is ``first_kept_tombstone``, the first without a horizon that stayed (BEHIND_ALL: none did).
    Tombstones that cannot have gone were not due, or not due before the other one, since that is earlier or
    in the same segment, which a round stamps as a whole (R16, R25, R26).
    """
    ends = np.array([base for base, _ in bounds.segments] or [BEFORE_ALL])
    at = np.searchsorted(ends, offset, side="right")
    segment_end = np.where(at < len(ends), ends[np.minimum(at, len(ends) - 1)], offset + 1)
    follows = bounds.stamps_ascend & (horizon_ms == UNKNOWN_HORIZON_MS) & (first_kept_tombstone < segment_end)
    follows &= not bounds.policy.drop_tombstones
    is_early = bounds.are_too_early(timestamp_ms, horizon_ms, for_certain=True)
    return is_early | (follows & (first_kept_tombstone < offset)), follows


def is_cleaned(classified: ClassifiedRows) -> Flags:
    """Whether nothing but cleaning can have taken a record."""
    rows = classified.rows
    is_decided = rows.is_aborted | rows.is_control | ~classified.may_be_aborted
    return (rows.offset >= classified.cleaned_from_offset) & is_decided


def evidence_of_tombstones(tombstones: Sequence[Sequence[int]], log: KnownLog) -> Evidence:
    """The evidence in removed tombstones of unaffected keys; as rows of ``UnaffectedLog.tombstones``."""
    bounds, first_kept = log.bounds, log.facts.first_kept_tombstone
    offset, next_offset, timestamp_ms, horizon_ms = np.array(tombstones).T
    is_certain = bounds.only_cleaning_takes(offset)
    stays, if_reached = outlives_rounds(offset, timestamp_ms, horizon_ms, bounds, first_kept)
    return Evidence(
        mapped_up_to=_last(next_offset[is_certain & stays]),
        mapped_if_it_was_reached=_last(next_offset[is_certain & if_reached]),
    )


def whole_evidence(evidence: Evidence, log: KnownLog) -> Evidence:
    """The evidence of all of a log's removals, extended by what the known facts about the log imply."""
    bounds = log.bounds
    evidence = evidence.reaching(log.facts.first_kept_tombstone)
    if not log.is_end_given:
        evidence = evidence.ending_at(bounds.round_end_offset, is_map_roomy=bounds.has_roomy_map)
    first_dirty = bounds.knowledge.first_dirty_offset
    if first_dirty is not None and log.is_reading_certain and not log.is_end_given:
        evidence = replace(evidence, first_dirty_at_most=min(first_dirty, evidence.first_dirty_at_most))
    checkpoint = bounds.checkpoint_offset
    if bounds.checkpoint_is_end and checkpoint is not None and evidence.mapped_up_to != BEFORE_ALL:
        evidence = replace(evidence, mapped_up_to=max(evidence.mapped_up_to, checkpoint - 1))
    return evidence


def _last(offsets: Longs) -> int:
    return int(offsets.max(initial=BEFORE_ALL))
