"""Summaries of splits against the same figures counted record by record."""

import itertools
from typing import Any, NamedTuple

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kcompact.dumps.records.layout import SplitNotes
from kcompact.dumps.records.record import INDEX_SCHEMA
from kcompact.engine.passes.summaries import NULL_KEY_EXAMPLES, SplitSummary

LOGS = {7: ("orders", 0), -3: ("orders", 1), 2**62: ("users", 0)}
LOGS |= {32 * number + 8: ("many", number) for number in range(40)}  # which want the same place of a map
LARGEST = 2**31 - 1


class Row(NamedTuple):
    """What summaries see of a record."""

    log_id: int
    offset: int
    key: bytes | None
    timestamp_ms: int
    is_tombstone: bool
    record_bytes: int


ROWS = st.builds(
    Row,
    st.sampled_from([7, -3, 2**62]) | st.sampled_from(list(LOGS)),
    st.integers(0, 12) | st.integers(2**63 - 9, 2**63 - 2),
    st.sampled_from([None, b"", b"k"]),
    st.sampled_from([-1, 0, 5, 1_700_000_000_000, 2**62]),
    st.booleans(),
    st.sampled_from([1, 300, LARGEST]),
)
BATCHES = st.lists(st.lists(ROWS, max_size=30), max_size=5)


def batch_of(rows: list[Row]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist(
        [{**row._asdict(), "split_id": 4, "position": number} for number, row in enumerate(rows)],
        schema=INDEX_SCHEMA,
    )


def counted(rows: list[Row]) -> dict[str, Any]:
    offsets, times = [row.offset for row in rows], [row.timestamp_ms for row in rows if row.timestamp_ms >= 0]
    keyless = [row.offset for row in rows if row.key is None]
    return {
        "records": len(rows),
        "record_bytes": sum(row.record_bytes for row in rows),
        "first_offset": min(offsets),
        "last_offset": max(offsets),
        "ascending": all(offset < other for offset, other in itertools.pairwise(offsets)),
        "tombstones": sum(row.is_tombstone and row.key is not None for row in rows),
        "null_keys": len(keyless),
        "null_key_offsets": keyless[:NULL_KEY_EXAMPLES],
        "min_timestamp_ms": min(times, default=-1),
        "max_timestamp_ms": max(times, default=-1),
    }


@pytest.mark.slow
@pytest.mark.usefixtures("loops_or_tables")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(BATCHES, st.booleans())
def test_each_log_is_counted_as_record_by_record(batches: list[list[Row]], sliced: bool) -> None:
    summary = SplitSummary(4, SplitNotes(logs=dict(LOGS)))
    for rows in batches:
        summary.add(batch_of(rows[:1] + rows).slice(1) if sliced else batch_of(rows))

    rows = [row for batch in batches for row in batch]
    logs = {log.log_id: log for log in summary.logs()}
    assert set(logs) == {row.log_id for row in rows}
    for log_id, log in logs.items():
        log_rows = [row for row in rows if row.log_id == log_id]
        expected = counted(log_rows)
        assert {name: getattr(log, name) for name in expected} == expected
        assert (log.split_id, log.topic, log.partition) == (4, *LOGS[log_id])
        held = [offset for start, end in log.runs.tolist() for offset in range(start, end)]
        assert held == sorted({row.offset for row in log_rows})
