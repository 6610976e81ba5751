"""One round over the known batches of a log: which go, which shrink, which are stamped (R17 to R39)."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute

from kcompact.broker.batches import Batch
from kcompact.rules.decisions import rows_of
from kcompact.rules.sizes import BATCH_HEADER_BYTES, Longs, bytes_in_batch, varint_bytes
from kcompact.rules.transactions import ProducerEnd, TransactionsSeen
from kcompact.rules.verdicts import Decision, Flags, Rows, Verdict


@dataclass(frozen=True)
class LogRows:
    """A whole log's data records in the order of offsets, without repeated ones."""

    rows: Rows
    timestamp_ms: Longs
    log_bytes: Longs
    previous_offset: Longs

    def span_of(self, batch: Batch) -> slice:
        """The positions of a batch's records."""
        first, end = np.searchsorted(self.rows.offset, [batch.base_offset, batch.last_offset + 1])
        return slice(int(first), int(end))


ROW_COLUMNS = (
    "log_id",
    "offset",
    "has_key",
    "timestamp_ms",
    "log_bytes",
    "is_tombstone",
    "is_control",
    "is_aborted",
    "is_repeated",
    "previous_offset",
    "superseded_at_offset",
    "deletes_clean_value",
    "delete_horizon_ms",
)
"""The columns of TRACKED's tables that ``log_rows`` needs."""


def log_rows(table: pa.Table) -> LogRows:
    """Rows of one log, ascending by offset. Repeated ones are left out."""
    batches = table.filter(pa.compute.invert(table["is_repeated"])).combine_chunks().to_batches()
    batch = batches[0] if batches else pa.RecordBatch.from_pylist([], table.schema)
    return LogRows(
        rows_of(batch),
        batch.column("timestamp_ms").to_numpy(),
        batch.column("log_bytes").to_numpy().astype(np.int64),
        batch.column("previous_offset").to_numpy(),
    )


@dataclass
class Counts:
    """Messages and bytes that a round's rewriting read and wrote; markers count as messages."""

    messages_read: int = 0
    messages_written: int = 0
    removed: Counter[Verdict] = field(default_factory=Counter)
    tombstones_kept: int = 0
    tombstones_stamped: int = 0
    markers_gone: list[int] = field(default_factory=list)  # offsets
    batches_recompressed: int = 0  # their new bytes are an estimate


@dataclass
class Rewriting:
    """The filter of one round. It meets the batches in their order."""

    number: int  # of the round, from 1
    next_offset: int
    now_ms: int
    delete_horizon_ms: int | None
    log: LogRows
    decision: Decision  # of all rounds up to this one
    aborted: frozenset[int]  # base offsets of batches
    producers: Mapping[int, ProducerEnd]
    counts: Counts = field(default_factory=Counts)
    _transactions: TransactionsSeen = field(default_factory=TransactionsSeen)

    def rewrite(self, batch: Batch) -> Batch | None:
        """The batch as the round writes it; None if it goes."""
        end = self.producers.get(batch.producer_id)
        is_last_of_producer = end is not None and end.is_in(batch)
        if batch.is_control:
            return self._marker(batch, is_last_of_producer=is_last_of_producer)
        is_aborted = batch.base_offset in self.aborted
        self._transactions.meet_data(batch, is_aborted=is_aborted)
        at = self.log.span_of(batch)
        gone_in = self.decision.round[at]
        is_present = (gone_in == 0) | (gone_in >= self.number)
        is_kept = (gone_in == 0) | (gone_in > self.number)
        self._count_removed(at, gone_in)
        if is_aborted and not is_last_of_producer:
            return None  # unread
        unseen = max(0, batch.record_count - int(is_present.sum()))
        left_unseen = 0 if is_aborted or batch.last_offset < self.next_offset else unseen
        self.counts.messages_read += int(is_present.sum()) + unseen
        self.counts.messages_written += int(is_kept.sum()) + left_unseen
        if not is_kept.any() and not left_unseen:
            return _empty(batch) if is_last_of_producer else None
        return self._shrunk(batch, at, is_present, is_kept, left_unseen)

    def _count_removed(self, at: slice, gone_in: np.ndarray) -> None:
        reasons, counts = np.unique(self.decision.verdict[at][gone_in == self.number], return_counts=True)
        for reason, count in zip(reasons, counts, strict=True):
            self.counts.removed[Verdict(int(reason))] += int(count)

    def _shrunk(self, batch: Batch, at: slice, is_present: Flags, is_kept: Flags, unseen: int) -> Batch:
        """The batch as it was, or encoded again with the kept records (``MemoryRecords.filterTo``, R39)."""
        rows = self.log.rows
        stamps = is_kept & self.decision.stamped[at] & (self.decision.rewritten_round[at] == self.number)
        tombstones = is_kept & rows.is_tombstone[at] & rows.has_key[at]
        self.counts.tombstones_kept += int(tombstones.sum())
        self.counts.tombstones_stamped += int((tombstones & stamps).sum())
        is_whole = int(is_kept.sum()) + unseen == batch.record_count
        if (is_whole and not stamps.any()) or not is_kept.any():
            return batch
        horizon_ms = self.delete_horizon_ms if stamps.any() else batch.delete_horizon_ms
        timestamps_ms = self.log.timestamp_ms[at][is_kept]
        base_ms = int(timestamps_ms[0]) if horizon_ms is None else horizon_ms
        size = BATCH_HEADER_BYTES + self._record_bytes(batch, at, is_kept, base_ms)
        if batch.codec != "none":
            first_ms = int(self.log.timestamp_ms[at][is_present][0])
            plain = BATCH_HEADER_BYTES + self._record_bytes(batch, at, is_present, first_ms)
            size = round(batch.size_bytes * size / plain)  # as well as it compressed before
            self.counts.batches_recompressed += 1
        newest_ms = int(timestamps_ms.max()) if batch.timestamp_type == "create" else batch.max_timestamp_ms
        return replace(
            batch,
            record_count=int(is_kept.sum()) + unseen,
            size_bytes=size,
            max_timestamp_ms=newest_ms,
            delete_horizon_ms=horizon_ms,
        )

    def _record_bytes(self, batch: Batch, at: slice, is_in_batch: Flags, base_timestamp_ms: int) -> int:
        deltas_ms = self.log.timestamp_ms[at][is_in_batch] - base_timestamp_ms
        offset_deltas = self.log.rows.offset[at][is_in_batch] - batch.base_offset
        return int(bytes_in_batch(self.log.log_bytes[at][is_in_batch], deltas_ms, offset_deltas).sum())

    def _marker(self, batch: Batch, *, is_last_of_producer: bool) -> Batch | None:
        """The control batch after the round, perhaps stamped or empty; None if it goes (R33 to R36)."""
        may_go = self._transactions.marker_may_go(batch)
        is_due = batch.delete_horizon_ms is not None and batch.delete_horizon_ms <= self.now_ms
        if may_go and is_due:
            self.counts.markers_gone.append(batch.base_offset)
            if not is_last_of_producer:
                self.counts.removed[Verdict.EXPIRED_MARKER] += batch.record_count
                return None
        self.counts.messages_read += batch.record_count
        if batch.record_count == 0 or (may_go and is_due):
            self.counts.removed[Verdict.EXPIRED_MARKER] += batch.record_count
            return _empty(batch) if is_last_of_producer else None
        self.counts.messages_written += batch.record_count
        if not may_go or batch.delete_horizon_ms is not None or self.delete_horizon_ms is None:
            return batch
        delta_ms = np.array([batch.max_timestamp_ms - self.delete_horizon_ms])
        more = int(varint_bytes(delta_ms)[0]) - 1
        return replace(batch, delete_horizon_ms=self.delete_horizon_ms, size_bytes=batch.size_bytes + more)


def _empty(batch: Batch) -> Batch:
    """The batch's header alone, kept for its producer; it has no horizon (R26, R36)."""
    return replace(batch, record_count=0, size_bytes=BATCH_HEADER_BYTES, marker=None, delete_horizon_ms=None)
