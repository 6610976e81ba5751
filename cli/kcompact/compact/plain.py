"""The plain form: one closed log that was never cleaned.

Group by key in each task that reads, merge the groups of all tasks per (log, key), copy: three stages that
send each other rows through Spark's shuffle, or one task that does it all where the dump is small. Each task
works on so many rows at a time, so that memory is the same for a million keys and for many.
It holds where every log's offsets ascend in the order of its records (found while indexing, checked by the
caller); anything else takes the full form.
"""

import pickle
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

from kcompact.compact.keys_across_partitions import SharedKeys, find_shared_keys, together
from kcompact.compact.plain_copying import CopiedLog, PlainJob, copy_latest, in_place, kept_bytes
from kcompact.compact.sections import SectionReader
from kcompact.compact.steps import STEPS, TOLD, steps_in_task
from kcompact.compact.task_files import results_of
from kcompact.dumps.output.assemble import Fragment
from kcompact.dumps.records.layout import SplitNotes
from kcompact.engine.blocks import block_of, row_blocks, rows_in
from kcompact.engine.exchange import receivers_by_key, shares_by_key
from kcompact.engine.passes.grouped_rows import GROUPED, split_of
from kcompact.engine.passes.grouping import KeyGrouper, passes_for
from kcompact.engine.passes.index_pass import TASK_SHIFT, TaskReader
from kcompact.engine.passes.summaries import LogSummary, packed, unpacked
from kcompact.engine.shuffle import DRIVER, Block, Sent, Stage, send
from kcompact.engine.tasks import run_tasks

LogNames = Mapping[int, tuple[str, int]]
"""Topic and partition of every log id."""

GROUPS, SECTIONS, SUMMARIES = "groups", "sections", "summaries"
_LATEST, _FIGURES = "latest", "figures"
_PASSES_TO_DECIDE = 2  # in place of one that merges only: a round's rules take more room for each row


@dataclass(frozen=True)
class PlainScan:
    """Summaries and notes of the dump, by split, before anything is decided. The driver's have no runs."""

    summaries: list[LogSummary]
    notes: dict[int, SplitNotes]


@dataclass(frozen=True)
class PlainRun:
    """The result of the plain form: figures as read, figures as copied, parts of the output, shared keys."""

    scan: PlainScan
    copied: list[CopiedLog]
    fragments: list[Fragment]
    shared_keys: SharedKeys


Merge = Callable[[list[pa.RecordBatch]], tuple[pa.Table, object]]
"""Of all groups of some keys: rows to copy and to report by, and figures for the driver."""

CheckScan = Callable[[PlainScan], bool]
"""Whether to go on after reading; raises where the dump cannot be compacted."""


def run_plain(spark: SparkSession, job: PlainJob, merge_tasks: int, check_scan: CheckScan) -> PlainRun | None:
    """Read, merge, copy; parts of the output are in the plan's folder. None: ``check_scan`` stopped it."""
    tasks = len(job.plan.tasks)
    if tasks == merge_tasks == 1 and not job.workplace.is_afar:
        (run,) = run_tasks(spark, 1, lambda task: compact_alone(job, task))
        return run if check_scan(run.scan) else None
    grouped = send(spark, tasks, merge_tasks, lambda task: send_groups(job, task, merge_tasks))
    return merge_and_copy(job, grouped, merge_tasks, check_scan)


def merge_and_copy(job: PlainJob, grouped: Stage, merge_tasks: int, check_scan: CheckScan) -> PlainRun | None:
    """Merge and copy, once the dump is read (``send_groups``). None: ``check_scan`` stopped it."""
    scan = PlainScan(*unpacked(block.content for block in grouped.driver_blocks()))
    if not check_scan(scan):
        return None
    names = {log.log_id: (log.topic, log.partition) for log in scan.summaries}
    latest = grouped.then(
        len(job.plan.tasks),
        lambda _, blocks: send_latest(job, blocks, merge_tasks, lambda groups: latest_records(groups, names)),
    )
    copying = job
    if job.workplace.whole_begin is not None:
        copying = in_place(job, kept_bytes_in(latest.driver_blocks()))
    results, merged = results_of(latest, job.plan.task_bytes, copying, copy_sent)
    return PlainRun(
        scan,
        [log for logs, _ in results for log in logs],
        [fragment for _, fragments in results for fragment in fragments],
        together(figures_in(merged)),
    )


def latest_records(groups: list[pa.RecordBatch], names: LogNames) -> tuple[pa.Table, SharedKeys]:
    """One row per (log, key) of all groups (GROUPED_SCHEMA) of some keys, and those of several partitions."""
    keys = GROUPED.merged(groups)
    return keys, find_shared_keys(keys, names)


def compact_alone(job: PlainJob, task: int) -> PlainRun:
    """The whole job in one task."""
    reader, grouper = TaskReader(job.plan, task), KeyGrouper(GROUPED)
    groups = [group for rows in reader.rows() for group in grouper.add(rows)]
    groups += grouper.finish().to_batches()
    logs = [log for split in reader.summaries.values() for log in split.logs()]
    names = {log.log_id: (log.topic, log.partition) for log in logs}
    merged = [latest_records(share, names) for share in shares_by_key(groups, 1, passes_for(groups))]
    keys, shared = [batch for rows, _ in merged for batch in rows.to_batches()], [part for _, part in merged]
    copied, fragments = copy_latest(job, task, keys, logs)
    scan = PlainScan(*unpacked([packed(reader.summaries.values(), with_runs=False)]))
    return PlainRun(scan, copied, fragments, together(shared))


def send_groups(job: PlainJob, task: int, merge_tasks: int) -> Sent:
    """Pass 1: one row per key of the task, sent to the merge task that the key belongs to.

    Records that are not of a dirty section known beforehand have a row each.
    """
    reader, grouper = TaskReader(job.plan, task), KeyGrouper(job.grouping, TOLD if job.tells_steps else ())
    sections = None if job.sections is None else SectionReader(job.sections)
    for number, rows in enumerate(reader.rows(), task):
        dirty = rows
        if sections is not None:
            dirty, others = sections.cut(rows)
            if others is not None:
                single = job.grouping.of_records(others)
                yield from _by_key(pa.Table.from_batches([single]), merge_tasks)
        for groups in grouper.add(dirty):
            yield from _by_key(pa.Table.from_batches([groups]), merge_tasks)
        if job.tells_steps and not dirty.column("key").null_count:
            # By way of any merge task: shares are not known before all is read.
            yield number % merge_tasks, block_of(STEPS, steps_in_task(dirty, grouper.before))
    yield from _by_key(grouper.finish(), merge_tasks)
    summaries = reader.summaries.values()
    yield DRIVER, Block(SUMMARIES, packed(summaries, with_runs=False))
    if sections is not None:
        yield DRIVER, Block(SECTIONS, pickle.dumps(sections.figures))
    # Runs can be as many as the records: they go by way of a merge task back to this task's second pass.
    yield task % merge_tasks, Block(SUMMARIES, pickle.dumps((task, packed(summaries))))


def _by_key(groups: pa.Table, merge_tasks: int) -> Sent:
    # By key alone, so that a key found in several partitions meets itself in one place.
    return row_blocks(GROUPS, groups, receivers_by_key(groups["key"], merge_tasks))


def send_latest(job: PlainJob, blocks: list[Block], merge_tasks: int, merge: Merge) -> Sent:
    """The merged rows of each key go to the copy task that will read their split, figures to the driver."""
    figures, task_bytes = [], np.zeros(len(job.plan.tasks), np.int64)
    groups = rows_in(blocks, GROUPS)
    passes = passes_for(groups) * (1 if job.sections is None else _PASSES_TO_DECIDE)
    for rows, more in map(merge, shares_by_key(groups, merge_tasks, passes)):
        figures.append(more)
        if job.workplace.whole_begin is not None:
            task_bytes += kept_bytes(job, rows)
        yield from row_blocks(_LATEST, rows, split_of(rows["location"].to_numpy()) >> TASK_SHIFT)
    for block in blocks:
        if block.kind == SUMMARIES:
            receiver, content = pickle.loads(block.content)  # noqa: S301  pickled by send_groups
            yield receiver, Block(SUMMARIES, content)
    yield DRIVER, Block(_FIGURES, pickle.dumps((figures, task_bytes)))


def figures_in(blocks: list[Block]) -> list[Any]:
    """The figures that ``merge`` counted of all keys, share by share, from the driver's blocks."""
    parts = (pickle.loads(block.content) for block in blocks)  # noqa: S301  pickled by send_latest
    return [figures for part, _ in parts for figures in part]


def kept_bytes_in(blocks: list[Block]) -> np.ndarray:
    """How much each copy task will write (int64), from the driver's blocks."""
    parts = [pickle.loads(block.content)[1] for block in blocks]  # noqa: S301  pickled by send_latest
    task_bytes: np.ndarray = np.sum(parts, axis=0)
    return task_bytes


def copy_sent(job: PlainJob, task: int, blocks: list[Block]) -> tuple[list[CopiedLog], list[Fragment]]:
    """Pass 2: the survivors of a task's splits."""
    logs, _ = unpacked(block.content for block in blocks if block.kind == SUMMARIES)
    return copy_latest(job, task, rows_in(blocks, _LATEST), logs)
