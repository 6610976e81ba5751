"""One row for all records of a key: what reading tasks send to merging tasks.

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
        pa.field("log_bytes", pa.int64()),  # of the latest record
    ]
)


def location_of(split_id: np.ndarray, record_bytes: np.ndarray, is_tombstone: np.ndarray) -> np.ndarray:
    """Split id, size (bytes in the dump) and tombstone flag of each record, packed into one int64."""
    return (split_id.astype(np.int64) << 32) | (record_bytes.astype(np.int64) << 1) | is_tombstone


def split_of(location: np.ndarray) -> np.ndarray:
    """The split id, from ``location``."""
    return location >> 32


def record_bytes_of(location: np.ndarray) -> np.ndarray:
    """The record's bytes in the dump, from ``location``."""
    return (location >> 1) & 0x7FFFFFFF


def is_tombstone_of(location: np.ndarray) -> np.ndarray:
    """Whether the record is a tombstone, from ``location``."""
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
GROUPED = KeyGrouping(GROUPED_SCHEMA, _MERGE, partial(_group_of_each, GROUPED_SCHEMA))
"""Merges index rows into one row per (log, key)."""

SIZED = KeyGrouping(SIZED_SCHEMA, _MERGE, partial(_group_of_each, SIZED_SCHEMA))
"""The same, with timestamp and size (log_bytes, which the index has to hold) of the latest record."""
