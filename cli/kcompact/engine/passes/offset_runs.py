"""Runs of consecutive offsets, [start, end), as int64 of shape (n, 2): ascending, with gaps between them."""

from dataclasses import dataclass, field

import numpy as np

NO_RUNS = np.empty((0, 2), np.int64)
_SMALLEST_MERGE = 1 << 16  # of runs; fewer are not worth a pass


@dataclass
class OffsetRuns:
    """Gathers runs. Memory grows with the number of separate runs, however often a dump repeats an offset."""

    _parts: list[np.ndarray] = field(default_factory=list)
    _count: int = 0
    _merge_above: int = _SMALLEST_MERGE

    def add(self, runs: np.ndarray) -> None:
        """Add runs in any order (``runs_of``)."""
        self._parts.append(runs)
        self._count += len(runs)
        if self._count > self._merge_above:
            runs = self.runs
            self._parts, self._count = [runs], len(runs)
            self._merge_above = max(_SMALLEST_MERGE, 2 * len(runs))

    @property
    def runs(self) -> np.ndarray:
        """The union of all runs that were added."""
        return union_of(np.concatenate([NO_RUNS, *self._parts]))


def runs_of(offsets: np.ndarray, starts: np.ndarray) -> list[np.ndarray]:
    """The runs of each stretch of ``offsets`` (int64, in any order) that begins at one of ``starts``."""
    opens = np.diff(offsets, prepend=0) != 1
    opens[starts] = True
    firsts = np.flatnonzero(opens)
    runs = np.stack([offsets[firsts], offsets[np.append(firsts[1:], len(offsets)) - 1] + 1], axis=1)
    return np.split(runs, np.searchsorted(firsts, starts[1:]))


def union_of(runs: np.ndarray) -> np.ndarray:
    """Runs in any order, overlapping or not, as runs that are ascending and have gaps between them."""
    if len(runs) <= 1:  # usual for a small file
        return runs
    runs = runs[np.argsort(runs[:, 0], kind="stable")]
    reach = np.maximum.accumulate(runs[:, 1])
    opens = np.concatenate([[True], runs[1:, 0] > reach[:-1]])
    closes = np.concatenate([opens[1:], [True]])
    return np.stack([runs[opens, 0], reach[closes]], axis=1)


def count_below(runs: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """How many offsets of ``runs`` (ascending, with gaps between) lie below each of ``offsets`` (int64)."""
    starts, ends = runs[:, 0], runs[:, 1]
    before = np.concatenate([[0], np.cumsum(ends - starts)])
    run = np.searchsorted(starts, offsets, side="left")  # runs that start below
    inside = np.clip(ends[np.maximum(run - 1, 0)] - offsets, 0, None)
    below: np.ndarray = before[run] - np.where(run > 0, inside, 0)
    return below


def runs_from(runs: np.ndarray, offset: int) -> np.ndarray:
    """The part of ``runs`` at and above an offset."""
    reaching = runs[runs[:, 1] > offset]
    return np.stack([np.maximum(reaching[:, 0], offset), reaching[:, 1]], axis=1)


def lacking(runs: np.ndarray, seen: np.ndarray, end_offset: int) -> list[tuple[int, int]]:
    """Ranges [start, end) that are in ``runs`` and below ``end_offset``, but not in ``seen``."""
    holes = list(zip([0, *seen[:, 1].tolist()], [*seen[:, 0].tolist(), end_offset], strict=True))
    ranges: list[tuple[int, int]] = []
    at = 0
    for start, end in runs.tolist():
        while at < len(holes) and holes[at][1] <= start:
            at += 1
        for number in range(at, len(holes)):  # without a slice, as holes and runs may be many
            hole_start, hole_end = holes[number]
            if hole_start >= end:
                break
            low, high = max(start, hole_start), min(end, hole_end, end_offset)
            if low < high:
                ranges.append((low, high))
    return ranges
