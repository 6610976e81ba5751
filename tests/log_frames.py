"""Index DataFrames made from records, many logs in one."""

from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from kcompact.dumps.indexing import index_rows
from kcompact.dumps.layout import SplitNotes
from kcompact.dumps.record import Record, log_id_of

EXTRA = frozenset({"log_bytes", "is_control"})


def index_table(logs: dict[int, Iterable[Record]]) -> pa.Table:
    """Rows of all logs; each keeps the id it has here, whatever its records are called."""
    batches = []
    for split_id, (log_id, records) in enumerate(logs.items()):
        found = [(position, 1, record) for position, record in enumerate(records)]
        for batch in index_rows(found, split_id, EXTRA, SplitNotes()):
            ids = pa.array([log_id] * batch.num_rows, pa.int64())
            batches.append(batch.set_column(0, batch.schema.field("log_id"), ids))
    return pa.Table.from_batches(batches)


def index_frame(spark: Any, logs: dict[int, Iterable[Record]]) -> Any:
    return spark.createDataFrame(index_table(logs))


def log_id(*names: object) -> int:
    return log_id_of("/".join(map(str, names)), 0)
