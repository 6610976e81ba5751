"""Rows that stand for all records of a key: what travels between the tasks of the plain form."""

import numpy as np
import pyarrow as pa

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


MERGE = {
    "records": "sum",
    "first_offset": "min",
    "last_offset": "max",
    "position": "last",
    "place": "last",
}
"""How two rows of a key become one (``OffsetMap``)."""


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
