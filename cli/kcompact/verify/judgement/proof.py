"""The evidence of removals that were judged."""

from collections.abc import Mapping

import numpy as np

from kcompact.rules.lookups import rows_of_logs
from kcompact.verify.judgement.bounds import Bounds
from kcompact.verify.judgement.evidence import Evidence
from kcompact.verify.judgement.judge import ABORTED, KEYLESS, MARKER, REASONS, SUPERSEDED, Judged
from kcompact.verify.rows.key_rows import BEFORE_ALL, BEHIND_ALL, Flags, Longs


def evidence_of(judged: Judged, bounds: Mapping[int, Bounds]) -> dict[int, Evidence]:
    """By log id. What retention may have taken proves nothing, nor does what may have been aborted."""
    rows = judged.rows
    gone = judged.is_gone & _is_cleaned(judged, bounds)
    reason = judged.reason
    replaced = gone & (reason == REASONS.index(SUPERSEDED))
    # A tombstone that is replaced may have gone by itself: that needs a round that reached it, no more.
    by_later = replaced & ~rows.is_tombstone
    reached = (
        (replaced & rows.is_tombstone)
        | (gone & (reason == REASONS.index(KEYLESS)))
        | (gone & rows.is_data & rows.is_tombstone & (reason != 0))
    )
    # Where it is open what the checkpoint means, the very next record may be what replaced it.
    is_certain = judged.of_log("is_reading_certain") > 0
    superseded_at = np.where(is_certain, judged.superseded_at_offset, judged.history.next_offset)
    mapped = np.where(by_later, superseded_at, np.where(reached, rows.offset, BEFORE_ALL))
    rewritten = gone & (by_later | reached | np.isin(reason, [REASONS.index(ABORTED), REASONS.index(MARKER)]))
    return {
        log_id: Evidence(
            _least(judged.history.latest_offset[at[by_later[at]]]),
            int(mapped[at].max()),
            int(rows.offset[at[rewritten[at]]].max(initial=BEFORE_ALL)),
        )
        for log_id, at in rows_of_logs(rows.log_id)
    }


def _is_cleaned(judged: Judged, bounds: Mapping[int, Bounds]) -> Flags:
    """Whether nothing but cleaning can have taken a record."""
    rows = judged.rows
    certain_from = {log_id: one.certain_from_offset for log_id, one in bounds.items()}
    front_end = {log_id: one.front_end_offset for log_id, one in bounds.items()}
    behind_front = rows.offset >= rows.per_log(front_end, BEHIND_ALL)
    is_told = rows.is_aborted | rows.is_control | (rows.offset >= rows.per_log(certain_from, BEHIND_ALL))
    return behind_front & is_told & ~judged.is_below_log_start


def _least(offsets: Longs) -> int:
    return int(offsets.min(initial=BEHIND_ALL))
