"""Runs of offsets: [start, end) of consecutive ones, as (n, 2) int64, ascending and apart."""

from dataclasses import dataclass, field

import numpy as np

NO_RUNS = np.empty((0, 2), np.int64)
_SMALLEST_MERGE = 1 << 16  # of runs; fewer are not worth a pass


@dataclass
class OffsetRuns:
    """Runs that are gathered. Memory follows what is apart, however often a dump repeats an offset."""

    _parts: list[np.ndarray] = field(default_factory=list)
    _count: int = 0
    _merge_above: int = _SMALLEST_MERGE

    def add(self, offsets: np.ndarray) -> None:
        """Add offsets (int64, at least one) in any order."""
        cuts = np.flatnonzero(np.diff(offsets) != 1)
        starts = np.concatenate([offsets[:1], offsets[cuts + 1]])
        ends = np.concatenate([offsets[cuts], offsets[-1:]]) + 1
        self._parts.append(np.stack([starts, ends], axis=1))
        self._count += len(starts)
        if self._count > self._merge_above:
            runs = self.runs
            self._parts, self._count = [runs], len(runs)
            self._merge_above = max(_SMALLEST_MERGE, 2 * len(runs))

    @property
    def runs(self) -> np.ndarray:
        """All that was added."""
        return union_of(np.concatenate([NO_RUNS, *self._parts]))


def union_of(runs: np.ndarray) -> np.ndarray:
    """Runs in any order, overlapping or not, as runs that are ascending and apart."""
    if not len(runs):
        return NO_RUNS
    runs = runs[np.argsort(runs[:, 0], kind="stable")]
    reach = np.maximum.accumulate(runs[:, 1])
    opens = np.concatenate([[True], runs[1:, 0] > reach[:-1]])
    closes = np.concatenate([opens[1:], [True]])
    return np.stack([runs[opens, 0], reach[closes]], axis=1)
