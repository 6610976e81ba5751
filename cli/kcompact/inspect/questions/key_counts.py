"""How many keys does each log have: live, deleted, and those that something is odd about?"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kcompact.inspect.questions.keys import Keys

REPLACEMENT_CHARACTER = "\N{REPLACEMENT CHARACTER}"
COUNTS = (
    "keys",
    "deleted_keys",  # their latest record is a tombstone
    "single_record_keys",
    "superseded_bytes",  # of records that are not the latest of their key
    "lossy_keys",  # they contain U+FFFD
    "late_keys",  # a record that is not the latest has a later timestamp
    "unmarked_delete_keys",  # a Debezium delete event, and no tombstone after it
)


def count_keys(keys: Keys) -> pa.Table:
    """One row per log of the task: ``log_id`` and COUNTS."""
    latest, last_ms = keys.column("latest"), keys.column("last_timestamp_ms")
    deletes = keys.column("last_delete_offset")
    lossy = pc.match_substring(keys.rows["key"].combine_chunks(), REPLACEMENT_CHARACTER)
    columns = {
        "log_id": keys.column("log_id"),
        "keys": np.ones(keys.rows.num_rows, np.int64),
        "deleted_keys": latest & 1,
        "single_record_keys": keys.column("records") == 1,
        "superseded_bytes": keys.column("record_bytes") - (latest >> 1),
        "lossy_keys": lossy.to_numpy(zero_copy_only=False),
        "late_keys": (last_ms >= 0) & (keys.column("max_timestamp_ms") > last_ms),
        "unmarked_delete_keys": deletes > keys.column("last_tombstone_offset"),
    }
    return sum_counts(pa.table({name: column.astype(np.int64) for name, column in columns.items()}))


def sum_counts(rows: pa.Table) -> pa.Table:
    """Rows of several tasks, added up by log."""
    summed = rows.group_by("log_id", use_threads=False).aggregate([(name, "sum") for name in COUNTS])
    return summed.rename_columns(["log_id", *COUNTS])
