"""Which offsets of a log are missing? With one dump nobody can know why; the shape gives a hint at most."""

import numpy as np

from kcompact.inspect.inspection import Gap, Gaps
from kcompact.inspect.questions.keys import Longs

MOST_LONGEST = 10
_NO_RUNS = np.empty((0, 2), np.int64)


def union_of(runs: Longs) -> Longs:
    """Runs [start, end) in any order, overlapping or not, as ascending runs that are apart: (n, 2)."""
    if not len(runs):
        return _NO_RUNS
    runs = runs[np.argsort(runs[:, 0], kind="stable")]
    reach = np.maximum.accumulate(runs[:, 1])
    opens = np.concatenate([[True], runs[1:, 0] > reach[:-1]])
    closes = np.concatenate([opens[1:], [True]])
    return np.stack([runs[opens, 0], reach[closes]], axis=1)


def find_gaps(present: Longs) -> Gaps:
    """The gaps between runs as ``union_of`` gives them."""
    starts, ends = present[:-1, 1], present[1:, 0]
    lengths = ends - starts
    longest = np.argsort(-lengths, kind="stable")[:MOST_LONGEST]
    return Gaps(
        count=len(lengths),
        missing_offsets=int(lengths.sum()),
        single_offset_gaps=int((lengths == 1).sum()),
        longest=tuple(Gap(int(starts[at]), int(ends[at]) - 1, int(lengths[at])) for at in longest),
    )
