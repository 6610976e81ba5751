"""Grouping inside the worker: one row per key of a task, then one per key.

Valid where a log's offsets ascend in the order of its records: then the last row of a key is its latest.
"""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from kcompact.engine.passes.grouped_rows import GROUPED_SCHEMA, MERGE, place_of
from kcompact.engine.passes.offset_map import OffsetMap, loaded_map, merged_by_map

# What one pass looks at, so that a worker's memory does not grow with the dump. Passes of a million rows take
# no less time per row, and four times the memory.
MOST_ROWS = 1 << 18
MOST_BYTES = 32 << 20
MOST_KEYS = 1 << 18  # groups held by a worker; beyond, they go on to the disk


class KeyGrouper:
    """Merges index rows into one row per (log, key): by a compiled loop where it is loaded."""

    def __init__(self) -> None:
        self._grouper: OffsetMap | _TableGrouper | None = None

    def add(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Take index rows in; give groups out only where they grow too many to hold."""
        if self._grouper is None:
            self._grouper = _TableGrouper() if loaded_map() is None else _map_of_groups()
        yield from self._grouper.add(_keyed(batch))

    def finish(self) -> pa.Table:
        """The groups that are left, in GROUPED_SCHEMA."""
        left = self._grouper.finish() if self._grouper else []
        return pa.Table.from_batches(left, GROUPED_SCHEMA)


def _map_of_groups() -> OffsetMap:
    return OffsetMap(GROUPED_SCHEMA, MERGE, MOST_KEYS, MOST_BYTES)


class _TableGrouper:
    """For small dumps, and where there is no compiled code: merges tables of many rows."""

    def __init__(self) -> None:
        self._rows = _Pending(MOST_ROWS)
        self._groups = _Pending(MOST_KEYS)

    def add(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        self._rows.add(pa.Table.from_batches([batch]))
        if not self._rows.is_full():
            return
        rows = self._rows.rows
        groups = _merge(self._rows.take())
        if 2 * groups.num_rows > rows:  # hardly any key came twice: the next rows will not bring it either
            yield from groups.to_batches()
            return
        self._groups.add(groups)
        if self._groups.is_full():
            merged = _merge(self._groups.take())
            if 2 * merged.num_rows > MOST_KEYS:
                yield from merged.to_batches()
            else:
                self._groups.add(merged)

    def finish(self) -> list[pa.RecordBatch]:
        if self._rows.rows:
            self._groups.add(_merge(self._rows.take()))
        if not self._groups.rows:
            return []
        several = len(self._groups.tables) > 1
        groups = self._groups.take()
        return (_merge(groups) if several else groups).to_batches()


class _Pending:
    """Tables that wait until they are worth a pass."""

    def __init__(self, most_rows: int) -> None:
        self._most_rows = most_rows
        self.tables: list[pa.Table] = []
        self.rows = 0
        self._bytes = 0

    def add(self, table: pa.Table) -> None:
        self.tables.append(table)
        self.rows += table.num_rows
        self._bytes += table.nbytes

    def is_full(self) -> bool:
        return self.rows > self._most_rows or self._bytes > MOST_BYTES

    def take(self) -> pa.Table:
        table = pa.concat_tables(self.tables)
        self.tables, self.rows, self._bytes = [], 0, 0
        return table


def passes_for(batches: list[pa.RecordBatch]) -> int:
    """In how many passes so many rows are to be looked at; one at least."""
    rows, size = sum(batch.num_rows for batch in batches), sum(batch.nbytes for batch in batches)
    return max(-(-rows // MOST_ROWS), -(-size // MOST_BYTES), 1)


def merge_groups(groups: list[pa.RecordBatch]) -> pa.Table:
    """One row per (log, key) of rows in GROUPED_SCHEMA, whatever their order."""
    if loaded_map() is None:
        return _merge(pa.Table.from_batches(groups, GROUPED_SCHEMA))
    return pa.Table.from_batches(merged_by_map(GROUPED_SCHEMA, MERGE, groups), GROUPED_SCHEMA)


def _keyed(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Index rows that have a key as groups of one record each."""
    if batch.column("key").null_count:
        batch = batch.filter(batch.column("key").is_valid())
    place = place_of(*(_numpy(batch, name) for name in ("split_id", "record_bytes", "is_tombstone")))
    offset = batch.column("offset")
    arrays = [
        batch.column("log_id"),
        batch.column("key"),
        pa.array(np.ones(batch.num_rows, np.int64)),
        offset,
        offset,
        batch.column("position"),
        pa.array(place),
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=GROUPED_SCHEMA)


def _merge(rows: pa.Table) -> pa.Table:
    """One row per (log, key), by numbers that an encoding gives the keys: a group_by takes twice as long."""
    if not rows.num_rows:
        return GROUPED_SCHEMA.empty_table()
    keys = pa.concat_arrays(rows["key"].chunks)
    columns = {name: rows[name].to_numpy() for name in GROUPED_SCHEMA.names if name != "key"}
    groups = _numbered(keys, columns["log_id"])
    last = np.empty(int(groups.max()) + 1, np.int64)
    last[groups] = np.arange(len(groups))  # of several assignments to one place the last one stays
    offsets = columns["last_offset"]
    if (offsets[last][groups] < offsets).any():
        # Files whose offsets descend, or rows of several passes: their order is not that of the records.
        return _merge(rows.sort_by("last_offset"))
    records, first = np.zeros(len(last), np.int64), columns["first_offset"][last]
    np.add.at(records, groups, columns["records"])
    np.minimum.at(first, groups, columns["first_offset"])
    others = [columns[name][last] for name in ("last_offset", "position", "place")]
    arrays = [columns["log_id"][last], keys.take(pa.array(last)), records, first, *others]
    return pa.table(arrays, schema=GROUPED_SCHEMA)


def _numbered(keys: pa.Array, log_ids: np.ndarray) -> np.ndarray:
    """A number for each row, from 0 on without gaps, equal where log and key are."""
    numbers: np.ndarray = keys.dictionary_encode().indices.to_numpy()
    log_of = np.empty(int(numbers.max()) + 1, np.int64)
    log_of[numbers] = log_ids
    if bool((log_of[numbers] == log_ids).all()):  # each key in one log: the rule, as partitions follow keys
        return numbers
    known, codes = np.unique(log_ids, return_inverse=True)
    pairs = numbers.astype(np.int64) * len(known) + codes
    return np.unique(pairs, return_inverse=True)[1]


def _numpy(batch: pa.RecordBatch, name: str) -> np.ndarray:
    return batch.column(name).to_numpy(zero_copy_only=False)
