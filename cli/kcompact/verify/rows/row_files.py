"""Index rows of a dump, left by the tasks that read it where other tasks find them: keys together."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from kcompact.engine.exchange import Outbox, receivers_by_key, take_in
from kcompact.engine.passes.index_pass import IndexPlan, read_task, spark_schema
from kcompact.engine.tasks import per_task, run_tasks

_ROWS_PER_BATCH = 250_000

ORDER = pa.schema(
    [
        pa.field("previous_offset", pa.int64(), nullable=False),
        pa.field("largest_offset", pa.int64(), nullable=False),
    ]
)
"""Among the records of its log before a record in its split: the last offset, and the largest; -1: none."""


@dataclass(frozen=True)
class RowFiles:
    """Rows of ``schema`` that ``senders`` tasks left for ``receivers`` others; travels to the workers.

    ``renamed`` are log ids that are to be read as others.
    """

    folder: Path
    name: str
    senders: int
    receivers: int
    schema: pa.Schema
    renamed: Mapping[int, int] = field(default_factory=dict)

    def outbox(self, sender: int) -> Outbox:
        """Where one task leaves its rows."""
        return Outbox(self.folder, self.name, sender, self.receivers, self.schema)

    def take(self, receiver: int) -> pa.Table:
        """All rows that one task is to look at."""
        batches = take_in(self.folder, self.name, self.senders, receiver, self.receivers)
        rows = pa.Table.from_batches(batches, self.schema)
        if not self.renamed:
            return rows
        log_ids = rows["log_id"].to_numpy().copy()
        for log_id, other in self.renamed.items():
            log_ids[rows["log_id"].to_numpy() == log_id] = other
        return rows.set_column(0, self.schema.field(0), pa.array(log_ids))

    def frame(self, spark: SparkSession) -> DataFrame:
        """All rows, read anew by every query."""

        def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                for task in batch.column(0).to_pylist():
                    yield from self.take(task).to_batches()

        return per_task(spark, self.receivers, work, spark_schema(self.schema))


def leave_rows(spark: SparkSession, plan: IndexPlan, files: RowFiles) -> None:
    """Index a dump into ``files``; ``read_side_files(plan.folder)`` tells the rest."""

    def do(task: int) -> None:
        outbox, order = files.outbox(task), OrderInSplits()
        annotated = (order.add(rows) for rows in read_task(plan, task))
        for rows in _joined(annotated, files.schema):
            outbox.put(rows, by_key(rows, files.receivers))
        outbox.close()

    run_tasks(spark, files.senders, do)


@dataclass
class OrderInSplits:
    """The last and the largest offset of each split and log so far."""

    known: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)

    def add(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """The rows with ORDER, which are those that come next."""
        split_id, log_id = rows.column("split_id").to_numpy(), rows.column("log_id").to_numpy()
        offset = rows.column("offset").to_numpy()
        previous, largest = np.full(len(offset), -1), np.full(len(offset), -1)
        order = np.lexsort((log_id, split_id))
        begins = (np.diff(split_id[order]) != 0) | (np.diff(log_id[order]) != 0)
        for at in np.split(order, np.flatnonzero(begins) + 1):
            if len(at):
                place = int(split_id[at[0]]), int(log_id[at[0]])
                last, most = self.known.get(place, (-1, -1))
                previous[at] = np.concatenate(([last], offset[at[:-1]]))
                reached = np.maximum.accumulate(np.concatenate(([most], offset[at])))
                largest[at] = reached[:-1]
                self.known[place] = int(offset[at[-1]]), int(reached[-1])
        columns = [*rows.columns, pa.array(previous), pa.array(largest)]
        return pa.RecordBatch.from_arrays(columns, schema=pa.schema([*rows.schema, *ORDER]))


def _joined(batches: Iterator[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.Table]:
    """Some _ROWS_PER_BATCH rows at a time."""
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(map(len, waiting)) >= _ROWS_PER_BATCH:
            yield pa.Table.from_batches(waiting, schema)
            waiting = []
    if waiting:
        yield pa.Table.from_batches(waiting, schema)


def by_key(rows: pa.Table, receivers: int) -> np.ndarray:
    """By key; rows without one by value, so that those meet that only changed their place."""
    keys = rows["key"]
    found = receivers_by_key(keys, receivers)
    if not keys.null_count:
        return found
    is_null = keys.is_null().to_numpy()
    spread: np.ndarray = np.where(is_null, receivers_by_key(rows["value_hash"], receivers), found)
    return spread


def by_place(rows: pa.Table, receivers: int) -> np.ndarray:
    """By offset: records of one place meet."""
    found: np.ndarray = rows["offset"].to_numpy() % receivers
    return found
