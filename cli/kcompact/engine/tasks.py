"""Tasks whose only argument is their number, and their results.

They run as an RDD. As a DataFrame, the same job would cost Java another second of CPU time, for the session,
plan and generated code of a query, which are not needed here.
"""

import pickle
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import pyarrow as pa
from pyspark.sql import SparkSession

from kcompact.engine.startup.workers import wait_for_worker
from kcompact.errors import KcompactError

Result = TypeVar("Result")


def result_of(work: Callable[[], object]) -> bytes:
    """The value that ``work`` returns, or the KcompactError that it ends with, pickled.

    If a task raised the error, Spark would run it again. Spark's own pickling, which can send any function,
    would take four times as long for thousands of objects.
    """
    try:
        return pickle.dumps(work())
    except KcompactError as error:
        return pickle.dumps(error)


def value_of(result: bytes) -> Any:
    """The value of a task's result, unpickled on the driver. Raises the error if the result is one."""
    value = pickle.loads(result)  # noqa: S301  pickled by ``result_of``
    if isinstance(value, KcompactError):
        raise value
    return value


def run_tasks(spark: SparkSession, tasks: int, do: Callable[[int], Result]) -> list[Result]:
    """Call ``do`` in Spark's workers with each number below ``tasks``; return its results in that order."""
    if not tasks:
        return []

    def attempt(task: int) -> bytes:
        return result_of(lambda: do(task))

    context = getattr(spark, "_sc", None)
    if context is not None:
        wait_for_worker()
        return list(map(value_of, context.range(0, tasks, 1, tasks).map(attempt).collect()))

    # Spark Connect has no RDDs.
    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            rows = [{"task": task, "result": attempt(task)} for task in batch.column(0).to_pylist()]
            yield pa.RecordBatch.from_pylist(rows, pa.schema([("task", pa.int64()), ("result", pa.binary())]))

    frame = spark.range(0, tasks, 1, tasks).mapInArrow(work, "task long, result binary")
    rows = frame.toArrow().sort_by("task")
    return list(map(value_of, rows["result"].to_pylist()))
