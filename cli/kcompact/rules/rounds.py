"""Where full offset maps end rounds (R13 to R15): one scan over a log's records finds all rounds."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from kcompact.arrays import Flags, Longs
from kcompact.rules.files.segments import containing


@dataclass(frozen=True)
class ScanLimits:
    """The bounds and the capacity that the scan of one log's maps has to obey."""

    first_dirty_offset: int
    first_uncleanable_offset: int
    map_limit: int
    rounds: int | None  # None: until clean


@dataclass(frozen=True)
class FullMap:
    """A record that found the map full, and what was read before it.

    ``last_offset`` is the record before it, ``last_kept_offset`` the last one that is not aborted: aborted
    records are gone from a segment that an earlier round rewrote.
    """

    stop_offset: int
    last_put_offset: int
    last_offset: int
    last_kept_offset: int


@dataclass
class MapScan:
    """The maps of one log's rounds, filled by its records in the order of offsets, in chunks of any size."""

    limits: ScanLimits
    full: list[FullMap] = field(default_factory=list)
    entries: int = 0  # of the present round's map
    _round_start: int = 0
    _last_put: int = -1
    _last: int = -1
    _last_kept: int = -1

    def __post_init__(self) -> None:
        self._round_start = self.limits.first_dirty_offset

    def feed(self, offsets: Longs, previous: Longs, mapped: Flags, aborted: Flags) -> None:
        """The next records. ``previous`` is where each key came before, below 0 if nowhere."""
        limits = self.limits
        within = (offsets >= limits.first_dirty_offset) & (offsets < limits.first_uncleanable_offset)
        offsets, previous, mapped, aborted = (
            offsets[within],
            previous[within],
            mapped[within],
            aborted[within],
        )
        while not self._is_over() and len(offsets):
            count = self._fill(offsets, previous, mapped, aborted)
            offsets, previous, mapped = offsets[count:], previous[count:], mapped[count:]
            aborted = aborted[count:]

    def _is_over(self) -> bool:
        return self.limits.rounds is not None and len(self.full) >= self.limits.rounds

    def _fill(self, offsets: Longs, previous: Longs, mapped: Flags, aborted: Flags) -> int:
        """Fill the map from records until it is full; how many records that took."""
        opened = np.cumsum(mapped & (previous < self._round_start)) + self.entries
        # The test comes before the put, known key or not: what counts is the entries before each record.
        before = np.concatenate(([self.entries], opened[:-1]))
        finds_full = np.flatnonzero(mapped & (before >= self.limits.map_limit))
        count = int(finds_full[0]) if len(finds_full) else len(offsets)
        if count:
            read = offsets[:count]
            self.entries = int(opened[count - 1])
            self._last = int(read[-1])
            self._last_kept = _last_of(read[~aborted[:count]], self._last_kept)
            self._last_put = _last_of(read[mapped[:count]], self._last_put)
        if len(finds_full):
            stop = int(offsets[count])
            self.full.append(FullMap(stop, self._last_put, self._last, self._last_kept))
            self._round_start, self.entries = stop, 0
        return count


def _last_of(offsets: Longs, default: int) -> int:
    return int(offsets[-1]) if len(offsets) else default


@dataclass(frozen=True)
class RoundSpan:
    """The offsets that one round covers; ends are exclusive."""

    first_dirty_offset: int
    next_offset: int
    rewritten_end_offset: int
    map_entries: int | None  # None: counted later, the map was never full
    map_is_full: bool


def spans_of(limits: ScanLimits, scan: MapScan | None, bases: Sequence[int] | None) -> list[RoundSpan]:
    """The rounds of one log in order. ``bases``: of its segments; None: each record is its own segment."""
    full = [] if scan is None else scan.full
    spans: list[RoundSpan] = []
    first_dirty = limits.first_dirty_offset
    for stop in full:
        rewritten = spans[-1].rewritten_end_offset if spans else 0
        next_offset = stop.stop_offset if bases is None else _next_offset(stop, bases, rewritten)
        end = rewritten_end(next_offset, bases)
        spans.append(RoundSpan(first_dirty, next_offset, end, limits.map_limit, map_is_full=True))
        first_dirty = next_offset
    if limits.rounds is None or len(spans) < limits.rounds:
        bound = limits.first_uncleanable_offset
        entries = None if scan is None else scan.entries
        end = rewritten_end(bound, bases)
        spans.append(RoundSpan(first_dirty, bound, end, entries, map_is_full=False))
    return spans


def rewritten_end(next_offset: int, bases: Sequence[int] | None) -> int:
    """The base of the first segment that a round does not rewrite (``Cleaner.doClean``, R16)."""
    if bases is None:
        return next_offset
    return next((base for base in bases if base >= next_offset), next_offset)


def _next_offset(stop: FullMap, bases: Sequence[int], rewritten_before: int) -> int:
    """Next of a full map: after the last record read in its segment, or the segment base (R14, R15)."""
    base = bases[containing(bases, stop.stop_offset)]
    last = stop.last_kept_offset if base < rewritten_before else stop.last_offset
    return max(stop.last_put_offset, last, base - 1) + 1
