"""One pass over a dump, in one Spark job: index, key rows, and every question's answer of every task."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from kcompact.engine.indexing import IndexPlan, read_task, spark_schema
from kcompact.engine.tasks import per_task, run_tasks
from kcompact.inspect import distribution, key_counts, lookalikes, new_keys, sample, shared_keys, top_keys
from kcompact.inspect.key_rows import (
    FOLDED_KEY_ROW,
    KEY_ROW,
    KeyGrouper,
    merge_key_rows,
    regrouped,
    with_folded,
)
from kcompact.inspect.keys import Keys, read_spans
from kcompact.inspect.tallies import Tallies

_FOUND = "question string, rows binary"
_FOUND_SCHEMA = pa.schema([("question", pa.string()), ("rows", pa.binary())])


@dataclass(frozen=True)
class Question:
    """What is asked of the keys of each task, and how the tasks' tables become one."""

    ask: Callable[[Keys], Mapping[str, pa.Table]]
    merge: Mapping[str, Callable[[pa.Table], pa.Table]]


def _as_it_is(rows: pa.Table) -> pa.Table:
    return rows


QUESTIONS = {
    "key_counts": Question(lambda keys: {"": key_counts.count_keys(keys)}, {"": key_counts.sum_counts}),
    "distribution": Question(
        lambda keys: {"": distribution.count_records_per_key(keys)}, {"": distribution.sum_buckets}
    ),
    "new_keys": Question(lambda keys: {"": new_keys.count_new_keys(keys)}, {"": new_keys.sum_new_keys}),
    "top_keys": Question(
        lambda keys: {by: top_keys.top_keys(keys, by) for by in ("records", "record_bytes")},
        {
            "records": lambda rows: top_keys.first_rows(rows, "records"),
            "record_bytes": lambda rows: top_keys.first_rows(rows, "record_bytes"),
        },
    ),
    "shared_keys": Question(
        shared_keys.shared_keys,
        {"counts": shared_keys.sum_counts, "newest": shared_keys.sum_newest, "examples": _as_it_is},
    ),
    "lookalikes": Question(lookalikes.lookalikes, {"counts": lookalikes.sum_groups, "examples": _as_it_is}),
    "sample": Question(lambda keys: {"": sample.sample_keys(keys)}, {"": sample.smallest}),
}
"""Every question about keys; a new one is one file and one entry."""


@dataclass(frozen=True)
class Answers:
    """The merged table of each part of each question, by (question, part)."""

    tables: Mapping[tuple[str, str], pa.Table]

    def __getitem__(self, name: tuple[str, str]) -> pa.Table:
        return self.tables[name]


def ask_all(spark: SparkSession, plan: IndexPlan, partitions: int) -> Answers:
    """Run the job. Side files and tallies lie in the plan's folder afterwards."""
    if len(plan.tasks) == 1:
        return _merged(run_tasks(spark, 1, lambda task: _all_of(plan, task)))
    found = merge_key_rows(_key_rows(spark, plan), partitions).mapInArrow(_asking(plan), _FOUND)
    return _merged(found.toArrow().to_batches())


def answer(keys: Keys) -> Answers:
    """The answers about keys at hand, without Spark."""
    return _merged([_found(keys)])


def _all_of(plan: IndexPlan, task: int) -> pa.RecordBatch:
    """The answers, where one task reads all."""
    rows = regrouped(_rows_of_task(plan, task))
    return _found(Keys(rows, read_spans(Path(plan.folder))))


def _key_rows(spark: SparkSession, plan: IndexPlan) -> DataFrame:
    """Rows of FOLDED_KEY_ROW."""

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for task in batch.column(0).to_pylist():
                for rows in _rows_of_task(plan, task):
                    yield from rows.to_batches()

    return per_task(spark, len(plan.tasks), work, spark_schema(FOLDED_KEY_ROW))


def _rows_of_task(plan: IndexPlan, task: int) -> Iterator[pa.Table]:
    grouper, tallies = KeyGrouper(), Tallies()
    for index in read_task(plan, task):
        tallies.add(index)
        yield from grouper.add(index)
    tallies.write(Path(plan.folder), task)
    yield grouper.finish()


def _asking(plan: IndexPlan) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows = pa.Table.from_batches(batches, KEY_ROW)
        if rows.num_rows:
            yield _found(Keys(with_folded(rows), read_spans(Path(plan.folder))))

    return work


def _found(keys: Keys) -> pa.RecordBatch:
    """One row per table of each question."""
    rows = [
        {"question": f"{name}/{part}", "rows": _packed(table)}
        for name, question in QUESTIONS.items()
        for part, table in question.ask(keys).items()
    ]
    return pa.RecordBatch.from_pylist(rows, _FOUND_SCHEMA)


def _packed(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def _merged(found: Iterable[pa.RecordBatch]) -> Answers:
    """Tables of all tasks, joined to those about no keys at all: no task may have seen one."""
    nothing = _found(Keys(FOLDED_KEY_ROW.empty_table(), {}))
    parts: dict[str, list[pa.Table]] = {}
    for row in (row for batch in (nothing, *found) for row in batch.to_pylist()):
        with pa.ipc.open_stream(row["rows"]) as reader:
            parts.setdefault(row["question"], []).append(reader.read_all())
    tables = {
        (name, part): merge(pa.concat_tables(parts[f"{name}/{part}"]))
        for name, question in QUESTIONS.items()
        for part, merge in question.merge.items()
    }
    return Answers(tables)
