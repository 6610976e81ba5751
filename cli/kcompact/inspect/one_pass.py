"""One pass over a dump: index, key rows, and every question's answer of every task that shares the keys."""

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

from kcompact.dumps.records.layout import SplitNotes
from kcompact.engine.blocks import packed_rows, row_blocks, rows_in
from kcompact.engine.exchange import receivers_by_key
from kcompact.engine.passes.grouping import KeyGrouper
from kcompact.engine.passes.index_pass import IndexPlan, TaskReader
from kcompact.engine.passes.summaries import LogSummary, merged, packed, unpacked
from kcompact.engine.shuffle import DRIVER, Block, Sent, send
from kcompact.engine.tasks import run_tasks
from kcompact.inspect.questions.key_counts import count_keys, largest_keys
from kcompact.inspect.questions.key_facts import FOLDED_KEY_ROW, KEY_ROWS, regrouped
from kcompact.inspect.questions.keys import Keys, summed
from kcompact.inspect.questions.lookalikes import fold_keys, lookalikes
from kcompact.inspect.questions.sample import sample_keys, smallest
from kcompact.inspect.questions.shared_keys import shared_keys
from kcompact.inspect.questions.tallies import Tallies, added_up

_KEY_ROWS, _READING = "key rows", "reading"
_ANSWER_SCHEMA = pa.schema([("table", pa.string()), ("rows", pa.binary())])


def _of(*names: str) -> Callable[[pa.Table], pa.Table]:
    return lambda rows: summed(rows, list(names))


QUESTIONS: tuple[Callable[[Keys], Mapping[str, pa.Table]], ...] = (
    count_keys,
    shared_keys,
    lookalikes,
    lambda keys: {"sample": sample_keys(keys)},
)
"""Every question about keys; each answers with tables by name."""

MERGES: dict[str, Callable[[pa.Table], pa.Table]] = {
    "key_counts": _of("log_id"),
    "records_per_key": _of("bucket"),
    "new_keys": _of("log_id", "slice"),
    "top_keys_by_records": lambda rows: largest_keys(rows, "records"),
    "top_keys_by_bytes": lambda rows: largest_keys(rows, "record_bytes"),
    "shared_keys": _of("topic"),
    "newest_places": _of("topic", "partition"),
    "shared_key_examples": lambda rows: rows,
    "lookalikes": _of("topic", "accidents"),
    "lookalike_examples": lambda rows: rows,
    "sample": smallest,
}
"""How the rows of one table of an answer become fewer: those of a task, then those of all tasks."""

Answers = Mapping[str, pa.Table]
"""The merged tables by name."""


@dataclass(frozen=True)
class Reading:
    """The result of reading the dump, beside its keys: summaries and notes by split, tallies by name."""

    summaries: list[LogSummary]
    notes: dict[int, SplitNotes]
    tallies: Mapping[str, pa.Table]

    @property
    def logs(self) -> dict[int, LogSummary]:
        """Each log as a whole, by log id."""
        return merged(self.summaries)


def ask_all(spark: SparkSession, plan: IndexPlan, partitions: int) -> tuple[Reading, Answers]:
    """Read the dump, bring each key's rows together in one of ``partitions`` tasks, and ask."""
    if len(plan.tasks) == 1:
        ((reading, batch),) = run_tasks(spark, 1, lambda task: _read_alone(plan, task))
        return reading, _merged([batch])
    sent = send(spark, len(plan.tasks), partitions, lambda task: _send_key_rows(plan, task, partitions))
    reading = _together(pickle.loads(block.content) for block in sent.driver_blocks())  # noqa: S301  by a task
    logs = reading.logs

    def look(_: int, blocks: list[Block]) -> pa.RecordBatch:
        return _answer_rows(Keys(regrouped(rows_in(blocks, _KEY_ROWS)), logs, partitions))

    batches, _ = sent.results(look)
    return reading, _merged(batches)


_TaskReading = tuple[bytes, Mapping[str, pa.Table]]
"""A task's packed summaries and its tallies."""


def _read_alone(plan: IndexPlan, task: int) -> tuple[Reading, pa.RecordBatch]:
    """Everything, where one task reads all."""
    readings: list[_TaskReading] = []
    rows = regrouped(batch for table in _rows_of_task(plan, task, readings) for batch in table.to_batches())
    reading = _together(readings)
    return reading, _answer_rows(Keys(rows, reading.logs))


def _send_key_rows(plan: IndexPlan, task: int, partitions: int) -> Sent:
    """Rows of KEY_ROW: those whose keys fold alike to one task, whatever their log."""
    readings: list[_TaskReading] = []
    for rows in _rows_of_task(plan, task, readings):
        folded, _ = fold_keys(rows["key"].combine_chunks())
        together = pc.coalesce(folded, rows["key"])
        yield from row_blocks(_KEY_ROWS, rows, receivers_by_key(together, partitions))
    yield DRIVER, Block(_READING, pickle.dumps(readings[0]))


def _rows_of_task(plan: IndexPlan, task: int, readings: list[_TaskReading]) -> Iterator[pa.Table]:
    """Rows of KEY_ROW; the reading of the task is added to ``readings`` at the end."""
    reader, grouper, tallies = TaskReader(plan, task), KeyGrouper(KEY_ROWS), Tallies()
    for index in reader.rows():
        tallies.add(index)
        for rows in grouper.add(index):
            yield pa.Table.from_batches([rows])
    yield grouper.finish()
    readings.append((packed(reader.summaries.values()), tallies.tables))


def _together(readings: Iterable[_TaskReading]) -> Reading:
    summaries, tallies = zip(*readings, strict=True)
    return Reading(*unpacked(summaries), added_up(tallies))


def _answer_rows(keys: Keys) -> pa.RecordBatch:
    """One row per table of each question."""
    rows = [
        {"table": name, "rows": packed_rows(MERGES[name](table))}
        for question in QUESTIONS
        for name, table in question(keys).items()
    ]
    return pa.RecordBatch.from_pylist(rows, _ANSWER_SCHEMA)


def _merged(batches: Iterable[pa.RecordBatch]) -> Answers:
    """Tables of all tasks, joined to those about no keys at all: no task may have seen one."""
    nothing = _answer_rows(Keys(FOLDED_KEY_ROW.empty_table(), {}))
    parts: dict[str, list[pa.Table]] = {}
    for row in (row for batch in (nothing, *batches) for row in batch.to_pylist()):
        with pa.ipc.open_stream(row["rows"]) as reader:
            parts.setdefault(row["table"], []).append(reader.read_all())
    return {name: merge(pa.concat_tables(parts[name])) for name, merge in MERGES.items()}
