"""One pass over a dump: index it, bring key rows together, and ask all questions in each task with keys."""

import pickle
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

from kcompact.dumps.records.layout import SplitNotes
from kcompact.engine.blocks import row_blocks, rows_in
from kcompact.engine.exchange import receivers_by_key
from kcompact.engine.passes.grouping import KeyGrouper
from kcompact.engine.passes.index_pass import IndexPlan, TaskReader
from kcompact.engine.passes.summaries import LogSummary, merged, packed, unpacked
from kcompact.engine.shuffle import DRIVER, Block, Send, Sent, send, send_in_process
from kcompact.engine.tasks import run_tasks
from kcompact.inspect.questions.key_counts import count_keys, largest_keys
from kcompact.inspect.questions.key_facts import FOLDED_KEY_ROW, KEY_ROWS, regrouped
from kcompact.inspect.questions.keys import Keys, summed
from kcompact.inspect.questions.lookalikes import fold_keys, lookalikes
from kcompact.inspect.questions.sample import sample_keys, smallest
from kcompact.inspect.questions.shared_keys import shared_keys
from kcompact.inspect.questions.tallies import Tallies, added_up

_KEY_ROWS, _READING = "key rows", "reading"


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
"""How the rows of each table are merged: first those of one task, then those of all tasks."""

Answers = Mapping[str, pa.Table]
"""The merged tables by name."""


@dataclass(frozen=True)
class WhatWasRead:
    """The result of reading the dump, beside its keys: summaries and notes by split, tallies by name."""

    summaries: list[LogSummary]
    notes: dict[int, SplitNotes]
    tallies: Mapping[str, pa.Table]

    @property
    def logs(self) -> dict[int, LogSummary]:
        """Each log as a whole, by log id."""
        return merged(self.summaries)


def ask_all(spark: SparkSession, plan: IndexPlan, partitions: int) -> tuple[WhatWasRead, Answers]:
    """Read the dump, bring each key's rows together in one of ``partitions`` tasks, and ask."""
    if len(plan.tasks) == 1:
        (result,) = run_tasks(spark, 1, lambda _: _ask(send_in_process, plan, 1))
        return result
    return _ask(partial(send, spark), plan, partitions)


def _ask(send: Send, plan: IndexPlan, partitions: int) -> tuple[WhatWasRead, Answers]:
    """As ``ask_all``; ``send`` says where its stages run."""
    sent = send(len(plan.tasks), partitions, lambda task: _send_key_rows(plan, task, partitions))
    readings = [pickle.loads(block.content) for block in sent.driver_blocks()]  # noqa: S301  by a task
    summaries, tallies = zip(*readings, strict=True)
    reading = WhatWasRead(*unpacked(summaries), added_up(tallies))
    logs = reading.logs

    def look(_: int, blocks: list[Block]) -> Answers:
        return _answers(Keys(regrouped(rows_in(blocks, _KEY_ROWS)), logs, partitions))

    return reading, _merged(sent.results(look))


def _send_key_rows(plan: IndexPlan, task: int, partitions: int) -> Sent:
    """Send rows of KEY_ROW, those of keys that fold alike to one task; summaries, tallies to the driver."""
    reader, grouper, tallies = TaskReader(plan, task), KeyGrouper(KEY_ROWS), Tallies()
    for index in reader.rows():
        tallies.add(index)
        for rows in grouper.add(index):
            yield from _by_folded_key(pa.Table.from_batches([rows]), partitions)
    yield from _by_folded_key(grouper.finish(), partitions)
    reading = packed(reader.summaries.values()), tallies.tables
    yield DRIVER, Block(_READING, pickle.dumps(reading))


def _by_folded_key(rows: pa.Table, partitions: int) -> Sent:
    folded, _ = fold_keys(rows["key"].combine_chunks())
    together = pc.coalesce(folded, rows["key"])
    yield from row_blocks(_KEY_ROWS, rows, receivers_by_key(together, partitions))


def _answers(keys: Keys) -> Answers:
    """The tables of all questions, with the rows of this task merged (``MERGES``)."""
    return {name: MERGES[name](table) for question in QUESTIONS for name, table in question(keys).items()}


def _merged(answers: Iterable[Answers]) -> Answers:
    """The merged tables of all tasks. Empty ones are added, so that none is missing if no task has a key."""
    parts = [_answers(Keys(FOLDED_KEY_ROW.empty_table(), {})), *answers]
    return {name: merge(pa.concat_tables(part[name] for part in parts)) for name, merge in MERGES.items()}
