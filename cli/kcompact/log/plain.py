"""The plain form: one closed log that was never cleaned.

Index and group by key in each task, merge the groups of all tasks per (log, key), copy: three Spark jobs that
hand rows on as Arrow files, or one task that does it all where the dump is small. It holds where every log's
offsets ascend in the order of its records (checked while indexing, judged by the caller); anything else takes
the full form.
"""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
import orjson
import pyarrow as pa
from pyspark.sql import SparkSession

from kcompact.dumps.assemble import Fragment
from kcompact.engine.copying import Copier, Part, rows_by_split
from kcompact.engine.exchange import Outbox, receivers_by_key, take_in
from kcompact.engine.grouping import (
    GROUPED_SCHEMA,
    KeyGrouper,
    is_tombstone_of,
    merge_groups,
    record_bytes_of,
    split_of,
)
from kcompact.engine.indexing import TASK_SHIFT, IndexPlan, per_task, read_task, spark_schema
from kcompact.engine.summaries import LogSummary, read_log_names, read_side_file, side_file
from kcompact.log.gaps import Presence, gaps_between
from kcompact.log.shared_keys import find_shared_keys, write_shared_keys

LogNames = dict[int, tuple[str, int]]
"""Topic and partition of every log id."""

_NOTHING = pa.schema([("done", pa.int64())])  # tasks leave files; no row comes back
RenderRemoved = Callable[[str, int, pa.Table], bytes]
RenderGaps = Callable[[str, int, np.ndarray], bytes]
REMOVED_SCHEMA = pa.schema(
    [
        pa.field("key", pa.binary()),
        pa.field("records_removed", pa.int64()),
        pa.field("first_offset_removed", pa.int64()),
        pa.field("retained_offset", pa.int64()),  # null: the key is gone
        pa.field("reason", pa.string()),  # why the key is gone; null where a record stays
    ]
)


@dataclass(frozen=True)
class CopiedLog:
    """What one split left of one log; ranges are bytes of the task's ``removed`` and ``gaps`` parts."""

    split_id: int
    log_id: int
    task: str
    keys: int
    kept: int
    kept_bytes: int
    tombstones_kept: int
    tombstones_dropped: int
    first_kept: int
    last_kept: int
    removed_keys: int
    removed_range: tuple[int, int]
    gaps: int
    gap_offsets: int
    gap_missing_before: int
    gaps_range: tuple[int, int]


@dataclass(frozen=True)
class PlainJob:
    """What the workers of the plain form need; travels to them."""

    plan: IndexPlan
    copier: Copier | None
    render_removed: RenderRemoved
    render_gaps: RenderGaps
    drop_tombstones: bool = False


def run_plain(spark: SparkSession, job: PlainJob, merge_tasks: int) -> None:
    """Do it all; what was found lies in the plan's folder (``read_side_files``, ``read_copied``)."""
    tasks = len(job.plan.tasks)
    if tasks == 1:
        _run(spark, 1, _compact_task(job))
        return
    _run(spark, tasks, _group_task(job, merge_tasks))
    names = read_log_names(Path(job.plan.folder))
    _run(spark, merge_tasks, _merge_task(job, merge_tasks, names))
    _run(spark, tasks, _copy_task(job, merge_tasks))


def _run(spark: SparkSession, tasks: int, do: Callable[[int], None]) -> None:
    """Call ``do`` with each task's number, in Spark's workers."""

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for task in batch.column(0).to_pylist():
                do(task)
        yield pa.RecordBatch.from_pylist([], schema=_NOTHING)

    per_task(spark, tasks, work, spark_schema(_NOTHING)).toArrow()


def read_copied(folder: Path) -> tuple[list[CopiedLog], list[Fragment]]:
    """What the copy tasks left: per split and log, and the fragments of the output, both by split."""
    copied: list[CopiedLog] = []
    fragments: list[Fragment] = []
    for path in sorted(folder.glob("copied-*.json")):
        task = orjson.loads(path.read_bytes())
        copied += [_copied_log(row) for row in task["logs"]]
        fragments += [Fragment(**row) for row in task["fragments"]]
    copied.sort(key=lambda log: log.split_id)
    fragments.sort(key=lambda fragment: fragment.split_id)
    return copied, fragments


def _compact_task(job: PlainJob) -> Callable[[int], None]:
    """The whole job in one task."""

    def do(task: int) -> None:
        grouper = KeyGrouper()
        groups = [group for rows in read_task(job.plan, task) for group in grouper.add(rows)]
        keys = merge_groups([*groups, *grouper.finish().to_batches()])
        write_shared_keys(job.plan, find_shared_keys(keys, read_log_names(Path(job.plan.folder))))
        _copy_rows(job, task, keys)

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
        keys = merge_groups(take_in(folder, "groups", tasks, task, merge_tasks))
        write_shared_keys(job.plan, find_shared_keys(keys, names))
        outbox = Outbox(folder, "latest", task, tasks, GROUPED_SCHEMA)
        outbox.put(keys, split_of(keys["place"].to_numpy()) >> TASK_SHIFT)
        outbox.close()

    return do


def _copy_task(job: PlainJob, merge_tasks: int) -> Callable[[int], None]:
    """Pass 2: the survivors of a task's splits."""

    def do(task: int) -> None:
        folder, tasks = Path(job.plan.folder), len(job.plan.tasks)
        batches = take_in(folder, "latest", merge_tasks, task, tasks)
        _copy_rows(job, task, pa.Table.from_batches(batches, GROUPED_SCHEMA))

    return do


def _copy_rows(job: PlainJob, task: int, keys: pa.Table) -> None:
    if not keys.num_rows:
        return
    split_ids = split_of(keys["place"].to_numpy())
    order = np.lexsort((keys["position"].to_numpy(), split_ids))
    rows = keys.append_column("split_id", pa.array(split_ids)).take(pa.array(order)).combine_chunks()
    copying = _CopyTask(job, task)
    for split_id, survivors in rows_by_split(iter(rows.to_batches())):
        copying.copy_split(split_id, survivors)
    copying.finish()


class _CopyTask:
    """One task of the second pass: its part of the output, of removed-keys.csv and of gaps.csv."""

    def __init__(self, job: PlainJob, number: int) -> None:
        folder = Path(job.plan.folder)
        name = f"{number:06}"
        self._job = job
        self._summaries: dict[int, dict[int, LogSummary]] = {}  # split_id -> log_id -> summary
        for log in read_side_file(side_file(folder, number)):
            self._summaries.setdefault(log.split_id, {})[log.log_id] = log
        self._name = name
        self._part = Part(job.plan, f"part-{name}", job.copier)
        self._removed = (folder / f"removed-{name}").open("wb")
        self._gaps = (folder / f"gaps-{name}").open("wb")
        self._logs: list[CopiedLog] = []
        self._fragments: list[Fragment] = []

    def copy_split(self, split_id: int, rows: pa.Table) -> None:
        place = rows["place"].to_numpy()
        dropped = is_tombstone_of(place) & self._job.drop_tombstones
        kept = ~dropped
        positions, record_bytes = rows["position"].to_numpy(), record_bytes_of(place)
        self._fragments.append(self._part.copy(split_id, positions[kept], record_bytes[kept]))
        rows = rows.append_column("dropped", pa.array(dropped))
        summaries = self._summaries[split_id]
        log_ids = rows["log_id"].to_numpy()
        for log_id in np.unique(log_ids):
            mine = rows if len(summaries) == 1 else rows.take(np.flatnonzero(log_ids == log_id))
            self._logs.append(self._report_log(split_id, summaries[int(log_id)], mine))

    def finish(self) -> None:
        for file in (self._part, self._removed, self._gaps):
            file.close()
        done = {"logs": list(map(asdict, self._logs)), "fragments": list(map(asdict, self._fragments))}
        path = Path(self._job.plan.folder) / f"copied-{self._name}.json"
        path.write_bytes(orjson.dumps(done))

    def _report_log(self, split_id: int, log: LogSummary, rows: pa.Table) -> CopiedLog:
        place, dropped = rows["place"].to_numpy(), rows["dropped"].to_numpy()
        tombstones, kept = is_tombstone_of(place), ~dropped
        kept_offsets = rows["last_offset"].to_numpy()[kept]
        gaps = gaps_between(np.sort(kept_offsets), Presence(log.runs))
        removed = removed_rows(rows)
        return CopiedLog(
            split_id=split_id,
            log_id=log.log_id,
            task=self._name,
            keys=len(place),
            kept=len(kept_offsets),
            kept_bytes=int(record_bytes_of(place)[kept].sum()),
            tombstones_kept=int((tombstones & kept).sum()),
            tombstones_dropped=int(dropped.sum()),
            first_kept=int(kept_offsets.min()) if len(kept_offsets) else -1,
            last_kept=int(kept_offsets.max()) if len(kept_offsets) else -1,
            removed_keys=removed.num_rows,
            removed_range=_append(self._removed, self._job.render_removed(log.topic, log.partition, removed)),
            gaps=len(gaps),
            gap_offsets=int((gaps[:, 1] - gaps[:, 0]).sum()),
            gap_missing_before=int(gaps[:, 2].sum()),
            gaps_range=_append(self._gaps, self._job.render_gaps(log.topic, log.partition, gaps)),
        )


def removed_rows(rows: pa.Table) -> pa.Table:
    """REMOVED_SCHEMA rows of the keys that lost records, from merged rows with a column ``dropped``."""
    records, dropped = rows["records"].to_numpy(), rows["dropped"].to_numpy()
    lost = np.flatnonzero((records > 1) | dropped)
    rows, records, dropped = rows.take(lost), records[lost], dropped[lost]
    return pa.table(
        {
            "key": rows["key"],
            "records_removed": records - ~dropped,
            "first_offset_removed": rows["first_offset"],
            "retained_offset": pa.array(rows["last_offset"].to_numpy(), mask=dropped),
            "reason": pa.array(np.where(dropped, "expired_tombstone", ""), mask=~dropped, type=pa.string()),
        },
        schema=REMOVED_SCHEMA,
    )


def _append(file: BinaryIO, text: bytes) -> tuple[int, int]:
    start = file.tell()
    file.write(text)
    return start, start + len(text)


def _copied_log(row: dict[str, object]) -> CopiedLog:
    return CopiedLog(**row)  # type: ignore[arg-type]  # written by asdict above
