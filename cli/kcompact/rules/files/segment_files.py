"""The segments of a log as its batches make them, where batches are known."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Self

import numpy as np

from kcompact.arrays import Longs
from kcompact.broker.batches import NONE, Batches, behind_one_another, in_order
from kcompact.broker.log_context import LogContext
from kcompact.broker.segment_lists import Segment
from kcompact.rules.files.segments import (
    OFFSET_INDEX_ENTRY_BYTES,
    TIME_INDEX_ENTRY_BYTES,
    IndexFill,
    SegmentState,
)
from kcompact.rules.rewriting import LogRows


@dataclass(frozen=True)
class SegmentContent:
    """The batches of a segment so far, summed up for range, ratio, merging and retention.

    When a segment is closed, its time index gets one more entry if a timestamp is newer than that of the last
    entry.
    """

    base_offset: int
    size_bytes: int = 0
    first_batch_timestamp_ms: int = -1
    index: IndexFill = field(default_factory=IndexFill)

    def with_batches(self, sizes_bytes: Longs, timestamps_ms: Longs, interval_bytes: int) -> Self:
        """A copy with the next batches added; ``interval_bytes`` is ``index.interval.bytes``."""
        rows = zip(sizes_bytes.tolist(), timestamps_ms.tolist(), strict=True)
        first_ms = self.first_batch_timestamp_ms if self.index.appends else int(timestamps_ms[0])
        return replace(
            self,
            size_bytes=self.size_bytes + int(sizes_bytes.sum()),
            first_batch_timestamp_ms=first_ms,
            index=self.index.after(rows, interval_bytes),
        )

    def state(self, mtime_ms: int | None) -> SegmentState:
        """The segment as rounds see it, once all its batches are added."""
        index = self.index
        times = index.time_entries + (index.largest_timestamp_ms > index.entered_ms)
        return SegmentState(
            self.base_offset,
            self.size_bytes,
            index.largest_timestamp_ms,
            self.first_batch_timestamp_ms,
            mtime_ms,
            index.offset_entries * OFFSET_INDEX_ENTRY_BYTES,
            times * TIME_INDEX_ENTRY_BYTES,
        )


def segment_contents(
    batches: Batches, bases: Longs, interval_bytes: int, before: SegmentContent | None
) -> list[SegmentContent]:
    """The contents of the segments in a stretch of a log, in order. Segments without batches are left out.

    ``bases`` holds the base offsets of all segments of the log. ``before``, the last content of the stretch
    before, comes first in the result; batches of this stretch that belong to its segment are added to it.
    """
    contents = [] if before is None else [before]
    if not len(batches):
        return contents
    at = np.maximum(np.searchsorted(bases, batches.base_offset, side="right") - 1, 0)
    cuts = [0, *(np.flatnonzero(np.diff(at)) + 1).tolist(), len(batches)]
    for start, end in pairwise(cuts):
        base = int(bases[at[start]])
        content = SegmentContent(base)
        if contents and contents[-1].base_offset == base:
            content = contents.pop()
        sizes_bytes, timestamps_ms = batches.size_bytes[start:end], batches.max_timestamp_ms[start:end]
        contents.append(content.with_batches(sizes_bytes, timestamps_ms, interval_bytes))
    return contents


def all_batches(batches: Batches, records: LogRows) -> Batches:
    """The known batches, and a batch for each record that none of them holds, in the order of offsets.

    The dump may be younger than the list of batches. A batch whose delete horizon is not known gets the
    horizon that is remembered for its tombstones (R26).
    """
    rows, owners = records.rows, records.owners(batches)
    is_alone = owners < 0
    horizon_ms = np.where(rows.is_tombstone, rows.delete_horizon_ms, NONE)
    horizons_ms = np.full(len(batches), NONE)
    np.maximum.at(horizons_ms, owners[~is_alone], horizon_ms[~is_alone])
    horizons_ms = np.where(batches.delete_horizon_ms == NONE, horizons_ms, batches.delete_horizon_ms)
    batches = replace(batches, delete_horizon_ms=horizons_ms)
    offsets = rows.offset[is_alone]
    if not len(offsets):
        return batches
    none, false = np.full(len(offsets), NONE), np.zeros(len(offsets), np.bool_)
    alone = Batches(
        base_offset=offsets,
        last_offset=offsets,
        record_count=np.ones(len(offsets), np.int64),
        size_bytes=records.log_bytes[is_alone],
        segment_base_offset=none,
        is_compressed=false,
        is_log_append_time=false,
        max_timestamp_ms=records.timestamp_ms[is_alone],
        producer_id=none,
        producer_epoch=none,
        is_transactional=false,
        is_control=false,
        marker=none,
        delete_horizon_ms=horizon_ms[is_alone],
    )
    return in_order(behind_one_another(batches, alone))


def with_segments_of_batches(context: LogContext) -> LogContext:
    """``context`` with the segments that its batches name, unless segments are given."""
    sizes_bytes = None if context.batches is None else context.batches.segment_bytes
    if context.segments is not None or sizes_bytes is None:
        return context
    return replace(context, segments=tuple(Segment(base, size) for base, size in sizes_bytes.items()))


def without_vague_times(context: LogContext, seen: Collection[int]) -> LogContext:
    """``context`` without the file times of segments that hold bytes, but no record of the dump.

    ``seen`` holds the base offsets of segments with records. The others hold markers, whose timestamps count
    (R2) instead of the time at which the file was written; but these timestamps are not known.
    """
    segments = context.segments and tuple(
        replace(segment, mtime_ms=None) if segment.size_bytes and segment.base_offset not in seen else segment
        for segment in context.segments
    )
    return replace(context, segments=segments)


def known_mtimes(context: LogContext) -> dict[int, int | None] | None:
    """The file time of each segment by ascending base offset, None where it is not known.

    None instead of a dict where segments are not known, and each batch counts as one.
    """
    if context.segments is not None:
        return {segment.base_offset: segment.mtime_ms for segment in context.segments}
    if context.batches is None or context.batches.segment_bytes is None:
        return None
    return dict.fromkeys(context.batches.segment_bytes)


def segment_states(
    contents: Iterable[SegmentContent], mtimes_ms: Mapping[int, int | None]
) -> list[SegmentState]:
    """The states of all segments in order, including those without batches.

    ``mtimes_ms`` holds the file time of every segment, by ascending base offset.
    """
    by_base = {content.base_offset: content for content in contents}
    return [by_base.get(base, SegmentContent(base)).state(mtime_ms) for base, mtime_ms in mtimes_ms.items()]
