"""Knowledge about a log while its records are classified: given bounds, its figures, how it was cleaned."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from kcompact.arrays import Flags, Longs
from kcompact.rules.verdicts import UNKNOWN_HORIZON_MS
from kcompact.verify.classification.bounds import Bounds
from kcompact.verify.classification.evidence import Evidence
from kcompact.verify.rows.key_rows import BEFORE_ALL, BEHIND_ALL, KeyRows


@dataclass(frozen=True)
class PairFacts:
    """Figures of some of a log's records. ``before_end_offset`` is exclusive, other offsets are inclusive."""

    records_before: int = 0
    records_after: int = 0
    before_first_offset: int = BEHIND_ALL  # BEHIND_ALL: BEFORE has no record
    before_end_offset: int = 0
    first_kept_tombstone: int = BEHIND_ALL  # of those without a known horizon; BEHIND_ALL: none stayed
    only_from: int = 0  # removals that a round beginning at the checkpoint explains, and none ending there
    only_up_to: int = 0  # the other way round

    def plus(self, other: "PairFacts") -> "PairFacts":
        """The figures of the records of both."""
        return PairFacts(
            self.records_before + other.records_before,
            self.records_after + other.records_after,
            min(self.before_first_offset, other.before_first_offset),
            max(self.before_end_offset, other.before_end_offset),
            min(self.first_kept_tombstone, other.first_kept_tombstone),
            self.only_from + other.only_from,
            self.only_up_to + other.only_up_to,
        )


@dataclass(frozen=True)
class KnownLog:
    """One log. Picklable.

    ``is_end_given``: its checkpoint says where cleaning ended; otherwise it says where the last round began.
    ``is_reading_certain``: which of the two is known, or proven by the removed records. No record at or above
    ``limit_offset`` can have replaced another one; below ``expired_end_offset``, ``retention.bytes`` may have
    taken records. The last two fields are known once all records are classified.
    """

    bounds: Bounds
    facts: PairFacts
    is_end_given: bool
    limit_offset: int
    is_reading_certain: bool = True
    expired_end_offset: int = BEFORE_ALL
    cleaned_end_offset: int = 0
    evidence: Evidence = field(default_factory=Evidence)

    @property
    def mapped_from_offset(self) -> int:
        """Records below it may be in no round's map: they were clean already, or below the log start."""
        starts = [self.bounds.log_start_offset, None if self.is_end_given else self.bounds.checkpoint_offset]
        return max((start for start in starts if start is not None), default=BEFORE_ALL)

    @property
    def first_dirty_offset(self) -> int:
        """Where the cleaned section begins, as far as it is known."""
        first = self.facts.before_first_offset if self.facts.records_before else 0
        return first if self.is_end_given else max(first, self.bounds.checkpoint_offset or 0)

    def cleaned_end(self, needed_end_offset: int) -> int:
        """Up to where the log was cleaned (exclusive): as given, or the least that explains the removals."""
        if self.is_end_given and self.bounds.checkpoint_offset is not None:
            return self.bounds.checkpoint_offset
        return max(self.first_dirty_offset, needed_end_offset)

    def read_otherwise(self) -> "KnownLog":
        """The log as if its checkpoint had been copied at the other time: after the cleaning or before it."""
        limit, checkpoint = self.bounds.cleanable_end_offset, self.bounds.checkpoint_offset
        if not self.is_end_given and checkpoint is not None:
            limit = min(limit, checkpoint)
        return replace(self, is_end_given=not self.is_end_given, limit_offset=limit)


def known_log(facts: PairFacts, bounds: Bounds, expired_end_offset: int = BEFORE_ALL) -> KnownLog:
    """Decide how a log counts as cleaned.

    A checkpoint file may have been copied before or after the cleaning. It is read in the way that explains
    more of the removals, or, if both ways explain as many, as ``compact`` reads it (where the round begins).
    With which way there are fewer findings only shows later, once all records are classified.
    """
    is_end, limit = bounds.checkpoint_is_end, bounds.cleanable_end_offset
    fewer, more = sorted((facts.only_from, facts.only_up_to))
    is_open = bounds.checkpoint_offset is not None and is_end is None
    is_certain = not is_open or fewer == 0 < more
    if is_end is None:
        is_end = facts.only_up_to > facts.only_from
    log = KnownLog(bounds, facts, False, limit, is_certain, expired_end_offset)
    return log.read_otherwise() if is_end and bounds.checkpoint_offset is not None else log


def facts_of(rows: KeyRows, is_taken: Flags, bounds: Mapping[int, Bounds]) -> dict[int, PairFacts]:
    """Figures by log id. ``is_taken``: AFTER has another key's record in the place of this one of BEFORE."""
    gone = rows.in_before & ~rows.in_after & ~is_taken
    from_checkpoint, up_to_checkpoint = (gone & flags for flags in _explained_once(rows, bounds))
    kept_tombstone = (
        rows.in_after & rows.is_data & rows.is_tombstone & (rows.delete_horizon_ms == UNKNOWN_HORIZON_MS)
    )
    facts = {}
    for log_id, at in rows.by_log:
        before = rows.offset[at[rows.in_before[at]]]
        facts[log_id] = PairFacts(
            len(before),
            int(rows.in_after[at].sum()),
            int(before.min(initial=BEHIND_ALL)),
            int(before.max(initial=-1)) + 1,
            int(rows.offset[at[kept_tombstone[at]]].min(initial=BEHIND_ALL)),
            int(from_checkpoint[at].sum()),
            int(up_to_checkpoint[at].sum()),
        )
    return facts


def _explained_once(rows: KeyRows, bounds: Mapping[int, Bounds]) -> tuple[Flags, Flags]:
    """Removals that only rounds from the checkpoint on explain, and those that only rounds up to it explain.

    Only records that nothing but cleaning can have removed count. Tombstones and records without a key may go
    by themselves, so for these their own offset counts, not that of the record that replaces them.
    """
    checkpoints = {i: b.checkpoint_offset for i, b in bounds.items() if b.checkpoint_offset is not None}
    checkpoint: Longs = rows.per_log(checkpoints, -1)
    limit = rows.per_log({i: b.cleanable_end_offset for i, b in bounds.items()}, BEHIND_ALL)
    # Aborted data and markers go beyond the end as well (R17).
    is_asked = (checkpoint >= 0) & ~rows.is_control & ~rows.is_aborted
    for log_id, at in rows.by_log:
        is_asked[at] &= log_id in bounds and bounds[log_id].only_cleaning_takes(rows.offset[at])
    is_value = rows.is_data & ~rows.is_tombstone
    from_it = np.where(is_value, rows.superseding_offset(checkpoint), rows.offset) < limit
    up_to_it = np.where(is_value, rows.next_offset, rows.offset) < np.minimum(checkpoint, limit)
    return is_asked & from_it & ~up_to_it, is_asked & up_to_it & ~from_it
