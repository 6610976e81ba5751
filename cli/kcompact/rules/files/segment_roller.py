"""Segments that are not known, rolled as a broker would have rolled them (``LogSegment.shouldRoll``, R4)."""

from dataclasses import dataclass, replace

import numpy as np

from kcompact.arrays import Longs
from kcompact.broker.log_context import LogContext
from kcompact.broker.segment_lists import Segment
from kcompact.rules.files.segment_files import known_mtimes
from kcompact.rules.files.segments import (
    MAX_OFFSET_SPAN,
    OFFSET_INDEX_ENTRY_BYTES,
    TIME_INDEX_ENTRY_BYTES,
    IndexFill,
    is_rolled,
    roll_limit_ms,
    segment_bytes_of,
)
from kcompact.rules.policy import Policy


@dataclass(frozen=True)
class RollSettings:
    """The configs that decide where a segment ends; a broker looks at them before each append (R4)."""

    segment_bytes: int
    limit_ms: int
    segment_index_bytes: int
    index_interval_bytes: int

    @property
    def index_may_fill(self) -> bool:
        """Whether an index can be full before the segment is, with one entry at most for each interval."""
        entries = self.segment_bytes // max(self.index_interval_bytes, 1) + 1
        return entries >= min(self.most_offset_entries, self.most_time_entries)

    @property
    def most_offset_entries(self) -> int:
        """Entries that fill an offset index."""
        return self.segment_index_bytes // OFFSET_INDEX_ENTRY_BYTES

    @property
    def most_time_entries(self) -> int:
        """Entries that fill a time index: one fewer than it holds, as closing the segment may add one."""
        return self.segment_index_bytes // TIME_INDEX_ENTRY_BYTES - 1


def roll_settings(policy: Policy) -> RollSettings:
    """The settings of a topic, with no jitter."""
    return RollSettings(
        segment_bytes_of(policy),
        roll_limit_ms(policy),
        policy.segment_index_bytes,
        policy.index_interval_bytes,
    )


@dataclass(frozen=True)
class Appends:
    """Appends to one log in ascending order, as columns of equal length.

    An append is a batch or, where batches are not known, a record that counts as one.
    """

    offsets: Longs
    timestamps_ms: Longs
    sizes_bytes: Longs


class Roller:
    """Rolls the segments of one log. Its appends are fed piece by piece, in ascending order."""

    def __init__(self, settings: RollSettings) -> None:
        self._settings = settings
        self._base_offset: int | None = None  # nothing appended yet
        self._size_bytes = 0
        self._first_timestamp_ms = -1
        self._index = IndexFill()
        self._index_may_fill = settings.index_may_fill
        self._most_entries = settings.most_offset_entries, settings.most_time_entries

    def starts(self, appends: Appends) -> list[int]:
        """Indices of the appends that start a new segment; the very first append always does."""
        if not len(appends.offsets):
            return []
        ends = np.cumsum(appends.sizes_bytes)
        begins_at = -self._size_bytes  # where the current segment begins, on the scale of ``ends``
        starts: list[int] = []
        start = 0 if self._base_offset is None else self._next_start(appends, ends, 0, begins_at)
        while start < len(ends):
            starts.append(start)
            begins_at = int(ends[start] - appends.sizes_bytes[start])
            self._begin(appends, start)
            start = self._next_start(appends, ends, start + 1, begins_at)
        self._size_bytes = int(ends[-1]) - begins_at
        return starts

    def _begin(self, appends: Appends, start: int) -> None:
        """Begin a segment with its first append, which it takes whatever the size of that append."""
        self._base_offset = int(appends.offsets[start])
        self._first_timestamp_ms = int(appends.timestamps_ms[start])
        self._index = IndexFill()
        self._fill_index(appends, start, start + 1)

    def _next_start(self, appends: Appends, ends: Longs, at: int, begins_at: int) -> int:
        """The index of the first append from ``at`` on that the segment does not take.

        If it takes all of them, the number of appends.
        """
        full_at = int(np.searchsorted(ends, begins_at + self._settings.segment_bytes, side="right"))
        last_offset = (self._base_offset or 0) + MAX_OFFSET_SPAN
        far_at = int(np.searchsorted(appends.offsets, last_offset, side="right"))
        start = max(at, min(full_at, far_at))
        if self._first_timestamp_ms >= 0:  # otherwise a broker goes by its wall clock, which is not known
            late = appends.timestamps_ms[at:start] - self._first_timestamp_ms > self._settings.limit_ms
            start = at + int(np.argmax(late)) if late.any() else start
        return self._fill_index(appends, at, start)

    def _fill_index(self, appends: Appends, at: int, end: int) -> int:
        """Count the appends from ``at`` up to ``end`` in the indexes.

        Returns the index of the first append that meets a full index, or ``end``.
        """
        if not self._index_may_fill:
            return end
        sizes_bytes, timestamps_ms = appends.sizes_bytes[at:end], appends.timestamps_ms[at:end]
        rows = zip(map(int, sizes_bytes), map(int, timestamps_ms), strict=True)  # lazy: most may stay unread
        appends_before = self._index.appends
        self._index = self._index.after(rows, self._settings.index_interval_bytes, *self._most_entries)
        return at + self._index.appends - appends_before


def with_rolled_segments(context: LogContext, policy: Policy, first_offset: int) -> LogContext:
    """``context`` with rolled segments, if batches are known, but not in which segments they are.

    The first segment begins at ``first_offset`` at the latest, so that it takes the records before the first
    batch; records behind the last batch fall into the active segment.
    """
    if context.batches is None or known_mtimes(context) is not None or not is_rolled(policy):
        return context
    roller, bases, begins_at, size_bytes = Roller(roll_settings(policy)), [], [], 0
    for part in context.batches.parts():
        starts = roller.starts(Appends(part.base_offset, part.max_timestamp_ms, part.size_bytes))
        ends = size_bytes + np.cumsum(part.size_bytes)
        bases += part.base_offset[starts].tolist()
        begins_at += (ends - part.size_bytes)[starts].tolist()
        size_bytes = int(ends[-1])
    bases[0] = min(bases[0], first_offset)
    sizes_bytes = np.diff([*begins_at, size_bytes]).tolist()
    return replace(context, segments=tuple(map(Segment, bases, sizes_bytes)))
