"""A dump as verification sees it: index rows that Spark keeps, its logs, and what its format carries."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from kcompact.dumps.csv_reader import CsvShape
from kcompact.dumps.dialect import Dialect
from kcompact.dumps.dump import Dump
from kcompact.dumps.judging import judge, refuse_doubts
from kcompact.dumps.layout import DumpFile
from kcompact.dumps.record import index_schema, log_id_of
from kcompact.engine.indexing import IndexPlan, index_rows, plan_index, spark_schema
from kcompact.engine.summaries import LogSummary, read_side_files
from kcompact.errors import InputError
from kcompact.verify.pair import CONTENT
from kcompact.verify.question import Log

FILE_ID = pa.field("file_id", pa.int32(), nullable=False)
_DOUBTS = {"key": "what verify finds", "value": "what verify finds"}


@dataclass(frozen=True)
class Indexed:
    """One dump. ``carried`` are the columns of ``pair.CONTENT`` that its files have at all.

    ``is_named_by_file``: its records do not say their topic.
    """

    rows: DataFrame
    logs: dict[int, Log]
    carried: frozenset[str]
    notes: tuple[str, ...] = ()
    summaries: tuple[LogSummary, ...] = ()
    is_named_by_file: bool = False

    @property
    def topics(self) -> set[str]:
        """All topics."""
        return {topic for topic, _ in self.logs.values()}


@contextmanager
def indexed(spark: SparkSession, dump: Dump | None, folder: Path, extra: frozenset[str]) -> Iterator[Indexed]:
    """Read a dump once; ``dump`` None is one without records. Raises InputError, also for doubtful nulls.

    ``folder`` takes what the tasks leave beside the rows.
    """
    if dump is None:
        yield Indexed(_no_rows(spark, extra), {}, frozenset(CONTENT))
        return
    folder.mkdir()
    plan = plan_index(dump, folder, extra)
    rows = index_rows(spark, plan, _with_file_id(plan)).persist()
    try:
        rows.agg(F.count("*")).toArrow()
        summaries, notes = read_side_files(folder)
        remarks = judge(dump, plan.splits, notes)
        refuse_doubts(dump, plan.splits, notes, _DOUBTS)
        logs = {one.log_id: (one.topic, one.partition) for one in summaries}
        by_file = any(getattr(file.dialect, "topic", "topic") is None for file in dump.files)
        carried = _carried(dump.files, summaries)
        yield Indexed(rows, logs, carried, (*dump.notes, *remarks), tuple(summaries), by_file)
    finally:
        rows.unpersist()


def named_alike(before: Indexed, after: Indexed) -> Indexed:
    """AFTER under BEFORE's topic, where each holds one and one has it only from the name of its file."""
    is_doubtful = before.is_named_by_file or after.is_named_by_file
    if not is_doubtful or len(before.topics) != 1 or len(after.topics) != 1 or before.topics == after.topics:
        return after
    (topic,), (other,) = before.topics, after.topics
    renamed = {log_id: (topic, partition) for log_id, (_, partition) in after.logs.items()}
    new_id = F.col("log_id")
    for log_id, log in renamed.items():
        new_id = F.when(F.col("log_id") == log_id, F.lit(log_id_of(*log))).otherwise(new_id)
    return replace(
        after,
        rows=after.rows.withColumn("log_id", new_id),
        logs={log_id_of(*log): log for log in renamed.values()},
        notes=(*after.notes, f"{other} of AFTER is taken for {topic} of BEFORE: a file's name is no topic's"),
    )


def require_offsets(dump: Dump | None, path: str) -> None:
    """Raise InputError for a dump whose records have lost their offsets: nothing can be compared by them."""
    for file in dump.files if dump else ():
        if isinstance(file.dialect, Dialect) and file.dialect.offset is None:
            raise InputError(
                f"{path}: no offsets in the records of {file.path}, so nobody can say which record is which",
                hint="compare what the two dumps hold with --mode state, or export again with offsets",
            )


def _with_file_id(plan: IndexPlan) -> Callable[[pa.RecordBatch], pa.RecordBatch]:
    file_of = {split_id: split.file_id for split_id, split in plan.splits.items()}

    def annotate(rows: pa.RecordBatch) -> pa.RecordBatch:
        ids = [file_of[split_id] for split_id in rows.column("split_id").to_pylist()]
        columns = [*rows.columns, pa.array(ids, FILE_ID.type)]
        return pa.RecordBatch.from_arrays(columns, schema=pa.schema([*rows.schema, FILE_ID]))

    return annotate


def _no_rows(spark: SparkSession, extra: frozenset[str]) -> DataFrame:
    return spark.createDataFrame([], spark_schema(pa.schema([*index_schema(extra), FILE_ID])))


def _carried(files: tuple[DumpFile, ...], summaries: list[LogSummary]) -> frozenset[str]:
    lost = set()
    if summaries and all(one.max_timestamp_ms < 0 for one in summaries):
        lost.add("timestamp_ms")
    if not any(_carries_headers(file) for file in files):
        lost.add("headers_hash")
    return frozenset(CONTENT) - lost


def _carries_headers(file: DumpFile) -> bool:
    name = getattr(file.dialect, "headers", "headers")
    return name in file.shape.columns if isinstance(file.shape, CsvShape) else name is not None
