"""Counts, offsets and notes of the records that a task indexed, for the driver.

They are sent straight to the driver, while rows are sent to other tasks.
"""

import pickle
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields, replace
from operator import attrgetter

import numpy as np
import pyarrow as pa

from kcompact.broker.log_names import LogName
from kcompact.dumps.records.layout import SplitNotes
from kcompact.engine.passes.log_figures import LogFigures, loaded_figures
from kcompact.engine.passes.offset_runs import NO_RUNS, union_of
from kcompact.engine.passes.rows_by_log import FiguresByBatch
from kcompact.engine.shuffle import Block

NULL_KEY_EXAMPLES = 5  # offsets of keyless records that a summary carries


@dataclass
class LogSummary:
    """One log in one split. Timestamps in ms (-1: none seen); ``runs`` is an (n, 2) int64 array.

    Runs are of consecutive offsets, ascending and apart (offset_runs.py).
    """

    split_id: int
    log_id: int
    topic: str
    partition: int
    records: int = 0
    record_bytes: int = 0
    first_offset: int = 0
    last_offset: int = -1
    ascending: bool = True  # strictly: no offset twice, none out of order
    tombstones: int = 0
    null_keys: int = 0
    null_key_offsets: list[int] = field(default_factory=list)
    min_timestamp_ms: int = -1
    max_timestamp_ms: int = -1
    log_bytes: int = 0  # as if each record were alone in a batch; 0 where the index does not hold them
    runs: np.ndarray = field(default_factory=NO_RUNS.copy)

    @property
    def log(self) -> LogName:
        """Topic and partition."""
        return LogName(self.topic, self.partition)

    def add(self, later: "LogSummary") -> None:
        """Add the figures of a later split of the same log; ``runs`` stay as they are."""
        self.ascending &= later.ascending and self.last_offset < later.first_offset
        self.records += later.records
        self.record_bytes += later.record_bytes
        self.log_bytes += later.log_bytes
        self.first_offset = min(self.first_offset, later.first_offset)
        self.last_offset = max(self.last_offset, later.last_offset)
        self.tombstones += later.tombstones
        self.null_keys += later.null_keys
        self.null_key_offsets = [*self.null_key_offsets, *later.null_key_offsets][:NULL_KEY_EXAMPLES]
        if later.min_timestamp_ms >= 0:
            known_ms = self.min_timestamp_ms if self.min_timestamp_ms >= 0 else later.min_timestamp_ms
            self.min_timestamp_ms = min(known_ms, later.min_timestamp_ms)
            self.max_timestamp_ms = max(self.max_timestamp_ms, later.max_timestamp_ms)


def are_whole_seconds(logs: Iterable[LogSummary]) -> bool:
    """Whether there are logs with timestamps, and all of these begin and end at whole seconds.

    If timestamps are in milliseconds, this is so by chance for one log in a million.
    """
    dated = [of_log for of_log in logs if of_log.max_timestamp_ms >= 0]
    return bool(dated) and not any(
        of_log.min_timestamp_ms % 1000 or of_log.max_timestamp_ms % 1000 for of_log in dated
    )


_figures_of = attrgetter(*(of_log.name for of_log in fields(LogSummary) if of_log.name != "runs"))


class SplitSummary:
    """Adds up the index rows of one split, batch by batch, with a compiled loop where it is loaded."""

    def __init__(self, split_id: int, notes: SplitNotes) -> None:
        self.split_id = split_id
        self.notes = notes
        self._figures: LogFigures | FiguresByBatch | None = None
        self._logs: list[LogSummary] | None = None
        self._keyless: dict[int, list[int]] = {}  # log id -> count, then the offsets of the first ones

    def add(self, batch: pa.RecordBatch) -> None:
        """Count one batch of index rows (INDEX_SCHEMA, any extra columns)."""
        self._logs = None
        if self._figures is None:
            loop = loaded_figures()
            self._figures = FiguresByBatch() if loop is None else LogFigures(loop)
        if batch.num_rows:
            self._figures.add(batch)
            self._add_keyless(batch)

    def _add_keyless(self, batch: pa.RecordBatch) -> None:
        if not batch.column("key").null_count:
            return
        rows = batch.select(["log_id", "offset"]).filter(batch.column("key").is_null())
        log_ids, offsets = (column.to_numpy() for column in rows.columns)
        for log_id in np.unique(log_ids).tolist():
            of_log = offsets[log_ids == log_id]
            count, *examples = self._keyless.get(log_id, [0])
            examples += of_log[:NULL_KEY_EXAMPLES].tolist()
            self._keyless[log_id] = [count + len(of_log), *examples[:NULL_KEY_EXAMPLES]]

    def logs(self) -> list[LogSummary]:
        """A summary, with runs, of each log in the rows so far. It is computed once until more rows come."""
        if self._logs is None:
            self._logs = [self._summary(*log) for log in (self._figures.logs() if self._figures else ())]
        return self._logs

    def _summary(self, log_id: int, figures: dict[str, int], runs: np.ndarray) -> LogSummary:
        log = LogSummary(self.split_id, log_id, *self.notes.logs[log_id], runs=runs)
        log.null_keys, *log.null_key_offsets = self._keyless.get(log_id, [0])
        for name, value in figures.items():
            setattr(log, name, value)
        return log


def packed(splits: Iterable[SplitSummary], *, with_runs: bool = True) -> bytes:
    """The summaries of a task's splits as bytes, for ``unpacked``. There can be as many runs as records."""
    splits = list(splits)
    logs = [log for split in splits for log in split.logs()]
    runs = [log.runs if with_runs else NO_RUNS for log in logs]
    figures = [(*_figures_of(log), len(of_log)) for log, of_log in zip(logs, runs, strict=True)]
    notes = {split.split_id: split.notes for split in splits}
    return pickle.dumps((figures, np.concatenate([NO_RUNS, *runs]), notes))


SUMMARIES = "summaries"
"""The kind of blocks of packed summaries on their way to the driver."""

RUNS = "runs"
"""The kind of blocks of packed summaries on their way to a task's second pass."""


def to_second_pass(task: int, receivers: int, summaries: bytes) -> tuple[int, Block]:
    """A task's packed summaries for its second pass, by way of a task of the next stage (``passed_on``)."""
    return task % receivers, Block(RUNS, pickle.dumps((task, summaries)))


def passed_on(blocks: Iterable[Block]) -> Iterator[tuple[int, Block]]:
    """Send the summaries among ``blocks`` (``to_second_pass``) on to the second pass of their task."""
    for block in blocks:
        if block.kind == RUNS:
            task, content = pickle.loads(block.content)  # noqa: S301  pickled by ``to_second_pass``
            yield task, Block(RUNS, content)


def unpacked(contents: Iterable[bytes]) -> tuple[list[LogSummary], dict[int, SplitNotes]]:
    """The summaries of some tasks' splits, in the order of splits, and the notes of each split, by its id."""
    logs: list[LogSummary] = []
    notes: dict[int, SplitNotes] = {}
    for content in contents:
        figures, runs, of_splits = pickle.loads(content)  # noqa: S301  pickled by ``packed``
        start = 0
        for *of_log, count in figures:
            logs.append(LogSummary(*[*of_log, runs[start : start + count]]))
            start += count
        notes |= of_splits
    return sorted(logs, key=lambda log: log.split_id), dict(sorted(notes.items()))


def log_names(summaries: Iterable[LogSummary]) -> set[LogName]:
    """The names of all logs that have a record."""
    return {part.log for part in summaries}


def merged(parts: Iterable[LogSummary]) -> dict[int, LogSummary]:
    """The summary of each log over all its splits, which come in their order, by log id; without runs."""
    logs: dict[int, LogSummary] = {}
    for part in parts:
        if part.log_id in logs:
            logs[part.log_id].add(part)
        else:
            logs[part.log_id] = replace(part, runs=NO_RUNS)
    return logs


def runs_by_log(parts: Iterable[LogSummary]) -> dict[int, np.ndarray]:
    """The runs of each log over all its splits, by log id."""
    runs: dict[int, list[np.ndarray]] = {}
    for part in parts:
        runs.setdefault(part.log_id, []).append(part.runs)
    return {log_id: union_of(np.concatenate(of_log)) for log_id, of_log in runs.items()}
