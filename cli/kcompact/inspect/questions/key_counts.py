"""Counts of keys: live, deleted and odd ones, new ones, and by number of records; and the largest keys."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kcompact.arrays import Longs
from kcompact.engine.passes.summaries import LogSummary
from kcompact.inspect.questions.keys import Keys
from kcompact.rules.lookups import rows_of_logs

MOST_TOP_KEYS = 10
SLICES = 10
"""Into how many equal parts a log's offsets are cut, to see whether new keys keep coming."""

_TOP_KEY_COLUMNS = ["log_id", "key", "records", "record_bytes", "first_offset", "last_offset", "latest"]
_REPLACEMENT_CHARACTER = "\N{REPLACEMENT CHARACTER}"


def count_keys(keys: Keys) -> Mapping[str, pa.Table]:
    """Tables by name, with a row for each key; ``one_pass.MERGES`` says how rows are merged."""
    log_ids, counts = keys.column("log_id"), np.ones(keys.rows.num_rows, np.int64)
    records = keys.column("records")
    buckets = np.ceil(np.log2(records)).astype(np.int64)  # b: of 2^(b-1) + 1 to 2^b records
    top_keys = keys.rows.select(_TOP_KEY_COLUMNS)
    return {
        "key_counts": _key_counts(keys),
        "records_per_key": pa.table({"bucket": buckets, "keys": counts, "records": records}),
        "new_keys": pa.table({"log_id": log_ids, "slice": _first_slices(keys), "new_keys": counts}),
        "top_keys_by_records": top_keys,
        "top_keys_by_bytes": top_keys,
    }


def _key_counts(keys: Keys) -> pa.Table:
    latest, last_ms = keys.column("latest"), keys.column("last_timestamp_ms")
    deletes = keys.column("last_delete_offset")
    lossy = pc.match_substring(keys.rows["key"].combine_chunks(), _REPLACEMENT_CHARACTER)
    columns = {
        "log_id": keys.column("log_id"),
        "keys": np.ones(keys.rows.num_rows, np.int64),
        "deleted_keys": latest & 1,  # their latest record is a tombstone
        "single_record_keys": keys.column("records") == 1,
        "superseded_bytes": keys.column("record_bytes") - (latest >> 1),  # of records that are not the latest
        "lossy_keys": lossy.to_numpy(zero_copy_only=False),  # they contain U+FFFD
        "late_keys": (last_ms >= 0) & (keys.column("max_timestamp_ms") > last_ms),  # an earlier one's
        "unmarked_delete_keys": deletes > keys.column("last_tombstone_offset"),  # no tombstone after it
    }
    return pa.table({name: column.astype(np.int64) for name, column in columns.items()})


def _first_slices(keys: Keys) -> Longs:
    """In which slice of its log each key is seen for the first time."""
    log_ids, first_offsets = keys.column("log_id"), keys.column("first_offset")
    slices = np.zeros(len(first_offsets), np.int64)
    for log_id, in_log in rows_of_logs(log_ids):
        bounds = slice_bounds(keys.logs[log_id])
        slices[in_log] = np.searchsorted(bounds, first_offsets[in_log], side="right") - 1
    return slices


def slice_bounds(log: LogSummary) -> Longs:
    """Where the slices of a log start; the first at its first offset."""
    width = log.last_offset + 1 - log.first_offset
    steps = [log.first_offset + width * number // SLICES for number in range(SLICES)]
    return np.array(steps, np.int64)


def largest_keys(rows: pa.Table, by: str) -> pa.Table:
    """The first few rows by a column, largest first; of equal ones, that with the smaller first offset."""
    if not rows.num_rows:
        return rows
    order = [(by, "descending"), ("first_offset", "ascending"), ("log_id", "ascending")]
    return rows.take(pc.select_k_unstable(rows, MOST_TOP_KEYS, order))
