"""Rows that stand for all records of a key: what tasks that read send those that merge.

Valid where a log's offsets ascend in the order of its records: then the last row of a key is its latest.
"""

from functools import partial

import numpy as np
import pyarrow as pa

from kcompact.engine.passes.grouping import KeyGrouping

GROUPED_SCHEMA = pa.schema(
    [
        pa.field("log_id", pa.int64()),
        pa.field("key", pa.binary()),
        pa.field("records", pa.int64()),
        pa.field("first_offset", pa.int64()),
        pa.field("last_offset", pa.int64()),
        pa.field("position", pa.int64()),  # of the latest record, in its split
        pa.field("location", pa.int64()),  # of the latest record: location_of(split, bytes, tombstone)
    ]
)
SIZED_SCHEMA = pa.schema(
    [
        *GROUPED_SCHEMA,
        pa.field("timestamp_ms", pa.int64()),  # of the latest record
        pa.field("log_bytes", pa.int64()),  # likewise
    ]
)


def location_of(split_id: np.ndarray, record_bytes: np.ndarray, is_tombstone: np.ndarray) -> np.ndarray:
    """Split, size and kind of a record in one long, so that Spark aggregates longs by hash, not structs."""
    return (split_id.astype(np.int64) << 32) | (record_bytes.astype(np.int64) << 1) | is_tombstone


def split_of(location: np.ndarray) -> np.ndarray:
    """The split id in ``location``."""
    return location >> 32


def record_bytes_of(location: np.ndarray) -> np.ndarray:
    """The record's bytes in the dump, in ``location``."""
    return (location >> 1) & 0x7FFFFFFF


def is_tombstone_of(location: np.ndarray) -> np.ndarray:
    """Whether the record is a tombstone, in ``location``."""
    return (location & 1).astype(bool)


def _group_of_each(schema: pa.Schema, batch: pa.RecordBatch) -> pa.RecordBatch:
    """Index rows that have a key as groups of one record each, with the columns of ``schema``."""
    if batch.column("key").null_count:
        batch = batch.filter(batch.column("key").is_valid())
    location = location_of(*(_numpy(batch, name) for name in ("split_id", "record_bytes", "is_tombstone")))
    offset = batch.column("offset")
    arrays = [
        batch.column("log_id"),
        batch.column("key"),
        pa.array(np.ones(batch.num_rows, np.int64)),
        offset,
        offset,
        batch.column("position"),
        pa.array(location),
    ]
    arrays += [batch.column(name).cast(pa.int64()) for name in schema.names[len(arrays) :]]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _merged(rows: pa.Table) -> pa.Table:
    """One row per (log, key), by numbers that an encoding gives the keys: a group_by takes twice as long."""
    if not rows.num_rows:
        return rows
    keys = pa.concat_arrays(rows["key"].chunks)
    columns = {name: rows[name].to_numpy() for name in rows.column_names if name != "key"}
    groups = numbered(keys, columns["log_id"])
    last = np.empty(int(groups.max()) + 1, np.int64)
    last[groups] = np.arange(len(groups))  # of several assignments to one place the last one stays
    offsets = columns["last_offset"]
    if (offsets[last][groups] < offsets).any():
        # Files whose offsets descend, or rows of several passes: their order is not that of the records.
        return _merged(rows.sort_by("last_offset"))
    records, first = np.zeros(len(last), np.int64), columns["first_offset"][last]
    np.add.at(records, groups, columns["records"])
    np.minimum.at(first, groups, columns["first_offset"])
    others = [columns[name][last] for name in rows.column_names[4:]]
    arrays = [columns["log_id"][last], keys.take(pa.array(last)), records, first, *others]
    return pa.table(arrays, schema=rows.schema)


def numbered(keys: pa.Array, log_ids: np.ndarray) -> np.ndarray:
    """A number (int64) for each row, from 0 on without gaps, equal where log and key are."""
    numbers: np.ndarray = keys.dictionary_encode().indices.to_numpy().astype(np.int64)
    log_of = np.empty(int(numbers.max()) + 1, np.int64)
    log_of[numbers] = log_ids
    if bool((log_of[numbers] == log_ids).all()):  # each key in one log: the rule, as partitions follow keys
        return numbers
    known, codes = np.unique(log_ids, return_inverse=True)
    pairs = numbers * len(known) + codes
    return np.unique(pairs, return_inverse=True)[1]


def _numpy(batch: pa.RecordBatch, name: str) -> np.ndarray:
    return batch.column(name).to_numpy(zero_copy_only=False)


_MERGE = {
    "records": "sum",
    "first_offset": "min",
    "last_offset": "max",
    "position": "last",
    "location": "last",
    "timestamp_ms": "last",
    "log_bytes": "last",
}
GROUPED = KeyGrouping(GROUPED_SCHEMA, _MERGE, partial(_group_of_each, GROUPED_SCHEMA), _merged)
"""Merges index rows into one row per (log, key)."""

SIZED = KeyGrouping(SIZED_SCHEMA, _MERGE, partial(_group_of_each, SIZED_SCHEMA), _merged)
"""The same with what a broker's figures and a state ask of the latest record; the index has log_bytes."""
