"""Tasks whose only argument is their number, and their results.

They run as an RDD. The same job as a DataFrame costs Java another second of CPU time, for a query's session,
plan and generated code that nothing here needs.
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
    """The value that ``work`` returns, or the error of ours that it ends with, pickled.

    Spark would run a task that raises one again. Its own pickling, which can send any function, takes four
    times as long over thousands of objects.
    """
    try:
        return pickle.dumps(work())
    except KcompactError as error:
        return pickle.dumps(error)


def value_of(result: bytes) -> Any:
    """A task's result on the driver, as it was. Raises the error that is in its place."""
    value = pickle.loads(result)  # noqa: S301  pickled by ``result_of``
    if isinstance(value, KcompactError):
        raise value
    return value


def run_tasks(spark: SparkSession, tasks: int, do: Callable[[int], Result]) -> list[Result]:
    """Call ``do`` in Spark's workers with each number below ``tasks``; its results, in that order."""
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
