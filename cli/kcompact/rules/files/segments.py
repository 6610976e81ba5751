"""Segments of a log as the rules see them: the files, and what is known about their content."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from kcompact.rules.policy import Policy

DEFAULT_SEGMENT_BYTES = 1 << 30
DEFAULT_SEGMENT_MS = 604_800_000
MAX_OFFSET_SPAN = 2**31 - 1  # offsets inside a segment are 32-bit distances to its base
OFFSET_INDEX_ENTRY_BYTES = 8
TIME_INDEX_ENTRY_BYTES = 12


@dataclass(frozen=True)
class SegmentState:
    """One segment between two rounds."""

    base_offset: int
    size_bytes: int
    largest_timestamp_ms: int = -1  # of its records and markers; negative: none
    first_batch_timestamp_ms: int = -1  # largest timestamp in its first batch
    mtime_ms: int | None = None
    offset_index_bytes: int = 0
    time_index_bytes: int = 0

    def age_timestamp_ms(self, mtime_unknown_ms: int) -> int:
        """The largest timestamp of the records, else the file's, else ``mtime_unknown_ms`` (R2)."""
        if self.largest_timestamp_ms >= 0:
            return self.largest_timestamp_ms
        return mtime_unknown_ms if self.mtime_ms is None else self.mtime_ms


def containing(bases: Sequence[int], offset: int) -> int:
    """Index of the segment with the greatest base at or below ``offset``; the first if there is none."""
    return max(0, bisect_right(bases, offset) - 1)


def segment_bytes_of(policy: Policy) -> int:
    """``segment.bytes``, or Kafka's default."""
    return DEFAULT_SEGMENT_BYTES if policy.segment_bytes is None else policy.segment_bytes


def roll_limit_ms(policy: Policy) -> int:
    """Milliseconds that a segment may span (R4); in a compacted topic no more than the maximum lag."""
    segment_ms = DEFAULT_SEGMENT_MS if policy.segment_ms is None else policy.segment_ms
    return min(segment_ms, policy.max_compaction_lag_ms) if "compact" in policy.cleanup_policy else segment_ms


def is_rolled(policy: Policy) -> bool:
    """Whether unknown segments are rolled from sizes and timestamps."""
    return policy.segment_bytes is not None or policy.segment_ms is not None


def estimated_index_bytes(records: int, size_bytes: int, policy: Policy) -> tuple[int, int]:
    """Offset and time index of a segment of equal batches: an entry whenever the interval is passed."""
    if records == 0:
        return 0, 0
    every = policy.index_interval_bytes // max(1, size_bytes // records) + 1
    entries = (records - 1) // every
    return entries * OFFSET_INDEX_ENTRY_BYTES, (entries + 1) * TIME_INDEX_ENTRY_BYTES
