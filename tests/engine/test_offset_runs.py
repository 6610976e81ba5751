"""Runs of offsets against plain sets, and the memory that they take."""

import itertools
import tracemalloc

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kcompact.engine.passes.offset_runs import OffsetRuns, runs_of

OFFSETS = st.lists(st.integers(0, 40) | st.integers(2**62, 2**62 + 3), min_size=1, max_size=30)


@given(st.lists(OFFSETS, max_size=6))
def test_runs_hold_each_offset_once_ascending_and_apart(batches: list[list[int]]) -> None:
    gathered = OffsetRuns()
    for offsets in batches:
        gathered.add(*runs_of(np.array(offsets, np.int64), np.array([0])))
    runs = gathered.runs.tolist()
    held = [offset for start, end in runs for offset in range(start, end)]
    assert held == sorted({offset for offsets in batches for offset in offsets})
    assert all(end < start for (_, end), (start, _) in itertools.pairwise(runs))


def test_offsets_that_come_again_and_again_take_no_memory() -> None:
    gathered = OffsetRuns()
    again = np.tile(np.array([7, 8, 5], np.int64), 10_000)
    tracemalloc.start()
    for _ in range(100):  # 3 million records, 32 MB of runs
        gathered.add(*runs_of(again, np.array([0])))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert gathered.runs.tolist() == [[5, 6], [7, 9]]
    assert peak < 16 << 20
