"""Which keys have the most records, and which the most bytes? A task hands on its first few, never all."""

import pyarrow as pa
import pyarrow.compute as pc

from kcompact.inspect.questions.keys import Keys

MOST = 10
_COLUMNS = ["log_id", "key", "records", "record_bytes", "first_offset", "last_offset", "latest"]


def top_keys(keys: Keys, by: str) -> pa.Table:
    """The first MOST rows by a column, largest first; of two alike the earlier one."""
    return first_rows(keys.rows.select(_COLUMNS), by)


def first_rows(rows: pa.Table, by: str) -> pa.Table:
    """The first MOST of several tasks' rows."""
    order = [(by, "descending"), ("first_offset", "ascending"), ("log_id", "ascending")]
    if not rows.num_rows:
        return rows
    return rows.take(pc.select_k_unstable(rows, MOST, order))
