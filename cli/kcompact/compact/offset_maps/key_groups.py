"""Reads a dump into one row per task and key: Kafka's offset map, spread over tasks.

A task works on a limited number of rows at a time, so its memory does not grow with the number of keys. It
merges by key the records that it takes to be dirty, by what is known before reading. The result is right only
where every log's offsets ascend in the order of its records; any other dump is decided by record.
"""

import pickle
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

from kcompact.broker.state.known_records import KnownRecord
from kcompact.compact.context.remembering import (
    Digests,
    Known,
    KnownByLog,
    last_offsets_in,
    records_in,
)
from kcompact.compact.offset_maps.sections import (
    LogSections,
    SectionFigures,
    SectionReader,
    Sections,
    logs_of,
)
from kcompact.compact.offset_maps.steps import STEP_COLUMNS, STEPS, steps_in_task
from kcompact.compact.read_dump import ReadDump, checked
from kcompact.dumps.dump import Dump
from kcompact.engine.blocks import block_of, row_blocks, rows_in
from kcompact.engine.exchange import receivers_by_key, shares_by_key
from kcompact.engine.passes.grouped_rows import GROUPED, SIZED
from kcompact.engine.passes.grouping import KeyGrouper, KeyGrouping, passes_for
from kcompact.engine.passes.index_pass import IndexPlan, TaskReader
from kcompact.engine.passes.summaries import SUMMARIES, merged, packed, to_second_pass
from kcompact.engine.shuffle import DRIVER, Block, Send, Sent

GROUPS, SECTIONS = "groups", "sections"


@dataclass(frozen=True)
class HowToRead:
    """How a dump is read, and by how many tasks its keys are merged. Picklable."""

    plan: IndexPlan
    merge_tasks: int
    sections: Sections | None = None  # None: no bounds, the whole of each log is dirty
    tells_steps: bool = False  # tasks also send the steps of keys (steps.py)

    @property
    def tells_sizes(self) -> bool:
        """Whether records are read with their sizes in a log, for which values and headers are looked at."""
        return "log_bytes" in self.plan.extra

    @property
    def grouping(self) -> KeyGrouping:
        """The grouping of rows for the merge tasks."""
        return SIZED if self.tells_sizes else GROUPED


@dataclass(frozen=True)
class KeyScan(ReadDump):
    """A dump whose rows were merged by key in each task. ``figures`` are those of each task's sections."""

    reading: HowToRead
    figures: list[SectionFigures]

    @property
    def sections(self) -> Sections:
        """The bounds by which the dump was read."""
        return self.reading.sections or Sections()

    @cached_property
    def logs(self) -> dict[int, LogSections]:
        """The figures of each log's sections, by log id."""
        if self.reading.sections is None:
            return {i: LogSections.of_dirty_log(whole) for i, whole in merged(self.summaries).items()}
        return logs_of(self.figures)

    def records_at(self, wanted: KnownByLog) -> dict[tuple[int, int], KnownRecord]:
        """See ``ReadDump``."""
        tables = [table for task in self.figures for table in task.known]
        return records_in(pa.concat_tables(tables), wanted) if tables else {}

    def last_offsets(self, digests: Digests) -> Known:
        """See ``ReadDump``."""

        def look(_: int, blocks: list[Block]) -> Known:
            rows = [batch.select(["log_id", "key", "last_offset"]) for batch in rows_in(blocks, GROUPS)]
            return last_offsets_in(pa.Table.from_batches(rows), "last_offset", digests) if rows else {}

        return {place: offset for part in self.keyed.results(look) for place, offset in part.items()}


def read_keys(send: Send, dump: Dump, reading: HowToRead) -> KeyScan:
    """Read a dump. Raises InputError where it cannot be worked on."""
    plan = reading.plan
    keyed = send(len(plan.tasks), reading.merge_tasks, lambda task: send_groups(reading, task))
    blocks = keyed.driver_blocks()
    summaries = (block.content for block in blocks if block.kind == SUMMARIES)
    figures = [pickle.loads(b.content) for b in blocks if b.kind == SECTIONS]  # noqa: S301  pickled below
    return KeyScan(plan, keyed, *checked(dump, plan, summaries), reading, figures)


def send_groups(reading: HowToRead, task: int) -> Sent:
    """Pass 1: send one row per key of the task to the merge task that the key belongs to.

    Records outside the dirty section, as far as it is known beforehand, are sent in a row each.
    """
    merge_tasks, grouping = reading.merge_tasks, reading.grouping
    reader = TaskReader(reading.plan, task)
    grouper = KeyGrouper(grouping, STEP_COLUMNS if reading.tells_steps else ())
    sections = None if reading.sections is None else SectionReader(reading.sections)
    for number, rows in enumerate(reader.rows(), task):
        dirty = rows
        if sections is not None:
            dirty, others = sections.cut(rows)
            if others is not None:
                yield from _by_key(pa.Table.from_batches([grouping.of_records(others)]), merge_tasks)
        for groups in grouper.add(dirty):
            yield from _by_key(pa.Table.from_batches([groups]), merge_tasks)
        if reading.tells_steps and not dirty.column("key").null_count:
            # They go by way of any merge task: their shares are known only when all records are read.
            yield number % merge_tasks, block_of(STEPS, steps_in_task(dirty, grouper.before))
    yield from _by_key(grouper.finish(), merge_tasks)
    summaries = reader.summaries.values()
    yield DRIVER, Block(SUMMARIES, packed(summaries, with_runs=False))
    if sections is not None:
        yield DRIVER, Block(SECTIONS, pickle.dumps(sections.figures))
    # There can be as many runs as records, so the driver gets none.
    yield to_second_pass(task, merge_tasks, packed(summaries))


def _by_key(groups: pa.Table, merge_tasks: int) -> Sent:
    # By key alone, so that the rows of a key that is in several partitions meet in one task.
    return row_blocks(GROUPS, groups, receivers_by_key(groups["key"], merge_tasks))


def groups_of_keys(
    blocks: list[Block], reading: HowToRead, passes: int = 1
) -> Iterator[list[pa.RecordBatch]]:
    """The groups that a merge task was sent, some keys at a time, with all groups of each key.

    ``passes`` times as many passes are made as merging alone needs.
    """
    groups = rows_in(blocks, GROUPS)
    return shares_by_key(groups, reading.merge_tasks, passes_for(groups) * passes)
