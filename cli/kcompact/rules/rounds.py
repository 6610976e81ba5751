"""Where full offset maps end rounds (R13 to R15). One scan over the records of a log finds all its rounds."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from kcompact.arrays import Flags, Longs
from kcompact.rules.files.segments import containing


@dataclass(frozen=True)
class ScanLimits:
    """Limits of the scan of one log: the range of offsets, the keys per map, and the number of rounds."""

    first_dirty_offset: int
    first_uncleanable_offset: int
    map_limit: int  # keys
    rounds: int | None  # None: as many as it takes until the log is clean


@dataclass(frozen=True)
class FullMap:
    """A record (at ``stop_offset``) that found the map full, and the offsets of records read before it.

    ``last_put_offset`` is the last record that entered the map, ``last_offset`` the last record of all, and
    ``last_kept_offset`` the last one that is not aborted: an earlier round may have rewritten the segment,
    and aborted records are gone from it then. An offset is -1 where there is no such record.
    """

    stop_offset: int
    last_put_offset: int
    last_offset: int
    last_kept_offset: int


@dataclass
class MapScan:
    """The maps of one log's rounds, filled with its records in the order of offsets, chunk by chunk."""

    limits: ScanLimits
    full: list[FullMap] = field(default_factory=list)
    entries: int = 0  # in the map of the current round
    _round_start: int = 0
    _last_put: int = -1
    _last: int = -1
    _last_kept: int = -1

    def __post_init__(self) -> None:
        self._round_start = self.limits.first_dirty_offset

    def feed(self, offsets: Longs, previous: Longs, mapped: Flags, aborted: Flags) -> None:
        """Fill the maps with the next records.

        ``previous`` holds, for each record, the offset of the mapped record of its key before it; negative:
        none.
        """
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
        """Fill the current map until it is full, and return how many records that took."""
        opened = np.cumsum(mapped & (previous < self._round_start)) + self.entries
        # A broker tests for room before it looks up the key (R13), so the entries before each record count.
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
    map_entries: int | None  # None: the map does not get full, and its entries are counted later
    map_is_full: bool


def spans_of(limits: ScanLimits, scan: MapScan | None, bases: Sequence[int] | None) -> list[RoundSpan]:
    """The rounds of one log in order, each full map of ``scan`` being the end of one.

    ``bases`` has the base offsets of the segments, or is None where each record counts as a segment.
    """
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
    """The first dirty offset after a round that a full map ends (R14, R15).

    It lies behind the last record that was read in the segment of the stop, or is the base of this segment.
    """
    base = bases[containing(bases, stop.stop_offset)]
    last = stop.last_kept_offset if base < rewritten_before else stop.last_offset
    return max(stop.last_put_offset, last, base - 1) + 1
