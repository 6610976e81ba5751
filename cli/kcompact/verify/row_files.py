"""Index rows of a dump, left by the tasks that read it where other tasks find them: keys together."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from kcompact.engine.exchange import Outbox, receivers_by_key, take_in
from kcompact.engine.indexing import Annotate, IndexPlan, read_task, spark_schema
from kcompact.engine.tasks import per_task, run_tasks

_ROWS_PER_BATCH = 250_000


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


def leave_rows(spark: SparkSession, plan: IndexPlan, annotate: Annotate, files: RowFiles) -> None:
    """Index a dump into ``files``; ``read_side_files(plan.folder)`` tells the rest."""

    def do(task: int) -> None:
        outbox = files.outbox(task)
        for rows in _joined(map(annotate, read_task(plan, task)), files.schema):
            outbox.put(rows, _receivers(rows, files.receivers))
        outbox.close()

    run_tasks(spark, files.senders, do)


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


def _receivers(rows: pa.Table, receivers: int) -> np.ndarray:
    """By key; rows without a key have nothing to meet but the same offset."""
    keys = rows["key"]
    found = receivers_by_key(keys, receivers)
    if not keys.null_count:
        return found
    is_null = keys.is_null().to_numpy()
    spread: np.ndarray = np.where(is_null, rows["offset"].to_numpy() % receivers, found)
    return spread
