"""Segments that retention deletes after a round (R52 to R55)."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from kcompact.rules.files.segments import SegmentState
from kcompact.rules.policy import Policy
from kcompact.rules.range import LogBounds

Retained = tuple[tuple[SegmentState, ...], LogBounds]
"""The segments that stay, and the bounds of the log, whose start may have moved."""


def delete_old_segments(segments: Sequence[SegmentState], bounds: LogBounds, policy: Policy) -> Retained:
    """Delete segments below the log start offset, then by size, then by time (R53).

    Each of the three begins at the oldest segment and stops at the first one that stays.
    """
    starts = [segment.base_offset for segment in segments[1:]]
    below_start = sum(base <= bounds.log_start_offset for base in starts)
    left, bounds = _without(segments, below_start, bounds, policy)
    left, bounds = _without(left, _beyond_size(left, policy), bounds, policy)
    return _without(left, _beyond_age(left, policy), bounds, policy)


def _beyond_size(segments: Sequence[SegmentState], policy: Policy) -> int:
    """How many of the oldest segments the excess over ``retention.bytes`` covers as a whole."""
    if policy.retained_bytes is None:
        return 0
    excess = sum(segment.size_bytes for segment in segments) - policy.retained_bytes

    def covered(segment: SegmentState) -> bool:
        nonlocal excess
        excess -= segment.size_bytes
        return excess >= 0

    return _leading(segments, covered)


def _beyond_age(segments: Sequence[SegmentState], policy: Policy) -> int:
    """How many of the oldest segments are older than ``retention.ms``.

    A segment without any timestamp counts as written now.
    """
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
    """The segments without the ``count`` oldest ones, and the bounds of the log afterwards."""
    left = tuple(segments[count:])
    if count == 0:
        return left, bounds
    if not left:  # the active segment goes, too: a broker rolls it first, which opens an empty one
        left = (SegmentState(bounds.log_end_offset, 0, mtime_ms=policy.now_ms),)
    start_offset = max(bounds.log_start_offset, left[0].base_offset)
    return left, replace(bounds, log_start_offset=start_offset)
