"""Whether a broker would clean a log yet, and in which order (R6 to R9)."""

from collections.abc import Sequence
from dataclasses import dataclass

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
    """Sums and delay over segments (R6, R8); one that a full map left half cleaned counts on both sides."""
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
    """Milliseconds beyond ``max.compaction.lag.ms``, at least 0; timestamps not above 0 are unknown (R8)."""
    if policy.max_compaction_lag_ms >= LONG_MAX:
        return 0
    limit_ms = policy.now_ms - policy.max_compaction_lag_ms
    timestamps_ms = [timestamp for timestamp in first_batch_timestamps_ms if timestamp > 0]
    return max(0, limit_ms - min(timestamps_ms, default=limit_ms))
