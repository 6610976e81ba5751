"""Key rows: all that the questions need to know about a key of a log, in one row.

They are made in the worker, batch by batch, and merged where the rows of a key from all tasks meet.
"""

from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc

from kcompact.engine.passes.grouping import KeyGrouping
from kcompact.inspect.questions.lookalikes import fold_keys

EXTRA = frozenset({"value_kind", "is_debezium_delete"})
"""The extra columns that the index has to hold beside INDEX_SCHEMA."""

KEY_ROW = pa.schema(
    [
        pa.field("log_id", pa.int64()),
        pa.field("key", pa.binary()),
        pa.field("records", pa.int64()),
        pa.field("record_bytes", pa.int64()),
        pa.field("first_offset", pa.int64()),
        pa.field("last_offset", pa.int64()),
        pa.field("max_timestamp_ms", pa.int64()),
        pa.field("last_tombstone_offset", pa.int64()),  # -1: none
        pa.field("last_delete_offset", pa.int64()),  # of a Debezium delete event; -1: none
        pa.field("last_timestamp_ms", pa.int64()),  # of the latest record, as is ``latest``
        pa.field("latest", pa.int64()),  # its bytes in the dump << 1 | whether it is a tombstone
    ]
)
FOLDED_KEY_ROW = pa.schema(
    [*KEY_ROW, pa.field("folded", pa.binary()), pa.field("accidents", pa.int8())]  # null: the key itself
)
_MERGE = {
    "records": "sum",
    "record_bytes": "sum",
    "first_offset": "min",
    "last_offset": "max",
    "max_timestamp_ms": "max",
    "last_tombstone_offset": "max",
    "last_delete_offset": "max",
    "last_timestamp_ms": "last",
    "latest": "last",
}


def regrouped(batches: Iterable[pa.RecordBatch]) -> pa.Table:
    """KEY_ROW rows, in any order, as FOLDED_KEY_ROW rows: one per (log, key)."""
    rows = KEY_ROWS.merged(list(batches))
    folded, accidents = fold_keys(rows["key"].combine_chunks())
    return pa.table([*rows.columns, folded, accidents], schema=FOLDED_KEY_ROW)


def _one_row_each(batch: pa.RecordBatch) -> pa.RecordBatch:
    """KEY_ROW rows, one per record with a key."""
    if batch.column("key").null_count:
        batch = batch.filter(batch.column("key").is_valid())
    offset, timestamp_ms = batch.column("offset"), batch.column("timestamp_ms")
    is_tombstone = batch.column("is_tombstone")
    record_bytes = batch.column("record_bytes").cast(pa.int64())
    columns = [
        batch.column("log_id"),
        batch.column("key"),
        pa.repeat(pa.scalar(1, pa.int64()), len(batch)),
        record_bytes,
        offset,
        offset,
        timestamp_ms,
        pc.if_else(is_tombstone, offset, -1),
        pc.if_else(batch.column("is_debezium_delete"), offset, -1),
        timestamp_ms,
        pc.bit_wise_or(pc.shift_left(record_bytes, 1), is_tombstone.cast(pa.int64())),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=KEY_ROW)


KEY_ROWS = KeyGrouping(KEY_ROW, _MERGE, _one_row_each)
"""Merges index rows into one row per (log, key)."""
