"""Logs of the broker model as the engine gets them: ``LogContext`` with segments and batches."""

from broker_log import ModelBatch, ModelLog
from kcompact.broker.log_context import LogContext
from kcompact.broker.segment_lists import Segment
from packed_batches import ListedBatch, packed


def _batch(batch: ModelBatch) -> ListedBatch:
    return ListedBatch(
        batch.base_offset,
        batch.last_offset,
        len(batch.records) + (1 if batch.marker else 0),
        batch.size_bytes,
        max_timestamp_ms=batch.max_timestamp_ms,
        producer_id=batch.producer_id,
        producer_epoch=batch.producer_epoch,
        is_transactional=batch.is_transactional,
        is_control=batch.is_control,
        marker=batch.marker,
        delete_horizon_ms=batch.delete_horizon_ms,
    )


def contexts_of(log: ModelLog, *, with_batches: bool, is_forced: bool = False) -> LogContext:
    segments = tuple(Segment(s.base_offset, s.size_bytes, s.mtime_ms) for s in log.segments)
    batches = packed(map(_batch, log.batches())) if with_batches else None
    # A broker starts no round where nothing is dirty. To force one, the checkpoint is left out: all is dirty.
    checkpoint = None if is_forced else log.checkpoint
    return LogContext(segments, batches, (), log.log_start, log.log_end, log.last_stable, checkpoint)
