"""Counts made record by record while a dump is indexed: kinds of values, ages of tombstones, big records.

A task sends its tallies to the driver; they are small whatever the size of the dump.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kcompact.dumps.records.record import are_tombstones, index_schema
from kcompact.inspect.questions.key_facts import EXTRA
from kcompact.inspect.questions.keys import summed

HOUR_MS = 3_600_000
MOST_LARGE = 5
_ROWS_AT_A_TIME = 1 << 17  # each pass costs a millisecond, however few its rows are

COUNTED = {"value_kinds": "records", "tombstones": "tombstones", "deletes": "delete_events"}
"""The names of tallies that are counts of records, and of their last column."""


class Tallies:
    """Adds up the index rows of one task, some batches at a time."""

    def __init__(self) -> None:
        self._tables = _tallies_of(index_schema(EXTRA).empty_table())
        self._pending: list[pa.RecordBatch] = []

    def add(self, batch: pa.RecordBatch) -> None:
        """Count one batch of index rows that have the columns of ``key_facts.EXTRA``."""
        self._pending.append(batch)
        if sum(rows.num_rows for rows in self._pending) > _ROWS_AT_A_TIME:
            self._count_pending()

    @property
    def tables(self) -> Mapping[str, pa.Table]:
        """The tallies so far, by name."""
        self._count_pending()
        return self._tables

    def _count_pending(self) -> None:
        if self._pending:
            new_tables = _tallies_of(pa.Table.from_batches(self._pending))
            self._tables, self._pending = added_up([self._tables, new_tables]), []


def _tallies_of(rows: pa.Table) -> Mapping[str, pa.Table]:
    """Rows of (log_id, what is counted, number of records), and the largest records."""
    tombstones = rows.filter(pa.array(are_tombstones(rows)))
    hours = pa.array(tombstones["timestamp_ms"].to_numpy() // HOUR_MS)
    counted = {
        "value_kinds": rows.select(["log_id", "value_kind"]),
        "tombstones": tombstones.select(["log_id"]).append_column("hour", hours),
        "deletes": rows.filter(rows["is_debezium_delete"]).select(["log_id"]),
    }
    tables = {
        name: summed(
            table.append_column(COUNTED[name], pa.array(np.ones(len(table), np.int64))), table.column_names
        )
        for name, table in counted.items()
    }
    return {**tables, "largest": _largest(rows.select(["log_id", "key", "offset", "record_bytes"]))}


def added_up(tallies: Sequence[Mapping[str, pa.Table]]) -> Mapping[str, pa.Table]:
    """The tallies of some tasks as one."""
    tables = {name: pa.concat_tables([table[name] for table in tallies]) for name in (*COUNTED, "largest")}
    counts = {name: summed(tables[name], tables[name].column_names[:-1]) for name in COUNTED}
    return {**counts, "largest": _largest(tables["largest"])}


def _largest(rows: pa.Table) -> pa.Table:
    """The first few by size; of equal ones that with the smaller offset."""
    record_bytes = rows["record_bytes"].to_numpy()
    if len(record_bytes) > MOST_LARGE:
        limit = np.partition(record_bytes, -MOST_LARGE)[-MOST_LARGE]
        rows = rows.filter(pc.greater_equal(rows["record_bytes"], pa.scalar(int(limit))))
    order = [("record_bytes", "descending"), ("offset", "ascending"), ("log_id", "ascending")]
    return rows.take(pc.sort_indices(rows, order)).slice(0, MOST_LARGE)
