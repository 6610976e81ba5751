"""The evidence of removals that were classified."""

from collections.abc import Mapping, Sequence

import numpy as np

from kcompact.rules.lookups import rows_of_logs
from kcompact.rules.verdicts import UNKNOWN_HORIZON_MS
from kcompact.verify.classification.bounds import Bounds
from kcompact.verify.classification.classified_rows import (
    ABORTED,
    KEYLESS,
    MARKER,
    REASONS,
    SUPERSEDED,
    ClassifiedRows,
)
from kcompact.verify.classification.evidence import Evidence
from kcompact.verify.rows.key_rows import BEFORE_ALL, BEHIND_ALL, Flags, Longs


def evidence_of(classified: ClassifiedRows, bounds: Mapping[int, Bounds]) -> dict[int, Evidence]:
    """By log id. What retention may have taken proves nothing, nor does what may have been aborted."""
    rows = classified.rows
    gone = classified.is_gone & is_cleaned(classified, bounds)
    reason = classified.reason
    replaced = gone & (reason == REASONS.index(SUPERSEDED))
    # A tombstone that is replaced may have gone by itself: that needs a round that reached it, no more.
    stays, stays_if_reached = outliving(classified, bounds)
    by_later = replaced & (~rows.is_tombstone | stays)
    reached = (
        (replaced & rows.is_tombstone)
        | (gone & (reason == REASONS.index(KEYLESS)))
        | (gone & rows.is_data & rows.is_tombstone & (reason != 0))
    )
    # Where it is open what the checkpoint means, the very next record may be what replaced it.
    is_certain = classified.of_log("is_reading_certain") > 0
    superseded_at = np.where(is_certain, classified.superseded_at_offset, classified.history.next_offset)
    mapped = np.where(by_later, superseded_at, np.where(reached, rows.offset, BEFORE_ALL))
    is_mappable = rows.offset < classified.of_log("uncleanable_offset")
    rewritten = gone & (by_later | reached | np.isin(reason, [REASONS.index(ABORTED), REASONS.index(MARKER)]))
    return {
        log_id: Evidence(
            _least(classified.history.latest_offset[at[by_later[at]]]),
            int(mapped[at].max()),
            int(rows.offset[at[rewritten[at]]].max(initial=BEFORE_ALL)),
            int(superseded_at[at[(replaced & stays_if_reached)[at]]].max(initial=BEFORE_ALL)),
            int(rows.offset[at[(rows.is_data & is_mappable)[at]]].max(initial=BEFORE_ALL)),
        )
        for log_id, at in rows_of_logs(rows.log_id)
    }


def outliving(classified: ClassifiedRows, bounds: Mapping[int, Bounds]) -> tuple[Flags, Flags]:
    """``outlives_rounds`` for all rows; nothing where that is not known."""
    rows = classified.rows
    result = np.zeros(len(rows), np.bool_), np.zeros(len(rows), np.bool_)
    for log_id, at in rows_of_logs(rows.log_id):
        gone = at[(classified.is_gone & rows.is_data & rows.is_tombstone)[at]]
        if len(gone) and log_id in bounds:
            first_kept = int(classified.of_log("first_kept_tombstone")[gone[0]])
            columns = (rows.offset[gone], rows.timestamp_ms[gone], rows.delete_horizon_ms[gone])
            for flags, of_log in zip(
                result, outlives_rounds(*columns, bounds[log_id], first_kept), strict=True
            ):
                flags[gone] = of_log
    return result


def outlives_rounds(
    offset: Longs, timestamp_ms: Longs, horizon_ms: Longs, bounds: Bounds, first_kept_tombstone: int
) -> tuple[Flags, Flags]:
    """Which tombstones of a log cannot have gone by themselves; and which not if rounds reached another one.

    That is ``first_kept_tombstone``, the first without a horizon that stayed (BEHIND_ALL: none did). They
    were not due, or would not have been before that one was: it is an earlier one, or in the same segment,
    which a round stamps as a whole (R16, R25, R26).
    """
    policy = bounds.policy
    is_known = horizon_ms != UNKNOWN_HORIZON_MS
    tells_retention = "delete.retention.ms" in bounds.knowledge.configs
    is_young = tells_retention & (timestamp_ms > policy.now_ms - policy.delete_retention_ms)
    is_early = np.where(is_known, horizon_ms > policy.now_ms, is_young | bounds.stamps_come_first)
    ends = np.array([base for base, _ in bounds.segments] or [BEFORE_ALL])
    at = np.searchsorted(ends, offset, side="right")
    segment_end = np.where(at < len(ends), ends[np.minimum(at, len(ends) - 1)], offset + 1)
    follows = bounds.stamps_ascend & ~is_known & (first_kept_tombstone < segment_end)
    may_stay = not policy.drop_tombstones
    return may_stay & (is_early | (follows & (first_kept_tombstone < offset))), may_stay & follows


def evidence_of_tombstones(
    tombstones: Sequence[Sequence[int]], bounds: Bounds, first_kept_tombstone: int
) -> Evidence:
    """Of unaffected keys' tombstones that later records replaced: rows of ``UnaffectedLog.tombstones``."""
    if not tombstones:
        return Evidence()
    offset, next_offset, timestamp_ms, horizon_ms = np.array(tombstones).T
    is_certain = offset >= max(bounds.front_end_offset, bounds.certain_from_offset)
    stays, if_reached = outlives_rounds(offset, timestamp_ms, horizon_ms, bounds, first_kept_tombstone)
    return Evidence(
        mapped_up_to=int(next_offset[is_certain & stays].max(initial=BEFORE_ALL)),
        mapped_if_it_was_reached=int(next_offset[is_certain & if_reached].max(initial=BEFORE_ALL)),
    )


def is_cleaned(classified: ClassifiedRows, bounds: Mapping[int, Bounds]) -> Flags:
    """Whether nothing but cleaning can have taken a record."""
    rows = classified.rows
    certain_from = {log_id: log_bounds.certain_from_offset for log_id, log_bounds in bounds.items()}
    front_end = {log_id: log_bounds.front_end_offset for log_id, log_bounds in bounds.items()}
    behind_front = rows.offset >= rows.per_log(front_end, BEHIND_ALL)
    is_decided = rows.is_aborted | rows.is_control | (rows.offset >= rows.per_log(certain_from, BEHIND_ALL))
    return behind_front & is_decided & ~classified.is_below_log_start


def _least(offsets: Longs) -> int:
    return int(offsets.min(initial=BEHIND_ALL))
