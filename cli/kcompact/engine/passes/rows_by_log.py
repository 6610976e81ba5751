"""Figures of each log without compiled code: rows are ordered by log, then summed column by column."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from kcompact.dumps.records.record import are_tombstones
from kcompact.engine.passes.offset_runs import OffsetRuns, runs_of

_FEW_LOGS = 1 << 16  # numbers of so many logs have 16 bits, which numpy sorts by radix


class FiguresByBatch:
    """The counterpart of ``LogFigures`` without compiled code, for small dumps."""

    def __init__(self) -> None:
        self._figures: dict[int, dict[str, Any]] = {}
        self._runs: dict[int, OffsetRuns] = {}

    def add(self, batch: pa.RecordBatch) -> None:
        """Count index rows (INDEX_SCHEMA, any extra columns)."""
        rows = RowsByLog(batch)
        figures = rows.figures()
        numbers = zip(*(column.tolist() for column in figures.values()), strict=True)
        for log_id, runs, of_log in zip(rows.log_ids, rows.runs(), numbers, strict=True):
            more = dict(zip(figures, of_log, strict=True))
            log = self._figures.setdefault(log_id, more)
            if log is not more:
                _extend(log, more)
            self._runs.setdefault(log_id, OffsetRuns()).add(runs)

    def logs(self) -> Iterator[tuple[int, dict[str, int], np.ndarray]]:
        """For each log its id, its figures by their names in LogSummary, and its runs (offset_runs.py)."""
        for log_id, figures in self._figures.items():
            yield log_id, figures, self._runs[log_id].runs


def _extend(log: dict[str, Any], more: dict[str, Any]) -> None:
    """Add the figures of rows (``more``) that follow those of ``log``."""
    log["ascending"] = log["ascending"] and more["ascending"] and more["first_offset"] > log["last_offset"]
    for name in ("records", "record_bytes", "tombstones", "log_bytes"):
        log[name] += more[name]
    log["first_offset"] = min(log["first_offset"], more["first_offset"])
    log["last_offset"] = max(log["last_offset"], more["last_offset"])
    if log["min_timestamp_ms"] < 0 or 0 <= more["min_timestamp_ms"] < log["min_timestamp_ms"]:
        log["min_timestamp_ms"] = more["min_timestamp_ms"]
    log["max_timestamp_ms"] = max(log["max_timestamp_ms"], more["max_timestamp_ms"])


class RowsByLog:
    """The rows of a batch (INDEX_SCHEMA, at least one row) by log. The rows of a log stay in their order.

    ``log_ids`` are the logs that occur; figures have an element for each of them.
    """

    def __init__(self, batch: pa.RecordBatch) -> None:
        self._batch = batch
        encoded = batch.column("log_id").dictionary_encode()
        self.log_ids: list[int] = encoded.dictionary.to_pylist()
        codes = encoded.indices.to_numpy().astype(np.uint16 if len(self.log_ids) <= _FEW_LOGS else np.int32)
        self._order = np.argsort(codes, kind="stable") if len(self.log_ids) > 1 else None
        self._counts = np.bincount(codes)
        self._starts = np.cumsum(self._counts) - self._counts
        self._offsets = self._column("offset")

    def figures(self) -> dict[str, np.ndarray]:
        """The figures of each log, by the names of their fields in LogSummary."""
        starts, offsets = self._starts, self._offsets
        timestamps = np.maximum(self._column("timestamp_ms"), -1)
        descends = np.diff(offsets, append=offsets[-1]) <= 0
        descends[starts + self._counts - 1] = False
        # As an unsigned number, -1 (no timestamp) is the largest.
        earliest = np.minimum.reduceat(timestamps.view(np.uint64), starts)
        return {
            "records": self._counts,
            "record_bytes": np.add.reduceat(self._column("record_bytes"), starts, dtype=np.int64),
            "first_offset": np.minimum.reduceat(offsets, starts),
            "last_offset": np.maximum.reduceat(offsets, starts),
            "ascending": ~np.logical_or.reduceat(descends, starts),
            "tombstones": np.add.reduceat(self._tombstones, starts, dtype=np.int64),
            "min_timestamp_ms": earliest.view(np.int64),
            "max_timestamp_ms": np.maximum.reduceat(timestamps, starts),
            "log_bytes": self._log_bytes(),
        }

    def _log_bytes(self) -> np.ndarray:
        """The sum of log_bytes of each log. Rows without a value count as 0, as does an index without it."""
        if "log_bytes" not in self._batch.schema.names:
            return np.zeros(len(self._starts), np.int64)
        log_bytes = self._ordered(self._batch.column("log_bytes").fill_null(0).to_numpy())
        return np.add.reduceat(log_bytes, self._starts, dtype=np.int64)

    def runs(self) -> list[np.ndarray]:
        """Runs of offsets in the order of their rows (offset_runs.py)."""
        return runs_of(self._offsets, self._starts)

    def _column(self, name: str) -> np.ndarray:
        return self._ordered(self._batch.column(name).to_numpy())

    @property
    def _tombstones(self) -> np.ndarray:
        return self._ordered(are_tombstones(self._batch))

    def _ordered(self, values: np.ndarray) -> np.ndarray:
        return values if self._order is None else values[self._order]
