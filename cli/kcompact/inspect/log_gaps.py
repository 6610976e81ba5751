"""Which offsets of a log are missing? One dump cannot show why; the shape gives a hint at most."""

import numpy as np

from kcompact.inspect.inspection import Gap, Gaps
from kcompact.inspect.questions.keys import Longs

MOST_LONGEST = 10


def find_gaps(present: Longs) -> Gaps:
    """The gaps between runs that are ascending and apart."""
    starts, ends = present[:-1, 1], present[1:, 0]
    lengths = ends - starts
    longest = np.argsort(-lengths, kind="stable")[:MOST_LONGEST]
    return Gaps(
        count=len(lengths),
        missing_offsets=int(lengths.sum()),
        single_offset_gaps=int((lengths == 1).sum()),
        longest=tuple(Gap(int(starts[at]), int(ends[at]) - 1, int(lengths[at])) for at in longest),
    )
