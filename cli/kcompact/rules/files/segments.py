"""Segments of a log: their sizes and times, when they roll, how they merge, and how their indexes fill."""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import le
from typing import NamedTuple

from kcompact.digits import LONG_MAX
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
        """The timestamp by which the segment's age is measured (R2).

        It is the largest timestamp of the records, else the file time, else ``mtime_unknown_ms``.
        """
        if self.largest_timestamp_ms >= 0:
            return self.largest_timestamp_ms
        return mtime_unknown_ms if self.mtime_ms is None else self.mtime_ms


def containing(bases: Sequence[int], offset: int) -> int:
    """The index of the segment with the greatest base at or below ``offset``, or 0 if there is none."""
    return max(0, bisect_right(bases, offset) - 1)


def segment_bytes_of(policy: Policy) -> int:
    """``segment.bytes``, or Kafka's default."""
    return DEFAULT_SEGMENT_BYTES if policy.segment_bytes is None else policy.segment_bytes


def roll_limit_ms(policy: Policy) -> int:
    """Milliseconds that a segment may span (R4): in a compacted topic, no more than the maximum lag."""
    segment_ms = DEFAULT_SEGMENT_MS if policy.segment_ms is None else policy.segment_ms
    return min(segment_ms, policy.max_compaction_lag_ms) if "compact" in policy.cleanup_policy else segment_ms


def is_rolled(policy: Policy) -> bool:
    """Whether segments that are not known are to be rolled from sizes and timestamps."""
    return policy.segment_bytes is not None or policy.segment_ms is not None


def estimated_index_bytes(records: int, size_bytes: int, policy: Policy) -> tuple[int, int]:
    """Estimated bytes of a segment's offset index and time index, for batches of one record and equal size.

    An append makes an entry once more than ``index.interval.bytes`` have passed since the last one.
    """
    if records == 0:
        return 0, 0
    every = policy.index_interval_bytes // max(1, size_bytes // records) + 1
    entries = (records - 1) // every
    return entries * OFFSET_INDEX_ENTRY_BYTES, (entries + 1) * TIME_INDEX_ENTRY_BYTES


def group_segments(
    rewritten: Sequence[SegmentState], policy: Policy, first_uncleanable_offset: int
) -> list[list[SegmentState]]:
    """The segments that a round rewrites, in groups: it merges each group into one segment (R41).

    The sizes before the round count. A group may reach each limit exactly.
    """
    limits = segment_bytes_of(policy), policy.segment_index_bytes, policy.segment_index_bytes
    groups: list[list[SegmentState]] = []
    joined = (0, 0, 0)
    for i, segment in enumerate(rewritten):
        is_last = i + 1 == len(rewritten)
        end_offset = first_uncleanable_offset if is_last else rewritten[i + 1].base_offset
        sizes = segment.size_bytes, segment.offset_index_bytes, segment.time_index_bytes
        joined = joined[0] + sizes[0], joined[1] + sizes[1], joined[2] + sizes[2]
        if groups and all(map(le, joined, limits)) and _spans_few(groups[-1][0], segment, end_offset):
            groups[-1].append(segment)
        else:
            groups.append([segment])
            joined = sizes
    return groups


def _spans_few(first: SegmentState, last: SegmentState, end_offset: int) -> bool:
    return last.size_bytes == 0 or end_offset - 1 - first.base_offset <= MAX_OFFSET_SPAN


class IndexFill(NamedTuple):
    """How many appends a segment has had, and the entries that they made in its indexes (R4, R41).

    An append makes an entry if more than the interval has been appended since the last entry: always in the
    offset index, and in the time index if there was a newer timestamp since then.
    """

    appends: int = 0
    offset_entries: int = 0
    time_entries: int = 0
    since_entry_bytes: int = 0
    largest_timestamp_ms: int = -1
    entered_ms: int = -1  # the largest timestamp at the last entry

    def after(
        self,
        rows: Iterable[tuple[int, int]],
        interval_bytes: int,
        most_offset_entries: int = LONG_MAX,
        most_time_entries: int = LONG_MAX,
    ) -> "IndexFill":
        """The fill after the next appends, up to (and without) the first one that meets a full index.

        ``rows`` holds bytes and timestamp of each append.
        """
        appends, offset_entries, time_entries, since, largest_ms, entered_ms = self
        if offset_entries >= most_offset_entries or time_entries >= most_time_entries:
            return self
        for size_bytes, timestamp_ms in rows:
            appends += 1
            if timestamp_ms > largest_ms:  # noqa: PLR1730  max() would take as long as the rest of the loop
                largest_ms = timestamp_ms
            if since <= interval_bytes:
                since += size_bytes
                continue
            offset_entries += 1
            time_entries += largest_ms > entered_ms
            since, entered_ms = size_bytes, largest_ms
            if offset_entries >= most_offset_entries or time_entries >= most_time_entries:
                break
        return IndexFill(appends, offset_entries, time_entries, since, largest_ms, entered_ms)
