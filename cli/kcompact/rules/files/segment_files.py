"""Segments and their batches, where batches are known."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

import numpy as np

from kcompact.broker.batches import Batch
from kcompact.broker.log_context import LogContext
from kcompact.broker.segment_lists import Segment
from kcompact.rules.files.segments import (
    OFFSET_INDEX_ENTRY_BYTES,
    TIME_INDEX_ENTRY_BYTES,
    SegmentState,
    containing,
)
from kcompact.rules.policy import Policy
from kcompact.rules.range import LogBounds
from kcompact.rules.rewriting import LogRows


@dataclass(frozen=True)
class SegmentFile:
    """A segment and its batches."""

    base_offset: int
    batches: tuple[Batch, ...]
    mtime_ms: int | None = None

    def state(self, policy: Policy) -> SegmentState:
        """The segment as range, ratio, merging and retention see it."""
        return SegmentState(
            self.base_offset,
            sum(batch.size_bytes for batch in self.batches),
            max((batch.max_timestamp_ms for batch in self.batches), default=-1),
            self.batches[0].max_timestamp_ms if self.batches else -1,
            self.mtime_ms,
            *_index_bytes(self.batches, policy),
        )


def _index_bytes(batches: Sequence[Batch], policy: Policy) -> tuple[int, int]:
    """Offset and time index (R41): an entry whenever the interval is passed, and one on closing."""
    entries = times = since = 0
    newest_ms = list(accumulate((batch.max_timestamp_ms for batch in batches), max))
    entered_ms = -1
    for so_far_ms, batch in zip(newest_ms, batches, strict=True):
        if since > policy.index_interval_bytes:
            entries, since = entries + 1, 0
            times, entered_ms = times + (so_far_ms > entered_ms), so_far_ms
        since += batch.size_bytes
    times += bool(newest_ms) and newest_ms[-1] > entered_ms  # on closing the segment
    return entries * OFFSET_INDEX_ENTRY_BYTES, times * TIME_INDEX_ENTRY_BYTES


def all_batches(batches: Sequence[Batch], records: LogRows) -> list[Batch]:
    """The known batches, and one for each record that none of them holds (the dump may be younger)."""
    is_covered = np.zeros(len(records.rows), np.bool_)
    for batch in batches:
        is_covered[records.span_of(batch)] = True
    alone = [
        Batch(offset, offset, 1, size, max_timestamp_ms=timestamp_ms)
        for offset, size, timestamp_ms in zip(
            records.rows.offset[~is_covered].tolist(),
            records.log_bytes[~is_covered].tolist(),
            records.timestamp_ms[~is_covered].tolist(),
            strict=True,
        )
    ]
    return sorted([*batches, *alone], key=lambda batch: batch.base_offset)


def tell_segments(batches: Sequence[Batch]) -> bool:
    """Whether the segment of every batch is known."""
    return bool(batches) and all(batch.segment_base_offset is not None for batch in batches)


def with_segments_of_batches(context: LogContext) -> LogContext:
    """With the segments of its batches, where these alone say in which segment each of them is."""
    if context.segments is not None or not tell_segments(context.batches or ()):
        return context
    sizes: dict[int, int] = {}
    for batch in context.batches or ():
        base = batch.segment_base_offset or 0
        sizes[base] = sizes.get(base, 0) + batch.size_bytes
    return replace(context, segments=tuple(Segment(base, size) for base, size in sorted(sizes.items())))


def segment_files(
    context: LogContext, batches: Sequence[Batch], bounds: LogBounds
) -> tuple[SegmentFile, ...]:
    """The known segments, else those of the batches, else one per batch and an empty active one."""
    mtimes: dict[int, int | None]
    if context.segments is not None:
        mtimes = {segment.base_offset: segment.mtime_ms for segment in context.segments}
    elif tell_segments(context.batches or ()):
        mtimes = {b.segment_base_offset: None for b in batches if b.segment_base_offset is not None}
    else:
        mtimes = dict.fromkeys([*(batch.base_offset for batch in batches), bounds.log_end_offset])
    bases = sorted(mtimes)
    inside: dict[int, list[Batch]] = {base: [] for base in bases}
    for batch in batches:
        inside[bases[containing(bases, batch.base_offset)]].append(batch)
    return tuple(SegmentFile(base, tuple(inside[base]), mtimes[base]) for base in bases)
