"""Index rows of a batch brought together by log, so that a figure of all logs is one pass over a column."""

import numpy as np
import pyarrow as pa

from kcompact.engine.passes.offset_runs import runs_of

_FEW_LOGS = 1 << 16  # sixteen bits are sorted by radix


class RowsByLog:
    """The rows of a batch (INDEX_SCHEMA, one row at least); ``log_ids`` are those that occur.

    Figures have an element for each of them. The rows of a log stay in their order.
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
        """Fields of LogSummary."""
        starts, offsets = self._starts, self._offsets
        timestamps = np.maximum(self._column("timestamp_ms"), -1)
        descends = np.diff(offsets, append=offsets[-1]) <= 0
        descends[starts + self._counts - 1] = False
        # Seen as unsigned, no timestamp is the largest one.
        earliest = np.minimum.reduceat(timestamps.view(np.uint64), starts)
        return {
            "records": self._counts,
            "record_bytes": np.add.reduceat(self._column("record_bytes"), starts, dtype=np.int64),
            "first_offset": np.minimum.reduceat(offsets, starts),
            "last_offset": np.maximum.reduceat(offsets, starts),
            "ascending": ~np.logical_or.reduceat(descends, starts),
            "tombstones": np.add.reduceat(self._column("is_tombstone"), starts, dtype=np.int64),
            "min_timestamp_ms": earliest.view(np.int64),
            "max_timestamp_ms": np.maximum.reduceat(timestamps, starts),
        }

    def runs(self) -> list[np.ndarray]:
        """Runs of offsets in the order of their rows (offset_runs.py)."""
        return runs_of(self._offsets, self._starts)

    def keyless(self) -> list[np.ndarray]:
        """Offsets of the records that have no key."""
        keys = self._batch.column("key")
        if not keys.null_count:
            return [self._offsets[:0]] * len(self.log_ids)
        is_keyless = self._ordered(keys.is_null())
        parts = zip(
            np.split(self._offsets, self._starts[1:]), np.split(is_keyless, self._starts[1:]), strict=True
        )
        return [offsets[flags] for offsets, flags in parts]

    def _column(self, name: str) -> np.ndarray:
        return self._ordered(self._batch.column(name))

    def _ordered(self, column: pa.Array) -> np.ndarray:
        found: np.ndarray = column.to_numpy(zero_copy_only=False)
        return found if self._order is None else found[self._order]
