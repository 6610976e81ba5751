"""Counts, offsets and notes of the records that a task indexed, for the driver.

They go straight to the driver, beside the rows that go through Spark.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np
import orjson
import pyarrow as pa

from kcompact.dumps.records.layout import Reject, SplitNotes
from kcompact.engine.passes.log_figures import LogFigures, loaded_figures
from kcompact.engine.passes.offset_runs import NO_RUNS
from kcompact.engine.passes.rows_by_log import FiguresByBatch

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
    runs: np.ndarray = field(default_factory=NO_RUNS.copy)


class SplitSummary:
    """Adds up the index rows of one split, batch by batch: by a compiled loop where it is loaded."""

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
        """One summary per log seen, with its runs; worked out once for all rows so far."""
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
    """The summaries of a task's splits as bytes (``unpacked``). Runs can be as many as the records."""
    splits = list(splits)
    logs = [log for split in splits for log in split.logs()]
    rows = [_row(log if with_runs else replace(log, runs=NO_RUNS)) for log in logs]
    notes = [_notes_row(split) for split in splits]
    table = pa.Table.from_pylist(rows, schema=_SUMMARY_SCHEMA)
    table = table.replace_schema_metadata({"notes": orjson.dumps(notes)})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def unpacked(contents: Iterable[bytes]) -> tuple[list[LogSummary], dict[int, SplitNotes]]:
    """The summaries of some tasks' splits, and the notes of each split, both by split."""
    logs: list[LogSummary] = []
    notes: dict[int, SplitNotes] = {}
    for content in contents:
        table = pa.ipc.open_file(content).read_all()
        logs += _summaries_in(table)
        notes |= _notes_in(table)
    for log in logs:
        notes[log.split_id].logs[log.log_id] = log.topic, log.partition
    return sorted(logs, key=lambda log: log.split_id), dict(sorted(notes.items()))


def log_names(summaries: Iterable[LogSummary]) -> set[tuple[str, int]]:
    """Topic and partition of every log with a record."""
    return {(log.topic, log.partition) for log in summaries}


def _notes_in(table: pa.Table) -> dict[int, SplitNotes]:
    rows = orjson.loads(table.schema.metadata[b"notes"])
    return {row.pop("split_id"): _notes(row) for row in rows}


def _summaries_in(table: pa.Table) -> list[LogSummary]:
    rows = table.drop_columns(_RUN_COLUMNS).to_pylist()
    starts, ends = (_arrays(table[name]) for name in _RUN_COLUMNS)
    runs = (np.stack(pair, axis=1) for pair in zip(starts, ends, strict=True))
    return [LogSummary(**row, runs=of_log) for row, of_log in zip(rows, runs, strict=True)]


def _arrays(lists: pa.ChunkedArray) -> Iterator[np.ndarray]:
    for values in lists:
        yield values.values.to_numpy()


_RUN_COLUMNS = ["run_starts", "run_ends"]
_SUMMARY_SCHEMA = pa.schema(
    [
        ("split_id", pa.int32()),
        ("log_id", pa.int64()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("records", pa.int64()),
        ("record_bytes", pa.int64()),
        ("first_offset", pa.int64()),
        ("last_offset", pa.int64()),
        ("ascending", pa.bool_()),
        ("tombstones", pa.int64()),
        ("null_keys", pa.int64()),
        ("null_key_offsets", pa.list_(pa.int64())),
        ("min_timestamp_ms", pa.int64()),
        ("max_timestamp_ms", pa.int64()),
        ("run_starts", pa.list_(pa.int64())),
        ("run_ends", pa.list_(pa.int64())),
    ]
)


def _row(log: LogSummary) -> dict[str, object]:
    row = {name: value for name, value in vars(log).items() if name != "runs"}
    return {**row, "run_starts": log.runs[:, 0], "run_ends": log.runs[:, 1]}


def _notes_row(split: SplitSummary) -> dict[str, object]:
    notes = {name: value for name, value in vars(split.notes).items() if name != "logs"}  # each has its row
    return {"split_id": split.split_id, **notes, "left_out": sorted(split.notes.left_out)}


def _notes(row: dict[str, object]) -> SplitNotes:
    rejects = [Reject(**reject) for reject in row.pop("rejects")]  # type: ignore[attr-defined]  # see _notes_row
    left_out = {(topic, partition) for topic, partition in row.pop("left_out")}  # type: ignore[attr-defined]
    return SplitNotes(rejects=rejects, left_out=left_out, **row)  # type: ignore[arg-type]  # see _notes_row
