from collections.abc import Iterator
from random import Random

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kcompact.dumps.loops.readiness import load_loops
from kcompact.dumps.records.record import INDEX_SCHEMA
from kcompact.engine.passes import grouping, offset_map
from kcompact.engine.passes.grouped_rows import GROUPED
from kcompact.engine.passes.grouping import KeyGrouper
from kcompact.errors import EngineError

alike = st.text("ab\0", max_size=20).map(str.encode)  # of all lengths around a word of eight bytes
records = st.lists(
    st.tuples(st.integers(-1, 1), st.sampled_from([None, b"", b"a", b"b", b"a\0"]) | alike), max_size=60
)


def index_batch(rows: list[tuple[int, bytes | None]], first: int) -> pa.RecordBatch:
    numbers = range(first, first + len(rows))
    columns = [
        [log_id for log_id, _ in rows],
        [n * 10 for n in numbers],
        [key for _, key in rows],
        [0 for _ in rows],
        [n % 2 == 0 for n in numbers],
        [4 for _ in rows],
        [n * 100 for n in numbers],
        [n + 1 for n in numbers],
    ]
    arrays = [pa.array(column, field.type) for column, field in zip(columns, INDEX_SCHEMA, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=INDEX_SCHEMA)


def expected(rows: list[tuple[int, bytes | None]]) -> set[tuple[object, ...]]:
    groups: dict[tuple[int, bytes], list[int]] = {}
    for number, (log_id, key) in enumerate(rows):
        if key is not None:
            groups.setdefault((log_id, key), []).append(number)
    return {
        (
            *pair,
            len(n),
            n[0] * 10,
            n[-1] * 10,
            n[-1] * 100,
            (4 << 32) | ((n[-1] + 1) << 1) | (n[-1] % 2 == 0),
        )
        for pair, n in groups.items()
    }


@pytest.fixture(params=[1, 7, 10**6])
def _limits(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patch:
        patch.setattr(grouping, "MOST_ROWS", request.param)
        patch.setattr(grouping, "MOST_KEYS", request.param)
        patch.setattr(grouping, "MOST_BYTES", 4 * request.param)
        yield


@pytest.mark.everyday(2)
@pytest.mark.usefixtures("_limits", "loops_or_tables")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(records, st.integers(1, 20))
def test_groups_hold_count_first_and_latest(rows: list[tuple[int, bytes | None]], size: int) -> None:
    grouper = KeyGrouper(GROUPED)
    groups: list[pa.RecordBatch] = []
    for first in range(0, len(rows), size):
        groups += grouper.add(index_batch(rows[first : first + size], first))
    merged = GROUPED.merged([*groups, *grouper.finish().to_batches()])

    assert {tuple(row.values()) for row in merged.to_pylist()} == expected(rows)
    assert merged.num_rows == len(expected(rows))


@pytest.mark.slow
@pytest.mark.usefixtures("loops_or_tables")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(records, max_size=6), st.randoms())
def test_groups_of_many_tasks_are_merged_in_any_order(
    tasks: list[list[tuple[int, bytes | None]]], chance: Random
) -> None:
    groups, first = [], 0
    for rows in tasks:
        grouper = KeyGrouper(GROUPED)
        groups += [*grouper.add(index_batch(rows, first)), *grouper.finish().to_batches()]
        first += len(rows)
    chance.shuffle(groups)
    merged = GROUPED.merged(groups)

    rows = [row for task in tasks for row in task]
    assert {tuple(row.values()) for row in merged.to_pylist()} == expected(rows)
    assert merged.num_rows == len(expected(rows))


@pytest.mark.everyday(1)
@pytest.mark.usefixtures("_limits")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(records, st.integers(1, 20))
def test_a_map_tells_which_record_of_a_key_came_before(
    rows: list[tuple[int, bytes | None]], size: int
) -> None:
    """Each record of a key but the first one of a group is told of the record before it."""
    assert load_loops("json_lines")
    grouper = KeyGrouper(GROUPED, ("last_offset", "position"))
    keyed = [(number, row) for number, row in enumerate(rows) if row[1] is not None]
    groups, told = 0, list[list[int]]()
    for first in range(0, len(rows), size):
        groups += sum(map(len, grouper.add(index_batch(rows[first : first + size], first))))
        told += grouper.before.T.tolist()
    groups += grouper.finish().num_rows

    assert len(told) == len(keyed)
    assert sum(before == [-1, -1] for before in told) == groups
    for at, (_, row) in enumerate(keyed):
        earlier = [number for number, other in keyed[:at] if other == row]
        assert told[at] in [[-1, -1], [earlier[-1] * 10, earlier[-1] * 100] if earlier else [-1, -1]]


def test_more_bytes_of_keys_than_a_column_holds_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    assert load_loops("json_lines")
    monkeypatch.setattr(offset_map, "MOST_KEY_BYTES", 20)
    tens = [index_batch([(0, bytes([letter]) * 10)] * 3, 3 * at) for at, letter in enumerate(b"abab")]
    groups = [pa.RecordBatch.from_pylist([], GROUPED.schema)]
    for batch in tens:
        grouper = KeyGrouper(GROUPED)
        groups += [*grouper.add(batch), *grouper.finish().to_batches()]

    assert GROUPED.merged(groups).num_rows == 2
    one_more = GROUPED.of_records(index_batch([(0, b"c")], 99))
    with pytest.raises(EngineError, match="keys of more than 20 bytes"):
        GROUPED.merged([*groups, one_more])
