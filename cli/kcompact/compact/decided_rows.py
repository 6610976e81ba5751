"""Records with what becomes of their keys: those that are copied, and those that removed-keys.csv names."""

import numpy as np
import pyarrow as pa

from kcompact.engine.passes.grouped_rows import is_tombstone_of

NO_OFFSET = -1
REMOVED_SCHEMA = pa.schema(
    [
        pa.field("key", pa.binary()),
        pa.field("records_removed", pa.int64()),
        pa.field("first_offset_removed", pa.int64()),
        pa.field("retained_offset", pa.int64()),  # null: the key is gone
        pa.field("reason", pa.string()),  # why the key is gone; null where a record stays
    ]
)

DECIDED_SCHEMA = pa.schema(
    [
        pa.field("log_id", pa.int64()),
        pa.field("key", pa.binary()),
        pa.field("last_offset", pa.int64()),  # of this record
        pa.field("position", pa.int64()),
        pa.field("location", pa.int64()),
        # Of the key with its last record; with any other one, which stays: its own offset, -1 and anything.
        pa.field("retained_offset", pa.int64()),  # the last one; NO_OFFSET: the key is gone
        pa.field("records_removed", pa.int64()),
        pa.field("first_offset_removed", pa.int64()),
    ]
)
"""Records that stay, and the last one of each key, which may not."""


def is_kept(rows: pa.Table) -> np.ndarray:
    """A flag per row: whether the record stays. Rows have DECIDED_SCHEMA's columns."""
    kept: np.ndarray = rows["retained_offset"].to_numpy() == rows["last_offset"].to_numpy()
    return kept


def with_outcome(rows: pa.Table, *, drop_tombstones: bool) -> pa.Table:
    """Rows of GROUPED_SCHEMA's columns, one per key, with those of DECIDED_SCHEMA behind them."""
    dropped = is_tombstone_of(rows["location"].to_numpy()) & drop_tombstones
    outcome = {
        "retained_offset": np.where(dropped, NO_OFFSET, rows["last_offset"].to_numpy()),
        "records_removed": rows["records"].to_numpy() - ~dropped,
        "first_offset_removed": rows["first_offset"],
    }
    for name, column in outcome.items():
        rows = rows.append_column(name, column if isinstance(column, pa.ChunkedArray) else pa.array(column))
    return rows


def removed_rows(rows: pa.Table) -> pa.Table:
    """REMOVED_SCHEMA rows of the keys that lost records, from rows of DECIDED_SCHEMA's columns."""
    rows = rows.take(np.flatnonzero(rows["records_removed"].to_numpy() > 0))
    retained = rows["retained_offset"].to_numpy()
    gone = retained == NO_OFFSET  # nothing comes behind a key's last record but its own expiry
    return pa.table(
        {
            "key": rows["key"],
            "records_removed": rows["records_removed"],
            "first_offset_removed": rows["first_offset_removed"],
            "retained_offset": pa.array(retained, mask=gone),
            "reason": pa.array(np.where(gone, "expired_tombstone", ""), mask=~gone, type=pa.string()),
        },
        schema=REMOVED_SCHEMA,
    )
