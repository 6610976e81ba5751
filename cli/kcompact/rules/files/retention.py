"""Segments that retention deletes after a round (R52 to R55)."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from kcompact.rules.files.segments import SegmentState
from kcompact.rules.policy import Policy
from kcompact.rules.range import LogBounds

Retained = tuple[tuple[SegmentState, ...], LogBounds]
"""The segments that stay, and the bounds of the log, which may start later now."""


def delete_old_segments(segments: Sequence[SegmentState], bounds: LogBounds, policy: Policy) -> Retained:
    """Delete below the log start, by size, then by time; each stops at the first segment that stays (R53)."""
    starts = [segment.base_offset for segment in segments[1:]]
    below_start = sum(base <= bounds.log_start_offset for base in starts)
    left, bounds = _without(segments, below_start, bounds, policy)
    left, bounds = _without(left, _beyond_size(left, policy), bounds, policy)
    return _without(left, _beyond_age(left, policy), bounds, policy)


def _beyond_size(segments: Sequence[SegmentState], policy: Policy) -> int:
    """Oldest segments that the excess over ``retention.bytes`` covers whole."""
    if policy.retained_bytes is None:
        return 0
    excess = sum(segment.size_bytes for segment in segments) - policy.retained_bytes

    def covered(segment: SegmentState) -> bool:
        nonlocal excess
        excess -= segment.size_bytes
        return excess >= 0

    return _leading(segments, covered)


def _beyond_age(segments: Sequence[SegmentState], policy: Policy) -> int:
    """Oldest segments older than ``retention.ms``; one without any timestamp counts as written now."""
    limit_ms = policy.retained_from_ms
    if limit_ms is None:
        return 0
    return _leading(segments, lambda segment: segment.age_timestamp_ms(policy.now_ms) < limit_ms)


def _leading(segments: Sequence[SegmentState], goes: Callable[[SegmentState], bool]) -> int:
    for count, segment in enumerate(segments):
        is_empty_last = count + 1 == len(segments) and segment.size_bytes == 0
        if is_empty_last or not goes(segment):
            return count
    return len(segments)


def _without(segments: Sequence[SegmentState], count: int, bounds: LogBounds, policy: Policy) -> Retained:
    """The segments without the ``count`` oldest ones, and the bounds of the log then."""
    left = tuple(segments[count:])
    if count == 0:
        return left, bounds
    if not left:  # the active segment goes too, after a roll
        left = (SegmentState(bounds.log_end_offset, 0, mtime_ms=policy.now_ms),)
    start_offset = max(bounds.log_start_offset, left[0].base_offset)
    return left, replace(bounds, log_start_offset=start_offset)
