"""Pass 1: splits of a dump become index rows, read once by Spark's Python workers."""

import itertools
import pickle
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kcompact.dumps.dump import Dump
from kcompact.dumps.files.at_hand import at_hand
from kcompact.dumps.json.canonical_json import with_canonical_keys
from kcompact.dumps.layouts import LAYOUTS
from kcompact.dumps.loops import windows
from kcompact.dumps.records.indexing import count_replacements, count_time_steps, may_hold_replacements
from kcompact.dumps.records.layout import (
    FILLED_HEADERS,
    DumpFile,
    NeedsExtra,
    Split,
    SplitNotes,
    SplitToIndex,
)
from kcompact.engine.meter import READ, Meter
from kcompact.engine.passes.summaries import SplitSummary
from kcompact.engine.progress import folder_watched

SMALLEST_SPLIT_BYTES = 16 << 20  # below, a second task would cost more than it saves
TASKS_OF_A_MIDDLING_DUMP = 8  # of some hundred MB, whatever the number of cores
LARGEST_SPLIT_BYTES = 256 << 20  # so that a worker groups many records before the JVM sees a row
TASK_SHIFT = 14  # a split id is (number of its task << TASK_SHIFT) + number in the task
MOST_SPLITS_PER_TASK = 1 << TASK_SHIFT
FEW_FILES = 100  # plans of up to so many files are unpickled anew with every task
_PLANS_REMEMBERED = 2


@dataclass(frozen=True)
class IndexPlan:
    """Which task reads which splits. Picklable. Task ``i`` reads ``tasks[i]`` in order."""

    files: tuple[DumpFile, ...]
    tasks: tuple[tuple[Split, ...], ...]
    folder: str  # where tasks note their progress
    extra: frozenset[str] = frozenset()
    hash_secret: bytes = b""  # where ``extra`` has value_hash: equal in plans that are compared
    values_as_json: bool = False  # as ``SplitToIndex``

    def __reduce__(self) -> tuple[Callable[..., "IndexPlan"], tuple[object, ...]]:
        """Pickle a plan of many files as bytes, by which a worker finds the plan once it has unpickled it."""
        if len(self.files) <= FEW_FILES:
            return IndexPlan, self._values
        return _plan_in, (self._pickled,)

    @property
    def _values(self) -> tuple[object, ...]:
        return self.files, self.tasks, self.folder, self.extra, self.hash_secret, self.values_as_json

    @cached_property
    def _pickled(self) -> bytes:
        """The pickled values, made once for all tasks of all stages."""
        return pickle.dumps(self._values)

    @property
    def splits(self) -> dict[int, Split]:
        """All splits by their id."""
        return {split.split_id: split for task in self.tasks for split in task}

    @cached_property
    def cut_files(self) -> frozenset[int]:
        """The files, by id, that have several splits."""
        splits = Counter(split.file_id for task in self.tasks for split in task)
        return frozenset(file_id for file_id, count in splits.items() if count > 1)

    @property
    def task_bytes(self) -> list[int]:
        """The bytes that each task reads."""
        return [sum(split.end - split.start for split in task) for task in self.tasks]

    def split(self, split_id: int) -> Split:
        """The split that an id names."""
        return self.tasks[split_id >> TASK_SHIFT][split_id & MOST_SPLITS_PER_TASK - 1]

    def file_of(self, split: Split) -> DumpFile:
        """The file that a split is a part of."""
        return self.files[split.file_id]


@lru_cache(_PLANS_REMEMBERED)
def _plan_in(pickled: bytes) -> IndexPlan:
    return IndexPlan(*pickle.loads(pickled))  # noqa: S301  pickled by ``IndexPlan.__reduce__``


def plan_index(
    dump: Dump,
    folder: Path,
    extra: frozenset[str] = frozenset(),
    hash_secret: bytes = b"",
    *,
    whole_files: bool = False,
) -> IndexPlan:
    """Cut a dump into tasks of similar size. Small neighbours (many small files) share a task.

    Split ids ascend in the order of files and records, and contain the number of their task, so that no table
    is needed to find it. Cuts depend on the dump alone, never on the machine, as they show in Avro files
    written anew. ``whole_files``: one split per file, whatever its size.
    """
    dump_bytes = sum(file.data_bytes for file in dump.files)
    wanted = dump_bytes // TASKS_OF_A_MIDDLING_DUMP + 1
    split_bytes = min(max(wanted, SMALLEST_SPLIT_BYTES), LARGEST_SPLIT_BYTES)
    tasks: list[list[Split]] = [[]]
    task_bytes = 0
    for split in dump.splits(sys.maxsize if whole_files else split_bytes):
        size = split.end - split.start
        full = task_bytes + size > split_bytes or len(tasks[-1]) == MOST_SPLITS_PER_TASK
        if tasks[-1] and full:
            tasks.append([])
            task_bytes = 0
        number = (len(tasks) - 1 << TASK_SHIFT) + len(tasks[-1])
        tasks[-1].append(split._replace(split_id=number))
        task_bytes += size
    files = tuple(map(_from_anywhere, dump.files))
    folder_watched(folder)
    return IndexPlan(files, tuple(map(tuple, tasks)), str(folder), extra, hash_secret)


def _from_anywhere(file: DumpFile) -> DumpFile:
    """The file with an absolute path, as workers run in other folders, and without the driver's ranges."""
    if file.origin is not None:
        return replace(file, origin=replace(file.origin, ranges=()))
    if file.data_path.startswith("/"):
        return file
    return replace(file, data_path=str(Path(file.data_path).absolute()))


class TaskReader:
    """The splits of one task, to be read once. Afterwards ``summaries`` (by split id) tell what they hold."""

    def __init__(self, plan: IndexPlan, task: int) -> None:
        self._plan = plan
        self._splits = plan.tasks[task]
        task_bytes = sum(split.end - split.start for split in self._splits)
        self._meter = Meter(Path(plan.folder), READ, f"{task:06}", task_bytes)
        self.summaries = {
            split.split_id: SplitSummary(split.split_id, SplitNotes()) for split in self._splits
        }

    def rows(self, needs_extra: NeedsExtra | None = None) -> Iterator[pa.RecordBatch]:
        """The index rows of all splits, in their order; ``needs_extra`` as in ``SplitToIndex``."""
        plan = self._plan
        parts = (
            SplitToIndex(
                plan.file_of(split),
                split,
                self.summaries[split.split_id].notes,
                plan.hash_secret,
                None if plan.file_of(split).dialect.canonical_keys else needs_extra,
                plan.values_as_json,
            )
            for split in self._splits
        )
        for group in read_together(parts):
            with at_hand(group) as splits:
                for rows in LAYOUTS[splits[0].file.layout].index_together(splits, plan.extra):
                    compared = self._compared(rows, splits[0].file)
                    _add_up(compared, self.summaries, has_offsets=splits[0].file.dialect.offset is not None)
                    yield compared
                    self._meter.add(pc.sum(rows.column("record_bytes")).as_py() or 0)
                    if len(compared) < len(rows):
                        break
        self._meter.finish()

    def _compared(self, rows: pa.RecordBatch, file: DumpFile) -> pa.RecordBatch:
        """The rows with their keys in the form to compare, up to the first key that has no such form."""
        if not file.dialect.canonical_keys:
            return rows
        notes = {split_id: summary.notes for split_id, summary in self.summaries.items()}
        return with_canonical_keys(rows, notes)


def _add_up(rows: pa.RecordBatch, summaries: Mapping[int, SplitSummary], *, has_offsets: bool) -> None:
    """Count index rows, which may be of several splits, in the summaries of their splits.

    For rows without offsets, whose order counts, steps back and forth in time are counted, too.
    """
    if not rows.num_rows:
        return
    is_looked_at = may_hold_replacements(rows)
    split_ids = rows.column("split_id").to_numpy()
    cuts = np.flatnonzero(np.diff(split_ids)) + 1
    for start, end in itertools.pairwise([0, *cuts.tolist(), len(split_ids)]):
        summary = summaries[int(split_ids[start])]
        of_split = rows.slice(start, end - start)
        summary.add(of_split)
        if is_looked_at:
            count_replacements(of_split, summary.notes)
        if not has_offsets:
            count_time_steps(of_split, summary.notes)
        if "headers_hash" in rows.schema.names and _holds_any(of_split.column("headers_hash")):
            summary.notes.see(FILLED_HEADERS)


def _holds_any(hashes: pa.Array) -> bool:
    """Whether one of the hashes is not empty, as the hash of no headers is."""
    return bool(pc.any(pc.not_equal(pc.binary_length(hashes), 0)).as_py())


def read_together(parts: Iterable[SplitToIndex]) -> Iterator[list[SplitToIndex]]:
    """All parts in their order, in groups of neighbours that are alike and fit into one window.

    This way small files, such as the ten thousand files of a sink, are read many at a time.
    """
    group: list[SplitToIndex] = []
    group_bytes = 0
    for part in parts:
        part_bytes = part.split.end - part.split.start + 1  # and a line end, should the last one lack it
        fits = group_bytes + part_bytes <= windows.WINDOW_BYTES
        if group and not (fits and _are_alike(group[0].file, part.file)):
            yield group
            group, group_bytes = [], 0
        group.append(part)
        group_bytes += part_bytes
    if group:
        yield group


def _are_alike(file: DumpFile, other: DumpFile) -> bool:
    """Whether equal bytes in both files would be read as equal records."""
    return file.file_id == other.file_id or _ways_to_read(file) == _ways_to_read(other)


def _ways_to_read(file: DumpFile) -> tuple[object, ...]:
    filters = file.topics, file.partitions, file.left_out
    return file.layout, file.dialect, file.shape, file.topic, file.partition, file.start_offset, filters
