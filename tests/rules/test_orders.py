"""Orders against Python's own sort, where numbers are dense, sparse, repeated, or as large as they can be."""

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from kcompact.rules.orders import order_by_group, order_by_pairs, order_by_place

OFFSETS = st.integers(0, 12) | st.integers(0, 10**6) | st.integers(2**63 - 9, 2**63 - 2)
LOGS = st.sampled_from([-(2**63), -1, 0, 2**62])
PLACES = st.lists(st.tuples(LOGS, OFFSETS, st.integers(0, 2), st.integers(0, 2)), max_size=40)


@given(PLACES | st.permutations([(7, offset, 0, 0) for offset in range(30)]))
def test_rows_come_by_log_offset_and_place(places: list[tuple[int, int, int, int]]) -> None:
    names = ("log_id", "offset", "split_id", "position")
    columns = {name: [place[at] for place in places] for at, name in enumerate(names)}
    rows = pa.table({name: pa.array(values, pa.int64()) for name, values in columns.items()})
    assert [places[at] for at in order_by_place(rows)] == sorted(places)


@given(st.lists(st.tuples(st.integers(0, 3) | st.integers(0, 2**40), OFFSETS), max_size=30))
def test_pairs_come_in_order_or_not_at_all(pairs: list[tuple[int, int]]) -> None:
    groups, offsets = np.array(pairs, np.int64).reshape(-1, 2).T
    order = order_by_pairs(groups, offsets)
    if order is None:
        largest = max(group for group, _ in pairs) + 1
        span = max(offset for _, offset in pairs) - min(offset for _, offset in pairs) + 1
        assert len(set(pairs)) < len(pairs) or largest * span > 2**62
    else:
        assert [pairs[at] for at in order] == sorted(pairs)


@given(st.lists(st.tuples(st.integers(0, 3), OFFSETS, st.booleans()), max_size=30))
def test_of_two_at_one_place_the_second_comes_second(rows: list[tuple[int, int, bool]]) -> None:
    groups, offsets, is_second = (np.array([row[at] for row in rows], np.int64) for at in range(3))
    order = order_by_group(groups, offsets, is_second.astype(bool))
    assert [rows[at] for at in order] == sorted(rows)


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 2**30)), max_size=30, unique=True))
def test_groups_that_arrow_numbered_with_32_bits_come_in_order(pairs: list[tuple[int, int]]) -> None:
    groups, offsets = np.array(pairs, np.int64).reshape(-1, 2).T
    order = order_by_group(groups.astype(np.int32), offsets, np.zeros(len(pairs), np.bool_))
    assert [pairs[at] for at in order] == sorted(pairs)
