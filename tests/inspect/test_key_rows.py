"""Rows of keys against the same facts gathered record by record, with compiled code and without."""

from collections.abc import Iterator
from random import Random
from typing import Any, NamedTuple

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kcompact.dumps.records.record import index_schema
from kcompact.engine.passes import grouping
from kcompact.engine.passes.grouping import KeyGrouper
from kcompact.inspect.questions.key_facts import EXTRA, KEY_ROW, KEY_ROWS, regrouped


class Row(NamedTuple):
    """What key rows see of a record, but for its offset."""

    log_id: int
    key: bytes | None
    timestamp_ms: int
    is_tombstone: bool
    is_debezium_delete: bool
    record_bytes: int


ROWS = st.builds(
    Row,
    st.integers(-1, 1),
    st.none() | st.text("ab", max_size=9).map(str.encode),
    st.integers(-1, 3),
    st.booleans(),
    st.booleans(),
    st.integers(1, 2**31 - 1),
)
TASKS = st.lists(st.lists(ROWS, max_size=20), max_size=4)


@pytest.fixture(params=[5, 10**6])
def _limits(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patch:
        patch.setattr(grouping, "MOST_ROWS", request.param)
        patch.setattr(grouping, "MOST_KEYS", request.param)
        yield


def batch_of(rows: list[tuple[int, Row]]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist(
        [
            {**row._asdict(), "offset": offset, "split_id": 1, "position": offset, "value_kind": 0}
            for offset, row in rows
        ],
        schema=index_schema(EXTRA),
    )


def facts(rows: list[tuple[int, Row]]) -> dict[str, Any]:
    """Of one key, by offset."""
    offsets = [offset for offset, _ in rows]
    _, latest = max(rows, key=lambda row: row[0])
    return {
        "records": len(rows),
        "record_bytes": sum(row.record_bytes for _, row in rows),
        "first_offset": min(offsets),
        "last_offset": max(offsets),
        "max_timestamp_ms": max(row.timestamp_ms for _, row in rows),
        "last_tombstone_offset": max((offset for offset, row in rows if row.is_tombstone), default=-1),
        "last_delete_offset": max((offset for offset, row in rows if row.is_debezium_delete), default=-1),
        "last_timestamp_ms": latest.timestamp_ms,
        "latest": latest.record_bytes << 1 | latest.is_tombstone,
    }


@pytest.mark.slow
@pytest.mark.usefixtures("_limits", "loops_or_tables")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(TASKS, st.randoms())
def test_rows_of_all_tasks_make_one_row_a_key(tasks: list[list[Row]], chance: Random) -> None:
    offsets = iter(chance.sample(range(1000), 80))
    numbered = [[(next(offsets), row) for row in rows] for rows in tasks]
    groups: list[pa.RecordBatch] = []
    for rows in numbered:
        grouper = KeyGrouper(KEY_ROWS)
        for first in range(0, len(rows), 7):
            groups += grouper.add(batch_of(rows[first : first + 7]))
        groups += grouper.finish().to_batches()
    merged = regrouped(groups).select(KEY_ROW.names).to_pylist()

    by_key: dict[tuple[int, bytes], list[tuple[int, Row]]] = {}
    for offset, row in (pair for rows in numbered for pair in rows):
        if row.key is not None:
            by_key.setdefault((row.log_id, row.key), []).append((offset, row))
    assert {(row.pop("log_id"), row.pop("key")): row for row in merged} == {
        key: facts(rows) for key, rows in by_key.items()
    }
    assert len(merged) == len(by_key)
