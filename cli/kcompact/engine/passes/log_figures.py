"""Figures of the logs of a split, in arrays that a compiled loop fills (log_figures_loop.py)."""

from collections.abc import Iterator
from types import ModuleType

import numpy as np
import pyarrow as pa

from kcompact.dumps.loops.readiness import loaded_loop
from kcompact.dumps.records.record import are_tombstones
from kcompact.engine.passes.offset_runs import OffsetRuns

_LOGS_AT_FIRST = 16
_MOST_RUNS = 1 << 16  # that wait to be sorted by log


def loaded_figures() -> ModuleType | None:
    """The compiled loop, or None if this process has not loaded it."""
    return loaded_loop("log_figures_loop")


class LogFigures:
    """Counts index rows by log, batch by batch. Memory grows with the logs and the runs of their offsets."""

    def __init__(self, loop: ModuleType) -> None:
        self._loop = loop
        self._logs = np.zeros(_LOGS_AT_FIRST, np.int64)
        self._figures = np.zeros((_LOGS_AT_FIRST, loop.FIGURES), np.int64)
        self._slots = np.zeros(loop.SLOTS_PER_LOG * _LOGS_AT_FIRST, np.int32)
        self._ended = np.zeros((0, 3), np.int64)  # complete runs: number of the log, start and end
        self._state = np.zeros(2, np.int64)
        self._runs: dict[int, OffsetRuns] = {}  # by the number of the log

    def add(self, batch: pa.RecordBatch) -> None:
        """Count index rows (INDEX_SCHEMA, any extra columns)."""
        self._make_room_for_runs(batch.num_rows)
        names = ("log_id", "offset", "timestamp_ms", "record_bytes")
        columns = [batch.column(name).to_numpy() for name in names]
        columns += [_log_bytes_in(batch), are_tombstones(batch)]
        done = 0
        while (done := self._count(columns, done)) < batch.num_rows:
            self._make_room_for_logs()

    def _count(self, columns: list[np.ndarray], first: int) -> int:
        places = (self._logs, self._figures, self._slots, self._ended, self._state)
        done: int = self._loop.count_rows(*columns, first, *places)
        return done

    def _make_room_for_logs(self) -> None:
        self._logs = np.concatenate([self._logs, np.zeros_like(self._logs)])
        self._figures = np.concatenate([self._figures, np.zeros_like(self._figures)])
        self._slots = np.zeros(2 * len(self._slots), np.int32)
        mask = len(self._slots) - 1
        for number, log_id in enumerate(self._logs[: self._state[self._loop.LOGS]].tolist(), 1):
            slot = log_id & mask
            while self._slots[slot]:
                slot = (slot + 1) & mask
            self._slots[slot] = number

    def _make_room_for_runs(self, rows: int) -> None:
        """Make room for as many runs as the next rows may complete: at most one for each row."""
        if len(self._ended) - self._state[self._loop.RUNS] >= rows:
            return
        self._sort_runs()
        self._ended = np.empty((max(rows, min(2 * len(self._ended), _MOST_RUNS)), 3), np.int64)

    def _sort_runs(self) -> None:
        ended = self._ended[: self._state[self._loop.RUNS]]
        if not len(ended):
            return
        self._state[self._loop.RUNS] = 0
        ended = ended[np.argsort(ended[:, 0], kind="stable")]
        cuts = np.flatnonzero(np.diff(ended[:, 0])) + 1
        for part in np.split(ended, cuts):
            self._runs.setdefault(int(part[0, 0]), OffsetRuns()).add(part[:, 1:])

    def logs(self) -> Iterator[tuple[int, dict[str, int], np.ndarray]]:
        """For each log its id, its figures by their names in LogSummary, and its runs (offset_runs.py)."""
        self._sort_runs()
        loop, count = self._loop, self._state[self._loop.LOGS]
        rows = self._figures[:count].tolist()
        for number, (log_id, row) in enumerate(zip(self._logs[:count].tolist(), rows, strict=True)):
            runs = self._runs.get(number, OffsetRuns())
            runs.add(np.array([[row[loop.RUN_START], row[loop.RUN_END]]]))
            figures = {
                "records": row[loop.RECORDS],
                "record_bytes": row[loop.RECORD_BYTES],
                "first_offset": row[loop.FIRST_OFFSET],
                "last_offset": row[loop.LAST_OFFSET],
                "ascending": bool(row[loop.ASCENDING]),
                "tombstones": row[loop.TOMBSTONES],
                "min_timestamp_ms": row[loop.MIN_TIMESTAMP],
                "max_timestamp_ms": row[loop.MAX_TIMESTAMP],
                "log_bytes": row[loop.LOG_BYTES],
            }
            yield log_id, figures, runs.runs


def _log_bytes_in(batch: pa.RecordBatch) -> np.ndarray:
    """The log_bytes of each row, 0 for a row without them; empty if the index lacks the column."""
    if "log_bytes" not in batch.schema.names:
        return np.zeros(0, np.int32)
    log_bytes: np.ndarray = batch.column("log_bytes").fill_null(0).to_numpy()
    return log_bytes
