"""Where unknown segments end: rolled as a broker would have rolled them (``LogSegment.shouldRoll``, R4)."""

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
        """Whether an index can be full before the segment is: an entry stands for more than an interval."""
        entries = self.segment_bytes // max(self.index_interval_bytes, 1) + 1
        return entries >= min(self.most_offset_entries, self.most_time_entries)

    @property
    def most_offset_entries(self) -> int:
        """Entries that fill an offset index."""
        return self.segment_index_bytes // OFFSET_INDEX_ENTRY_BYTES

    @property
    def most_time_entries(self) -> int:
        """Entries that fill a time index: one fewer than fit, the last place is kept for closing."""
        return self.segment_index_bytes // TIME_INDEX_ENTRY_BYTES - 1


def roll_settings(policy: Policy) -> RollSettings:
    """The settings of a topic; jitter is taken as none."""
    return RollSettings(
        segment_bytes_of(policy),
        roll_limit_ms(policy),
        policy.segment_index_bytes,
        policy.index_interval_bytes,
    )


@dataclass(frozen=True)
class Appends:
    """Ascending appends to one log, batches or records that count as one each, as columns of one length."""

    offsets: Longs
    timestamps_ms: Longs
    sizes_bytes: Longs


class Roller:
    """Rolls one log whose appends are fed piece by piece, in ascending order."""

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
        begins_at = -self._size_bytes  # of the present segment, on the scale of ``ends``
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
        """The first append of a segment, which never rolls whatever its size."""
        self._base_offset = int(appends.offsets[start])
        self._first_timestamp_ms = int(appends.timestamps_ms[start])
        self._index = IndexFill()
        self._fill_index(appends, start, start + 1)

    def _next_start(self, appends: Appends, ends: Longs, at: int, begins_at: int) -> int:
        """The first append from ``at`` on that the segment does not take; their number if it takes all."""
        full_at = int(np.searchsorted(ends, begins_at + self._settings.segment_bytes, side="right"))
        last_offset = (self._base_offset or 0) + MAX_OFFSET_SPAN
        far_at = int(np.searchsorted(appends.offsets, last_offset, side="right"))
        start = max(at, min(full_at, far_at))
        if self._first_timestamp_ms >= 0:  # else a broker looks at its wall clock, which nobody knows
            late = appends.timestamps_ms[at:start] - self._first_timestamp_ms > self._settings.limit_ms
            start = at + int(np.argmax(late)) if late.any() else start
        return self._fill_index(appends, at, start)

    def _fill_index(self, appends: Appends, at: int, end: int) -> int:
        """Append from ``at`` up to ``end``; stops at the append that meets a full index and returns it."""
        if not self._index_may_fill:
            return end
        sizes_bytes, timestamps_ms = appends.sizes_bytes[at:end], appends.timestamps_ms[at:end]
        rows = zip(map(int, sizes_bytes), map(int, timestamps_ms), strict=True)  # most may stay unread
        appends_before = self._index.appends
        self._index = self._index.after(rows, self._settings.index_interval_bytes, *self._most_entries)
        return at + self._index.appends - appends_before


def with_rolled_segments(context: LogContext, policy: Policy, first_offset: int) -> LogContext:
    """With rolled segments where a log's batches are known, and nothing tells in which segments they are.

    Records from ``first_offset`` on that lie before the first batch are in the first segment, those behind
    the last batch in the active one.
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
