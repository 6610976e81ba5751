"""Steps of keys: from each record of a dirty section to the one of its key before it.

They tell where full maps end rounds, and in which round each superseded record goes. Most are found where
records are read, while the task's offset map has the key; those to the first record of a group, where the
groups of all tasks meet.
"""

import numpy as np
import pyarrow as pa

from kcompact.engine.passes.grouped_rows import is_tombstone_of
from kcompact.engine.passes.grouping import numbered
from kcompact.rules.links import NO_OFFSET
from kcompact.rules.orders import order_by_group

STEPS = "steps"
"""The kind of blocks that steps travel in."""

STEP_COLUMNS = ("last_offset", "log_bytes", "timestamp_ms", "location")
"""SIZED_SCHEMA's names of the earlier record's columns that a step tells."""

STEPS_SCHEMA = pa.schema(
    [
        pa.field("log_id", pa.int64()),
        pa.field("superseded_at_offset", pa.int64()),  # of the later record; others are the earlier one's
        pa.field("offset", pa.int64()),  # NO_OFFSET: there is none
        pa.field("log_bytes", pa.int32()),
        pa.field("timestamp_ms", pa.int64()),  # of a tombstone; else 0
        pa.field("is_tombstone", pa.bool_()),
    ]
)


def steps_in_task(rows: pa.RecordBatch, before: np.ndarray) -> pa.Table:
    """The steps to index rows whose keys a task has had before; ``before`` are the STEP_COLUMNS of these."""
    known = before[0] != NO_OFFSET
    log_ids, offsets = (rows.column(name).to_numpy()[known] for name in ("log_id", "offset"))
    return _steps(log_ids, offsets, before[:, known])


def _steps(log_ids: np.ndarray, offsets: np.ndarray, before: np.ndarray) -> pa.Table:
    last_offset, log_bytes, timestamp_ms, location = before
    is_tombstone = is_tombstone_of(location) & (last_offset != NO_OFFSET)
    columns = (
        log_ids,
        offsets,
        last_offset,
        log_bytes.astype(np.int32),
        timestamp_ms * is_tombstone,
        is_tombstone,
    )
    return pa.table([pa.array(column) for column in columns], schema=STEPS_SCHEMA)


def steps_between(groups: pa.Table) -> pa.Table:
    """The steps to the first records of all groups (SIZED_SCHEMA) of some keys."""
    keys = pa.concat_arrays(groups["key"].chunks)
    log_ids, first = (groups[name].to_numpy() for name in ("log_id", "first_offset"))
    numbers = numbered(keys, log_ids)
    order = order_by_group(numbers, first, np.zeros(len(first), np.bool_))
    follows = np.diff(numbers[order], prepend=-1) == 0
    before = np.full((len(STEP_COLUMNS), len(order)), NO_OFFSET)
    earlier = order[np.flatnonzero(follows) - 1]
    before[:, follows] = np.stack([groups[name].to_numpy()[earlier] for name in STEP_COLUMNS])
    return _steps(log_ids[order], first[order], before)
