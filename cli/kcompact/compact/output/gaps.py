"""Gaps: ranges of offsets that hold no record, and how much of each was missing before the run."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Presence:
    """Which offsets of a log were present before: runs [start, end), ascending and apart, (n, 2) int64."""

    runs: np.ndarray

    def count_below(self, offsets: np.ndarray) -> np.ndarray:
        """How many present offsets lie below each of ``offsets`` (int64)."""
        starts, ends = self.runs[:, 0], self.runs[:, 1]
        before = np.concatenate([[0], np.cumsum(ends - starts)])
        run = np.searchsorted(starts, offsets, side="left")  # runs that start below
        inside = np.clip(ends[np.maximum(run - 1, 0)] - offsets, 0, None)
        return before[run] - np.where(run > 0, inside, 0)


def gap_rows(starts: np.ndarray, ends: np.ndarray, presence: Presence) -> np.ndarray:
    """Gaps from ``starts`` to ``ends`` (exclusive; int64) between neighbouring kept offsets.

    Rows (n, 3): first missing offset, end offset (exclusive), how many of them were missing before.
    """
    if not len(starts):
        return np.empty((0, 3), dtype=np.int64)
    present = presence.count_below(ends) - presence.count_below(starts)
    return np.stack([starts, ends, ends - starts - present], axis=1)
