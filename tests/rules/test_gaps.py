import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kcompact.compact.output.split_figures import gap_rows
from kcompact.engine.passes.offset_runs import count_below

offsets = st.sets(st.integers(0, 80), min_size=1).map(sorted)


def runs_of(present: list[int]) -> np.ndarray:
    runs: list[list[int]] = []
    for offset in present:
        if runs and runs[-1][1] == offset:
            runs[-1][1] = offset + 1
        else:
            runs.append([offset, offset + 1])
    return np.array(runs, dtype=np.int64)


@given(offsets)
def test_runs_are_counted_below_an_offset(present: list[int]) -> None:
    asked = np.arange(-2, 90)

    counted = count_below(runs_of(present), asked)

    assert [sum(offset < bound for offset in present) for bound in asked.tolist()] == counted.tolist()


@given(offsets, st.data())
def test_every_missing_offset_between_survivors_is_in_one_gap(
    present: list[int], data: st.DataObject
) -> None:
    kept = sorted(data.draw(st.sets(st.sampled_from(present), min_size=1)))

    bounds = [(low + 1, high) for low, high in itertools.pairwise(kept) if high - low > 1]
    starts, ends = np.array(bounds, np.int64).reshape(-1, 2).T
    gaps = gap_rows(starts, ends, runs_of(present)).tolist()

    expected = [
        [low + 1, high, sum(offset not in present for offset in range(low + 1, high))]
        for low, high in itertools.pairwise(kept)
        if high - low > 1
    ]
    assert expected == gaps
