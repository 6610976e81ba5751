"""The plain form: one closed log that was never cleaned.

Index and group by key in each task, merge the groups of all tasks per (log, key), copy: three Spark jobs that
hand rows on as Arrow files, or one task that does it all where the dump is small. Each task works on so many
rows at a time, and leaves what it made of them, so that memory is the same for a million keys and for many.
It holds where every log's offsets ascend in the order of its records (checked while indexing, judged by the
caller); anything else takes the full form.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

from kcompact.engine.exchange import Outbox, discard, receivers_by_key, shares_by_key, take_in
from kcompact.engine.grouping import GROUPED_SCHEMA, KeyGrouper, merge_groups, passes_for, split_of
from kcompact.engine.indexing import TASK_SHIFT, read_task
from kcompact.engine.summaries import read_log_names
from kcompact.engine.tasks import run_tasks
from kcompact.log.plain_copying import PlainJob, copy_latest
from kcompact.log.shared_keys import find_shared_keys, together, write_shared_keys

LogNames = dict[int, tuple[str, int]]
"""Topic and partition of every log id."""


def run_plain(spark: SparkSession, job: PlainJob, merge_tasks: int) -> None:
    """Do it all; what was found lies in the plan's folder (``read_side_files``, ``read_copied``)."""
    for tasks, do in plain_jobs(job, merge_tasks):
        run_tasks(spark, tasks, do)


def plain_jobs(job: PlainJob, merge_tasks: int) -> Iterator[tuple[int, Callable[[int], None]]]:
    """Each job's number of tasks and what a task does, given its number; a job follows when one is done."""
    tasks = len(job.plan.tasks)
    if tasks == merge_tasks == 1:
        yield 1, _compact_task(job)
        return
    yield tasks, _group_task(job, merge_tasks)
    names = read_log_names(Path(job.plan.folder))
    yield merge_tasks, _merge_task(job, merge_tasks, names)
    discard(Path(job.plan.folder), "groups", tasks)
    yield tasks, _copy_task(job, merge_tasks)
    discard(Path(job.plan.folder), "latest", merge_tasks)


def _compact_task(job: PlainJob) -> Callable[[int], None]:
    """The whole job in one task."""

    def do(task: int) -> None:
        grouper = KeyGrouper()
        groups = [group for rows in read_task(job.plan, task) for group in grouper.add(rows)]
        groups += grouper.finish().to_batches()
        keys = _merged(job, task, groups, 1, read_log_names(Path(job.plan.folder)))
        copy_latest(job, task, [batch for part in keys for batch in part.to_batches()])

    return do


def _group_task(job: PlainJob, merge_tasks: int) -> Callable[[int], None]:
    """Pass 1: one row per key of the task, left for the merge task that the key belongs to."""

    def do(task: int) -> None:
        outbox = Outbox(Path(job.plan.folder), "groups", task, merge_tasks, GROUPED_SCHEMA)
        grouper = KeyGrouper()
        for rows in read_task(job.plan, task):
            for groups in grouper.add(rows):
                _send(outbox, pa.Table.from_batches([groups]), merge_tasks)
        _send(outbox, grouper.finish(), merge_tasks)
        outbox.close()

    return do


def _send(outbox: Outbox, groups: pa.Table, merge_tasks: int) -> None:
    # By key alone, so that a key found in several partitions meets itself in one place.
    outbox.put(groups, receivers_by_key(groups["key"], merge_tasks))


def _merge_task(job: PlainJob, merge_tasks: int, names: LogNames) -> Callable[[int], None]:
    """The latest record of each key, left for the copy task that will read its split."""

    def do(task: int) -> None:
        folder, tasks = Path(job.plan.folder), len(job.plan.tasks)
        groups = take_in(folder, "groups", tasks, task, merge_tasks)
        outbox = Outbox(folder, "latest", task, tasks, GROUPED_SCHEMA)
        for keys in _merged(job, task, groups, merge_tasks, names):
            outbox.put(keys, split_of(keys["place"].to_numpy()) >> TASK_SHIFT)
        outbox.close()

    return do


def _merged(
    job: PlainJob, task: int, groups: list[pa.RecordBatch], merge_tasks: int, names: LogNames
) -> Iterator[pa.Table]:
    """One row per (log, key), pass by pass; then the keys of several partitions are told."""
    passes = passes_for(groups)
    shared = []
    for share in shares_by_key(groups, merge_tasks, passes):
        keys = merge_groups(share)
        shared.append(find_shared_keys(keys, names))
        yield keys
    write_shared_keys(job.plan, task, together(shared))


def _copy_task(job: PlainJob, merge_tasks: int) -> Callable[[int], None]:
    """Pass 2: the survivors of a task's splits."""

    def do(task: int) -> None:
        folder, tasks = Path(job.plan.folder), len(job.plan.tasks)
        copy_latest(job, task, take_in(folder, "latest", merge_tasks, task, tasks))

    return do
