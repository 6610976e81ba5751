"""Steps of keys: a step joins a record of a dirty section to the record of its key before it, if any.

Steps tell where full maps end rounds, and in which round each superseded record goes. Most are made by the
tasks that read the records, while a task's offset map holds the key. The step of the first record of a group
is made where the groups of all tasks meet.
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
"""The columns of SIZED_SCHEMA from which a step takes the facts about its earlier record."""

STEPS_SCHEMA = pa.schema(
    [
        pa.field("log_id", pa.int64()),
        pa.field("superseded_at_offset", pa.int64()),  # the later record's; other columns: the earlier one's
        pa.field("offset", pa.int64()),  # NO_OFFSET: there is no earlier record
        pa.field("log_bytes", pa.int32()),
        pa.field("timestamp_ms", pa.int64()),  # of a tombstone; else 0
        pa.field("is_tombstone", pa.bool_()),
    ]
)


def steps_in_task(rows: pa.RecordBatch, before: np.ndarray) -> pa.Table:
    """The steps of those index rows whose key the task has read before.

    ``before`` holds an array for each of STEP_COLUMNS, with the value of the earlier record of each row.
    """
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
    """The steps of the first records of ``groups`` (SIZED_SCHEMA), which are all groups of some keys."""
    keys = pa.concat_arrays(groups["key"].chunks)
    log_ids, first = (groups[name].to_numpy() for name in ("log_id", "first_offset"))
    numbers = numbered(keys, log_ids)
    order = order_by_group(numbers, first, np.zeros(len(first), np.bool_))
    follows = np.diff(numbers[order], prepend=-1) == 0
    before = np.full((len(STEP_COLUMNS), len(order)), NO_OFFSET)
    earlier = order[np.flatnonzero(follows) - 1]
    before[:, follows] = np.stack([groups[name].to_numpy()[earlier] for name in STEP_COLUMNS])
    return _steps(log_ids[order], first[order], before)
