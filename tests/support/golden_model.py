"""Golden stages as logs of the broker model."""

from collections.abc import Mapping

from broker_log import Config, ModelBatch, ModelLog, ModelSegment
from broker_sizes import batch_bytes
from golden_cases import GoldenCase, Log
from kcompact.dumps.records.record import Record
from packed_batches import ListedBatch


def config_of(configs: Mapping[str, str], *, offset_map_limit: int | None = None) -> Config:
    """Topic configs as text, as the model takes them; ``internal.segment.bytes`` wins."""
    configs = dict(configs)
    if "internal.segment.bytes" in configs:
        configs["segment.bytes"] = configs["internal.segment.bytes"]
    numbers = {
        name.replace(".", "_"): int(text)
        for name, text in configs.items()
        if name.replace(".", "_") in Config.__dataclass_fields__ and text.lstrip("-").isdigit()
    }
    return Config(
        **{
            **numbers,
            "cleanup_policy": frozenset(configs["cleanup.policy"].split(",")),
            "min_cleanable_dirty_ratio": float(configs.get("min.cleanable.dirty.ratio", "0.5")),
            "offset_map_limit": offset_map_limit,
            "retention_ms": int(configs.get("retention.ms", "604800000")),
        }
    )


def model_log(case: GoldenCase, pair_index: int, log: Log) -> ModelLog:
    """One log before the rounds of a pair: with the batches of its table, or one batch per record."""
    stage = case.pairs[pair_index][0]
    told = case.stage_log(stage, log)
    records = sorted(r for r in case.records(stage) if (r.topic, r.partition) == log)
    table = case.batches(stage)
    batches = _from_table(table[log], records) if table is not None else [_alone(r) for r in records]
    segments = [ModelSegment(s.base_offset, mtime_ms=s.mtime_ms) for s in told.segments]
    for batch in batches:
        max(
            (s for s in segments if s.base_offset <= batch.base_offset), key=lambda s: s.base_offset
        ).batches.append(batch)
    start, end, stable = told.log_start_offset, told.log_end_offset, told.last_stable_offset
    return ModelLog(segments, start, end, stable, case.checkpoint_before(pair_index).get(log))


def _from_table(table: list[ListedBatch], records: list[Record]) -> list[ModelBatch]:
    batches = []
    for row in table:
        batch = ModelBatch(
            row.base_offset,
            row.last_offset,
            size_bytes=row.size_bytes,
            max_timestamp_ms=row.max_timestamp_ms,
            timestamp_type=row.timestamp_type,
            codec=row.codec,
            producer_id=row.producer_id,
            producer_epoch=row.producer_epoch,
            is_transactional=row.is_transactional,
            is_control=row.is_control,
            marker=row.marker,
            delete_horizon_ms=row.delete_horizon_ms,
        )
        if not row.is_control:
            batch.records = [r for r in records if row.base_offset <= r.offset <= row.last_offset]
            batch.unseen_records = row.record_count - len(batch.records)
        batches.append(batch)
    return batches


def _alone(record: Record) -> ModelBatch:
    size = batch_bytes([record], record.offset, record.timestamp_ms)
    return ModelBatch(record.offset, record.offset, [record], size, record.timestamp_ms)
