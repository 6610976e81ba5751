"""Tasks that are given their number alone and return next to nothing: what they make lies in files.

They run as an RDD. The same job as a DataFrame costs Java another second of CPU time, for a query's session,
plan and generated code that nothing here needs.
"""

import pickle
from collections.abc import Callable, Iterator
from typing import TypeVar

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

Result = TypeVar("Result")


def run_tasks(spark: SparkSession, tasks: int, do: Callable[[int], Result]) -> list[Result]:
    """Call ``do`` in Spark's workers with each number below ``tasks``; its results, in that order."""
    if not tasks:
        return []
    context = getattr(spark, "_sc", None)
    if context is not None:
        found: list[Result] = context.range(0, tasks, 1, tasks).map(do).collect()
        return found

    # Spark Connect has no RDDs.
    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            rows = [{"task": task, "result": pickle.dumps(do(task))} for task in batch.column(0).to_pylist()]
            yield pa.RecordBatch.from_pylist(rows, pa.schema([("task", pa.int64()), ("result", pa.binary())]))

    rows = per_task(spark, tasks, work, "task long, result binary").toArrow().sort_by("task")
    return [pickle.loads(result) for result in rows["result"].to_pylist()]  # noqa: S301  pickled above


def per_task(
    spark: SparkSession,
    tasks: int,
    work: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]],
    schema: StructType | str,
) -> DataFrame:
    """A DataFrame of what ``work`` yields; each of ``tasks`` calls is given one task number (``id``)."""
    return spark.range(0, tasks, 1, tasks).mapInArrow(work, schema)
