"""Whether a broker would clean a log yet, and which logs the cleaner takes in its first turn (R6 to R9, R52).

``CleanerThread.cleanFilthiestLog`` cleans the dirtiest log, then deletes old segments of all compacted logs
(``LogCleanerManager.deletableLogs``). So logs of a later turn lose old segments before they are cleaned, by
the sizes that they have until then.
"""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from kcompact.broker.log_names import FEW, few
from kcompact.digits import LONG_MAX
from kcompact.rules.files.segments import SegmentState, containing
from kcompact.rules.policy import Policy
from kcompact.rules.range import CleanableRange


@dataclass(frozen=True)
class DirtyRatio:
    """The byte sums and the delay of one log (R6, R8). ``uncleanable_bytes`` is not a figure of Kafka's."""

    clean_bytes: int
    cleanable_bytes: int
    uncleanable_bytes: int  # from the first uncleanable offset on
    compaction_delay_ms: int  # R8
    min_cleanable_dirty_ratio: float

    @property
    def ratio(self) -> float:
        """Cleanable / (clean + cleanable) bytes (``LogToClean``, R6); 0 where there are neither."""
        total = self.clean_bytes + self.cleanable_bytes
        return self.cleanable_bytes / total if total else 0.0

    @property
    def due_by_ratio(self) -> bool:
        """Whether the ratio is strictly above the threshold (R7)."""
        return self.ratio > self.min_cleanable_dirty_ratio

    @property
    def is_near(self) -> bool:
        """Whether the ratio alone decides, and is so near the threshold that estimated bytes may be wrong.

        It is near if it differs by less than a tenth of the threshold.
        """
        distance = abs(self.ratio - self.min_cleanable_dirty_ratio)
        return 10 * distance < self.min_cleanable_dirty_ratio and not self.due_by_lag

    @property
    def due_by_lag(self) -> bool:
        """Whether there are cleanable bytes, and dirty records older than the maximum lag (R7, R8)."""
        return self.compaction_delay_ms > 0 and self.cleanable_bytes > 0

    @property
    def eligible(self) -> bool:
        """Whether the cleaner would take the log, if its policy contains compact (R7)."""
        return self.due_by_ratio or self.due_by_lag


def segmented_ratio(
    segments: Sequence[SegmentState], cleanable: CleanableRange, policy: Policy
) -> DirtyRatio:
    """Byte sums and delay over segments (R6, R8); ``segments`` ends with the active one.

    A segment inside which the first dirty offset lies (as a full map may leave it) counts on both sides.
    """
    bases = [segment.base_offset for segment in segments]
    first_dirty, bound = cleanable.first_dirty_offset, cleanable.first_uncleanable_offset
    clean = sum(s.size_bytes for s in segments if s.base_offset < first_dirty)
    from_dirty = segments[containing(bases, first_dirty) : -1]
    cleanable_bytes = 0
    if bound > first_dirty:
        cleanable_bytes = sum(s.size_bytes for s in from_dirty if s.base_offset < bound)
    behind = sum(s.size_bytes for s in segments if s.base_offset >= max(bound, first_dirty))
    delay_ms = compaction_delay_ms([s.first_batch_timestamp_ms for s in from_dirty], policy)
    return DirtyRatio(clean, cleanable_bytes, behind, delay_ms, policy.min_cleanable_dirty_ratio)


def compaction_delay_ms(first_batch_timestamps_ms: Sequence[int], policy: Policy) -> int:
    """By how many milliseconds the oldest timestamp exceeds ``max.compaction.lag.ms``, at least 0 (R8).

    Timestamps not above 0 are unknown.
    """
    if policy.max_compaction_lag_ms >= LONG_MAX:
        return 0
    limit_ms = policy.now_ms - policy.max_compaction_lag_ms
    timestamps_ms = [timestamp for timestamp in first_batch_timestamps_ms if timestamp > 0]
    return max(0, limit_ms - min(timestamps_ms, default=limit_ms))


@dataclass(frozen=True)
class Turn:
    """The log ids of the cleaner's first turn.

    ``tied`` holds the logs that are equally dirty as the last one of the turn, if some of them had to wait.
    """

    first: frozenset[int]
    tied: tuple[int, ...] = ()

    def is_later(self, log_id: int) -> bool:
        """Whether retention runs on a log before it is cleaned."""
        return bool(self.first) and log_id not in self.first


def turn_of(ratios: Mapping[int, DirtyRatio], names: Mapping[int, str], threads: int = 1) -> Turn:
    """The first turn over logs that are due. Each thread takes the dirtiest log that is left.

    The order in which a broker takes equally dirty logs is not known (R9); here it is that of their names.
    """
    in_order = sorted(ratios, key=lambda log_id: (-ratios[log_id].ratio, names[log_id]))
    first = frozenset(in_order[:threads])
    if len(first) == len(in_order) or not first:
        return Turn(first)
    last_ratio = ratios[in_order[threads - 1]].ratio
    tied = tuple(log_id for log_id in in_order if ratios[log_id].ratio == last_ratio)
    return Turn(first, tied if not first.issuperset(tied) else ())


def tie_notes(turn: Turn, names: Mapping[int, str], deleted: AbstractSet[int]) -> dict[int, str]:
    """Notes by log id for tied logs, if their order, which is not known, decided which of them lost segments.

    ``deleted`` holds the logs from which retention took segments before they were cleaned.
    """
    if deleted.isdisjoint(turn.tied):
        return {}
    return {log_id: _tie_note(turn, log_id, names) for log_id in turn.tied}


def _tie_note(turn: Turn, log_id: int, names: Mapping[int, str]) -> str:
    """The note for one tied log. It names only a few of the others, as each of these has such a note, too."""
    others = few([names[other] for other in turn.tied[: FEW + 2] if other != log_id])  # more than it names
    place = "first" if log_id in turn.first else "later, so that retention found it uncleaned"
    return (
        f"as dirty as {others}: which of them a broker cleans first is not known; this one is taken {place}"
    )
