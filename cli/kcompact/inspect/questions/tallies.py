"""Counts made record by record while a dump is indexed: kinds of values, ages of tombstones, big records.

A task sends its tallies to the driver; they are small whatever the size of the dump.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

HOUR_MS = 3_600_000
MOST_LARGE = 5
_ROWS_AT_A_TIME = 1 << 17  # each pass costs a millisecond, however few its rows are

VALUE_KINDS = pa.schema([("log_id", pa.int64()), ("value_kind", pa.int8()), ("records", pa.int64())])
TOMBSTONES = pa.schema([("log_id", pa.int64()), ("hour", pa.int64()), ("tombstones", pa.int64())])
LARGEST = pa.schema(
    [("log_id", pa.int64()), ("key", pa.binary()), ("offset", pa.int64()), ("record_bytes", pa.int64())]
)
DELETES = pa.schema([("log_id", pa.int64()), ("delete_events", pa.int64())])
_SCHEMAS = {"value_kinds": VALUE_KINDS, "tombstones": TOMBSTONES, "largest": LARGEST, "deletes": DELETES}


class Tallies:
    """Adds up the index rows of one task, some batches at a time."""

    def __init__(self) -> None:
        self._parts: dict[str, pa.Table] = {name: schema.empty_table() for name, schema in _SCHEMAS.items()}
        self._pending: list[pa.RecordBatch] = []

    def add(self, batch: pa.RecordBatch) -> None:
        """Count one batch of index rows that have the columns of ``key_facts.EXTRA``."""
        self._pending.append(batch)
        if sum(rows.num_rows for rows in self._pending) > _ROWS_AT_A_TIME:
            self._count_pending()

    def _count_pending(self) -> None:
        if not self._pending:
            return
        rows, self._pending = pa.Table.from_batches(self._pending), []
        tombstones = rows.filter(rows["is_tombstone"])
        hours = pa.array(tombstones["timestamp_ms"].to_numpy() // HOUR_MS)
        deletes = rows.filter(rows["is_debezium_delete"])
        new_parts = {
            "value_kinds": _counted(rows.select(["log_id", "value_kind"])),
            "tombstones": _counted(tombstones.select(["log_id"]).append_column("hour", hours)),
            "deletes": _counted(deletes.select(["log_id"])),
            "largest": _largest(rows.select(["log_id", "key", "offset", "record_bytes"])),
        }
        for name, part in new_parts.items():
            new = part.rename_columns(_SCHEMAS[name].names).cast(_SCHEMAS[name])
            self._parts[name] = _merge(name, pa.concat_tables([self._parts[name], new]))

    @property
    def tables(self) -> Mapping[str, pa.Table]:
        """The tallies so far, by name."""
        self._count_pending()
        return self._parts


def added_up(tallies: Sequence[Mapping[str, pa.Table]]) -> Mapping[str, pa.Table]:
    """The tallies of some tasks as one."""
    return {
        name: _merge(name, pa.concat_tables([schema.empty_table(), *(tables[name] for tables in tallies)]))
        for name, schema in _SCHEMAS.items()
    }


def _counted(rows: pa.Table) -> pa.Table:
    return rows.group_by(rows.column_names, use_threads=False).aggregate([([], "count_all")])


def _merge(name: str, rows: pa.Table) -> pa.Table:
    if name == "largest":
        return _largest(rows)
    *keys, count = rows.column_names
    grouped = rows.group_by(keys, use_threads=False).aggregate([(count, "sum")])
    return grouped.rename_columns(rows.column_names)


def _largest(rows: pa.Table) -> pa.Table:
    """The first few by size; of two alike the one with the smaller offset."""
    record_bytes = rows["record_bytes"].to_numpy()
    if len(record_bytes) > MOST_LARGE:
        limit = np.partition(record_bytes, -MOST_LARGE)[-MOST_LARGE]
        rows = rows.filter(pc.greater_equal(rows["record_bytes"], pa.scalar(int(limit))))
    order = [("record_bytes", "descending"), ("offset", "ascending"), ("log_id", "ascending")]
    return rows.take(pc.sort_indices(rows, order)).slice(0, MOST_LARGE)
