"""Grouping inside the worker: one row per key of a task, then one per key.

Valid where a log's offsets ascend in the order of its records: then the last row of a key is its latest.
"""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

MOST_ROWS = 1_000_000  # index rows that wait to be grouped: in one pass, as a rule all of a task
MOST_BYTES = 256 << 20
MOST_KEYS = 2_000_000  # groups held by a worker; beyond, they go on to the disk

GROUPED_SCHEMA = pa.schema(
    [
        pa.field("log_id", pa.int64()),
        pa.field("key", pa.binary()),
        pa.field("records", pa.int64()),
        pa.field("first_offset", pa.int64()),
        pa.field("last_offset", pa.int64()),
        pa.field("position", pa.int64()),  # of the latest record, in its split
        pa.field("place", pa.int64()),  # of the latest record: place_of(split, bytes, tombstone)
    ]
)
_MERGE = [
    ("records", "sum"),
    ("first_offset", "min"),
    ("last_offset", "last"),
    ("position", "last"),
    ("place", "last"),
]


def place_of(split_id: np.ndarray, record_bytes: np.ndarray, is_tombstone: np.ndarray) -> np.ndarray:
    """Split, size and kind of a record in one long, so that Spark aggregates longs by hash, not structs."""
    return (split_id.astype(np.int64) << 32) | (record_bytes.astype(np.int64) << 1) | is_tombstone


def split_of(place: np.ndarray) -> np.ndarray:
    """The split id in ``place``."""
    return place >> 32


def record_bytes_of(place: np.ndarray) -> np.ndarray:
    """The record's bytes in the dump, in ``place``."""
    return (place >> 1) & 0x7FFFFFFF


def is_tombstone_of(place: np.ndarray) -> np.ndarray:
    """Whether the record is a tombstone, in ``place``."""
    return (place & 1).astype(bool)


class KeyGrouper:
    """Merges index rows into one row per (log, key)."""

    def __init__(self) -> None:
        self._rows = _Pending(MOST_ROWS)
        self._groups = _Pending(MOST_KEYS)

    def add(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Take index rows in; give groups out only where they grow too many to hold."""
        self._rows.add(pa.Table.from_batches([_keyed(batch)]))
        if self._rows.is_full():
            self._groups.add(_group(self._rows.take()))
        if self._groups.is_full():
            merged = _merge(self._groups.take())
            if merged.num_rows > MOST_KEYS // 2:
                yield from merged.to_batches()
            else:
                self._groups.add(merged)

    def finish(self) -> pa.Table:
        """The groups that are left, in GROUPED_SCHEMA."""
        if self._rows.rows:
            self._groups.add(_group(self._rows.take()))
        if not self._groups.rows:
            return GROUPED_SCHEMA.empty_table()
        several = len(self._groups.tables) > 1
        groups = self._groups.take()
        return _merge(groups) if several else groups


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


def merge_groups(groups: list[pa.RecordBatch]) -> pa.Table:
    """One row per (log, key) of rows in GROUPED_SCHEMA, whatever their order."""
    table = pa.Table.from_batches(groups, GROUPED_SCHEMA)
    merged = table.group_by(["log_id", "key"], use_threads=False).aggregate([*_MERGE, ("last_offset", "max")])
    *_, last_offset, _, _, highest = merged.columns
    if last_offset != highest:  # files whose offsets descend: their order is not that of the records
        return _merge(table.sort_by("last_offset"))
    return merged.drop_columns(["last_offset_max"]).rename_columns(GROUPED_SCHEMA.names)


def _merge(table: pa.Table) -> pa.Table:
    """One row per (log, key); the last row of a key is its latest."""
    merged = table.group_by(["log_id", "key"], use_threads=False).aggregate(_MERGE)
    return merged.rename_columns(GROUPED_SCHEMA.names)


def _keyed(batch: pa.RecordBatch) -> pa.RecordBatch:
    """What grouping needs of index rows that have a key."""
    if batch.column("key").null_count:
        batch = batch.filter(batch.column("key").is_valid())
    place = place_of(*(_numpy(batch, name) for name in ("split_id", "record_bytes", "is_tombstone")))
    names = ["log_id", "key", "offset", "position"]
    return pa.RecordBatch.from_arrays(
        [*(batch.column(name) for name in names), pa.array(place)], [*names, "place"]
    )


def _group(rows: pa.Table) -> pa.Table:
    """Rows of ``_keyed`` to groups, by numbers that an encoding gives the keys, twice as fast."""
    if not rows.num_rows:
        return GROUPED_SCHEMA.empty_table()
    keys = pa.concat_arrays(rows["key"].chunks)
    groups = _numbered(keys, rows["log_id"].to_numpy())
    number = np.arange(len(groups))
    records = np.bincount(groups)
    first, last = np.empty(len(records), np.int64), np.empty(len(records), np.int64)
    # Of several assignments to one place the last one stays.
    first[groups[::-1]] = number[::-1]
    last[groups] = number
    columns = {name: rows[name].to_numpy() for name in ("log_id", "offset", "position", "place")}
    arrays = [
        columns["log_id"][last],
        keys.take(pa.array(last)),
        records,
        columns["offset"][first],
        columns["offset"][last],
        columns["position"][last],
        columns["place"][last],
    ]
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
