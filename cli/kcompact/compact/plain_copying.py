"""Pass 2 of the plain form: survivors are copied, removed keys and gaps are reported.

It goes stretch by stretch, so that keys and lines of a report never lie in memory for a whole task.
"""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pyarrow as pa

from kcompact.compact.decided_rows import is_kept, removed_rows, with_outcome
from kcompact.compact.sections import Sections
from kcompact.compact.split_figures import SplitFigures, Splits, bounds_of
from kcompact.dumps.output.assemble import WHOLE, Fragment
from kcompact.dumps.output.workplace import Workplace
from kcompact.dumps.writers.converting import Copier
from kcompact.engine.passes.copy_pass import Part, StoredPart, open_part
from kcompact.engine.passes.grouped_rows import GROUPED, SIZED, record_bytes_of, split_of
from kcompact.engine.passes.grouping import KeyGrouping, passes_for
from kcompact.engine.passes.index_pass import TASK_SHIFT, IndexPlan
from kcompact.engine.passes.summaries import LogSummary
from kcompact.errors import EngineError
from kcompact.storage import disk

_SAMPLED = 16  # one row in so many tells where to cut stretches
RenderRemoved = Callable[[str, int, pa.Table], bytes]
RenderGaps = Callable[[str, int, np.ndarray], bytes]


@dataclass(frozen=True, slots=True)
class CopiedLog:
    """One log in a stretch of one split, copied; ranges are bytes of the task's ``removed`` and ``gaps``.

    Rows are of one split and one log, and stretches of a log do not overlap.
    """

    split_id: int
    log_id: int
    task: str
    first_offset: int  # of the latest records, dropped ones too
    keys: int
    kept: int
    kept_bytes: int
    tombstones_kept: int
    tombstones_dropped: int
    first_kept: int
    last_kept: int
    records_before: int  # of this log in the split, below the first kept record
    records_through: int  # likewise, up to the last kept record
    removed_keys: int
    removed_range: tuple[int, int]
    gaps: int
    gap_offsets: int
    gap_missing_before: int
    gaps_range: tuple[int, int]


@dataclass(frozen=True)
class PlainJob:
    """The inputs that all workers of the plain form share. Picklable."""

    plan: IndexPlan
    workplace: Workplace
    copier: Copier | None
    render_removed: RenderRemoved
    render_gaps: RenderGaps
    drop_tombstones: bool = False
    starts: tuple[int, ...] | None = None  # of each task's survivors in WHOLE, and where the last ones end
    sections: Sections | None = None  # None: all of a log is dirty, and nobody asks for a round's figures
    tells_steps: bool = False  # the first pass tells of each record which one of its key comes before it

    @property
    def grouping(self) -> KeyGrouping:
        """Of rows that go to the merge tasks."""
        return GROUPED if self.sections is None else SIZED


def copy_latest(
    job: PlainJob, task: int, latest: list[pa.RecordBatch], summaries: list[LogSummary]
) -> tuple[list[CopiedLog], list[Fragment]]:
    """Do pass 2 of one task; what it leaves of each log, and the fragments of its part, both by split.

    ``latest`` (GROUPED_SCHEMA, or DECIDED_SCHEMA; any order) are records that the task read, ``summaries``
    (with runs) those of its splits.
    """
    if not sum(batch.num_rows for batch in latest):
        return [], []
    copying = _CopyTask(job, task, summaries)
    for rows in _stretches(latest):
        copying.add(rows)
    return copying.finish()


def kept_bytes(job: PlainJob, rows: pa.Table) -> np.ndarray:
    """How many bytes each copy task will write of rows like those of ``copy_latest``, as int64."""
    if job.sections is None:
        rows = with_outcome(rows, drop_tombstones=job.drop_tombstones)
    location = rows["location"].to_numpy()
    task_bytes = np.zeros(len(job.plan.tasks), np.int64)
    np.add.at(
        task_bytes, split_of(location) >> TASK_SHIFT, np.where(is_kept(rows), record_bytes_of(location), 0)
    )
    return task_bytes


def in_place(job: PlainJob, task_bytes: np.ndarray) -> PlainJob:
    """The job with the place of each task's survivors in the output file, whose beginning is written."""
    begin = job.workplace.whole_begin
    if begin is None or job.copier is None:
        return job
    with disk.create(Path(job.plan.folder) / WHOLE) as out:
        out.write(begin)
    return replace(job, starts=(len(begin), *(len(begin) + np.cumsum(task_bytes)).tolist()))


def _stretches(latest: list[pa.RecordBatch]) -> Iterator[pa.Table]:
    """All rows in the order of their records, with a column ``split_id``, so many at a time.

    The output does not depend on the cuts: every stretch of a report follows the one before it.
    """
    places = [_Places.of(batch) for batch in latest]
    cuts = _cuts(places, passes_for(latest))
    for start, end in itertools.pairwise([None, *cuts, None]):
        batches = []
        for batch, place in zip(latest, places, strict=True):
            inside = place.between(start, end)
            batches.append(batch if inside is None else batch.filter(pa.array(inside)))
        rows = pa.Table.from_batches(batches).combine_chunks()
        split_ids, positions = split_of(rows["location"].to_numpy()), rows["position"].to_numpy()
        order = pa.array(np.lexsort((positions, split_ids)))
        yield rows.append_column("split_id", pa.array(split_ids)).take(order).combine_chunks()


@dataclass(frozen=True)
class _Places:
    """Where records lie: splits and positions in them."""

    split_ids: np.ndarray
    positions: np.ndarray

    @classmethod
    def of(cls, batch: pa.RecordBatch) -> "_Places":
        split_ids = split_of(batch.column("location").to_numpy()).astype(np.int32)
        return cls(split_ids, batch.column("position").to_numpy())

    def between(self, start: tuple[int, int] | None, end: tuple[int, int] | None) -> np.ndarray | None:
        """A flag per place: at or behind ``start`` and before ``end``. None: there are no bounds."""
        if start is None:
            return None if end is None else ~self._from(*end)
        return self._from(*start) if end is None else self._from(*start) & ~self._from(*end)

    def _from(self, split_id: int, position: int) -> np.ndarray:
        in_split = (self.split_ids == split_id) & (self.positions >= position)
        return in_split | (self.split_ids > split_id)


def _cuts(places: list[_Places], stretches: int) -> list[tuple[int, int]]:
    """Places that cut all into stretches of about the same number of records."""
    if stretches == 1:
        return []
    split_ids = np.concatenate([place.split_ids[::_SAMPLED] for place in places])
    positions = np.concatenate([place.positions[::_SAMPLED] for place in places])
    order = np.lexsort((positions, split_ids))
    chosen = order[np.arange(1, stretches) * len(order) // stretches]
    return list(zip(split_ids[chosen].tolist(), positions[chosen].tolist(), strict=True))


class _Survivors:
    """The survivors of one split, gathered until all of them are there."""

    def __init__(self, split_id: int) -> None:
        self.split_id = split_id
        self._positions: list[np.ndarray] = []
        self._record_bytes: list[np.ndarray] = []

    def add(self, positions: np.ndarray, record_bytes: np.ndarray) -> None:
        self._positions.append(positions)
        self._record_bytes.append(record_bytes.astype(np.int32))

    def copy(self, part: Part | StoredPart) -> Fragment:
        return part.copy(self.split_id, np.concatenate(self._positions), np.concatenate(self._record_bytes))


class _CopyTask:
    """One task of the second pass: its part of the output, of removed-keys.csv and of gaps.csv."""

    def __init__(self, job: PlainJob, number: int, summaries: list[LogSummary]) -> None:
        name = f"{number:06}"
        self._job = job
        self._summaries: dict[int, dict[int, LogSummary]] = {}  # split_id -> log_id -> summary
        for log in summaries:
            self._summaries.setdefault(log.split_id, {})[log.log_id] = log
        self._name = name
        start = None if job.starts is None else job.starts[number]
        self._end = None if job.starts is None else job.starts[number + 1]
        self._part = open_part(job.plan, job.workplace, name, job.copier, start)
        self._removed = job.workplace.create(f"removed-{name}")
        self._gaps = job.workplace.create(f"gaps-{name}")
        self._survivors: _Survivors | None = None
        self._logs: list[CopiedLog] = []
        self._fragments: list[Fragment] = []

    def add(self, rows: pa.Table) -> None:
        """Take in the next rows, of one split or of many."""
        if self._job.sections is None:
            rows = with_outcome(rows, drop_tombstones=self._job.drop_tombstones)
        self._gather_survivors(rows, record_bytes_of(rows["location"].to_numpy()), is_kept(rows))
        log_ids = rows["log_id"].to_numpy()
        known = np.unique(log_ids).tolist()
        for log_id in known:
            of_log = rows if len(known) == 1 else rows.take(np.flatnonzero(log_ids == log_id))
            self._report_log(log_id, of_log)

    def _gather_survivors(self, rows: pa.Table, record_bytes: np.ndarray, kept: np.ndarray) -> None:
        positions = rows["position"].to_numpy()
        splits = Splits.of(rows["split_id"].to_numpy())
        for split_id, bounds in zip(splits.ids.tolist(), itertools.pairwise(splits.bounds), strict=True):
            if self._survivors is None or self._survivors.split_id != split_id:
                self._copy_survivors()
                self._survivors = _Survivors(split_id)
            of_split = slice(*bounds)
            self._survivors.add(positions[of_split][kept[of_split]], record_bytes[of_split][kept[of_split]])

    def finish(self) -> tuple[list[CopiedLog], list[Fragment]]:
        self._copy_survivors()
        if self._end is not None and isinstance(self._part, Part) and self._part.end() != self._end:
            raise EngineError(f"part {self._name} ends at {self._part.end():,}, not at {self._end:,}")
        for file in (self._part, self._removed, self._gaps):
            file.close()
        return sorted(self._logs, key=lambda log: log.split_id), self._fragments

    def _copy_survivors(self) -> None:
        if self._survivors is not None:
            self._fragments.append(self._survivors.copy(self._part))

    def _report_log(self, log_id: int, rows: pa.Table) -> None:
        """Tell of one log's removed keys and gaps, and of what each split leaves of it."""
        splits = Splits.of(rows["split_id"].to_numpy())
        logs = [self._summaries[split_id][log_id] for split_id in splits.ids.tolist()]
        figures = SplitFigures.of(rows, splits, logs)
        columns, name = figures.columns, (logs[0].topic, logs[0].partition)
        removed = self._job.render_removed(*name, removed_rows(rows))
        removed_ranges = _append(self._removed, removed, columns["removed_keys"])
        gaps_ranges = _append(self._gaps, self._job.render_gaps(*name, figures.gaps), columns["gaps"])
        numbers = zip(*(column.tolist() for column in columns.values()), strict=True)
        for row, removed_range, gaps_range in zip(numbers, removed_ranges, gaps_ranges, strict=True):
            self._logs.append(
                CopiedLog(
                    log_id=log_id,
                    task=self._name,
                    removed_range=removed_range,
                    gaps_range=gaps_range,
                    **dict(zip(columns, row, strict=True)),
                )
            )


def _append(file: BinaryIO, text: bytes, lines: np.ndarray) -> list[tuple[int, int]]:
    """Write text of so many lines for each split; where each split's lie in the file."""
    start = file.tell()
    file.write(text)
    ends = np.flatnonzero(np.frombuffer(text, np.uint8) == ord("\n")) + 1
    bounds = start + np.concatenate([[0], ends])[bounds_of(lines)]
    return list(itertools.pairwise(bounds.tolist()))
