"""Do new keys keep coming? Counted in ten equal slices of each log's offsets."""

import numpy as np
import pyarrow as pa

from kcompact.inspect.questions.keys import Keys, LogSpan, Longs

SLICES = 10


def count_new_keys(keys: Keys) -> pa.Table:
    """Rows (log_id, slice, new_keys): how many keys each slice saw for the first time."""
    log_ids, first_offsets = keys.column("log_id"), keys.column("first_offset")
    slices = np.zeros(len(first_offsets), np.int64)
    for log_id in np.unique(log_ids):
        in_log = log_ids == log_id
        bounds = slice_bounds(keys.spans[int(log_id)])
        slices[in_log] = np.searchsorted(bounds, first_offsets[in_log], side="right") - 1
    table = pa.table({"log_id": log_ids, "slice": slices, "new_keys": np.ones(len(first_offsets), np.int64)})
    return sum_new_keys(table)


def sum_new_keys(rows: pa.Table) -> pa.Table:
    """Rows of several tasks, added up by log and slice."""
    grouped = rows.group_by(["log_id", "slice"], use_threads=False).aggregate([("new_keys", "sum")])
    return grouped.rename_columns(["log_id", "slice", "new_keys"])


def slice_bounds(span: LogSpan) -> Longs:
    """Where the slices of a log start; the first at its first offset."""
    width = span.end_offset - span.first_offset
    steps = [span.first_offset + width * number // SLICES for number in range(SLICES)]
    return np.array(steps, np.int64)
