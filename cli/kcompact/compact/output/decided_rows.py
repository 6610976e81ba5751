"""Decided rows: records that stay, which are copied, and the last record of each key, for the reports."""

import numpy as np
import pyarrow as pa

from kcompact.digits import LONG_MAX
from kcompact.engine.passes.grouping import numbered
from kcompact.rules.links import NO_OFFSET
from kcompact.rules.verdicts import Verdict

REASON_NAMES = {
    Verdict.SUPERSEDED: "superseded",
    Verdict.EXPIRED_TOMBSTONE: "expired_tombstone",
    Verdict.KEYLESS: "keyless",
    Verdict.ABORTED: "aborted",
    Verdict.EXPIRED: "expired",
    Verdict.EXPIRED_MARKER: "expired_marker",
}
"""Why a record goes, in the words of a report. A repeated record is no removal: it is counted separately."""

_REASONS = np.array([REASON_NAMES.get(verdict, "") for verdict in Verdict])  # by the value of the verdict

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
        pa.field("verdict", pa.int8()),  # a Verdict, on this record
        # In the row of a key's last record these are about the key. Any other row is a record that stays, and
        # has its own offset, -1, and any value.
        pa.field("retained_offset", pa.int64()),  # the key's last retained one; NO_OFFSET: the key is gone
        pa.field("records_removed", pa.int64()),
        pa.field("first_offset_removed", pa.int64()),
    ]
)
"""The records that stay, and the last record of each key, whether it stays or not."""


def is_kept(rows: pa.Table) -> np.ndarray:
    """A flag per row: whether the record stays. Rows have DECIDED_SCHEMA's columns."""
    kept: np.ndarray = rows["retained_offset"].to_numpy() == rows["last_offset"].to_numpy()
    return kept


def is_last(rows: pa.Table) -> np.ndarray:
    """A flag per row: whether it is the last record of a key. Rows have DECIDED_SCHEMA's columns."""
    last: np.ndarray = rows["records_removed"].to_numpy() >= 0
    return last


def by_key(rows: pa.Table) -> tuple[pa.Table, np.ndarray]:
    """Rows with those of a key (in one log) side by side, by offset, and the positions where keys begin."""
    rows = rows.combine_chunks()
    numbers = numbered(pa.concat_arrays(rows["key"].chunks), rows["log_id"].to_numpy())
    order = np.lexsort((rows["last_offset"].to_numpy(), numbers))
    starts = np.flatnonzero(np.diff(numbers[order], prepend=-1))
    return rows.take(pa.array(order)).combine_chunks(), starts


def decided_by_key(rows: pa.Table, starts: np.ndarray) -> pa.Table:
    """DECIDED_SCHEMA rows, from rows that stand for all records of some keys.

    Rows and ``starts`` are as ``by_key`` gives them. A row stands for several records, of which only the last
    one may stay: it has the last one's verdict, the number of ``records``, and the first and last of their
    offsets.
    """
    offsets, first = rows["last_offset"].to_numpy(), rows["first_offset"].to_numpy()
    kept = rows["verdict"].to_numpy() == int(Verdict.RETAINED)
    removed = rows["records"].to_numpy() - kept
    lasts = np.append(starts[1:], len(offsets)) - 1
    retained_offset, first_removed = offsets.copy(), first.copy()
    records_removed = np.full(len(offsets), -1)
    retained_offset[lasts] = np.maximum.reduceat(np.where(kept, offsets, NO_OFFSET), starts)
    first_removed[lasts] = np.minimum.reduceat(np.where(removed > 0, first, LONG_MAX), starts)
    records_removed[lasts] = np.add.reduceat(removed, starts)
    stays = kept.copy()
    stays[lasts] = True
    decided = decided_table(rows, retained_offset, records_removed, first_removed)
    return decided if stays.all() else decided.filter(pa.array(stays))


def decided_table(
    rows: pa.Table, retained_offset: np.ndarray, records_removed: np.ndarray, first_removed: np.ndarray
) -> pa.Table:
    """DECIDED_SCHEMA rows: the columns that ``rows`` have of it, and the three others."""
    outcome = [pa.array(column) for column in (retained_offset, records_removed, first_removed)]
    columns = [rows[name] for name in DECIDED_SCHEMA.names[: -len(outcome)]]
    return pa.table([*columns, *outcome], schema=DECIDED_SCHEMA)


def removed_rows(rows: pa.Table) -> pa.Table:
    """REMOVED_SCHEMA rows of the keys that lost records, from rows with the columns of DECIDED_SCHEMA."""
    rows = rows.take(np.flatnonzero(rows["records_removed"].to_numpy() > 0))
    retained = rows["retained_offset"].to_numpy()
    gone = retained == NO_OFFSET
    return pa.table(
        {
            "key": rows["key"],
            "records_removed": rows["records_removed"],
            "first_offset_removed": rows["first_offset_removed"],
            "retained_offset": pa.array(retained, mask=gone),
            "reason": pa.array(_REASONS[rows["verdict"].to_numpy()], pa.string(), mask=~gone),
        },
        schema=REMOVED_SCHEMA,
    )
