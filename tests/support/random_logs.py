"""Random logs of the broker model, with configs: some that a broker might hold, some odder ones."""

import random
from dataclasses import dataclass, replace

from broker_log import LONG_MAX, Config, ModelBatch, ModelLog, ModelSegment
from broker_sizes import batch_bytes
from kcompact.dumps.records.record import Record

NOW_MS = 1_000_000
MARKER_BYTES = 78


@dataclass(frozen=True)
class RandomLog:
    """A log, the configs of its rounds, and how many there may be."""

    log: ModelLog
    config: Config
    rounds: int | None
    respect_ratio: bool


def random_log(seed: int, *, transactions: bool) -> RandomLog:
    """The log for a seed. Without ``transactions``, each batch is a plain record, and no horizon is known."""
    rng = random.Random(seed)
    batches = _batches(rng, transactions=transactions)
    log = _segments(rng, batches)
    log.last_stable = last_stable_offset_of(log) if transactions else log.log_end
    if rng.random() < 0.2:
        log.last_stable = min(log.last_stable, rng.randint(0, log.log_end))
    if rng.random() < 0.4:
        log.checkpoint = rng.randint(0, log.log_end)
    retains = rng.random() < 0.4
    config = Config(
        cleanup_policy=frozenset({"compact", "delete"} if retains else {"compact"}),
        min_cleanable_dirty_ratio=rng.choice([0.0, 0.3, 0.6]),
        min_compaction_lag_ms=rng.choice([0, 0, 0, 300]),
        max_compaction_lag_ms=rng.choice([LONG_MAX, LONG_MAX, 700]),
        delete_retention_ms=rng.choice([0, 0, 1000, LONG_MAX]),
        segment_bytes=rng.choice([200, 500, 1 << 30]),
        index_interval_bytes=random.Random(f"interval {seed}").choice([0, 100, 4096]),
        retention_ms=rng.choice([-1, 400, 900]) if retains else -1,
        retention_bytes=rng.choice([-1, -1, 500]) if retains else -1,
        offset_map_limit=rng.choice([None, None, 1, 2, 3, 5]),
    )
    return RandomLog(log, config, rng.choice([1, 2, None]), respect_ratio=rng.random() < 0.3)


def aborting_log(seed: int) -> RandomLog:
    """Two producers that commit and abort, and maps that get full in the middle of segments."""
    rng = random.Random(f"aborting {seed}")
    batches: list[ModelBatch] = []
    offset, undecided = 0, set()
    for _ in range(rng.randint(30, 80)):
        producer = rng.choice([1, 1, 2, -1])
        if producer in undecided and rng.random() < 0.7:
            marker = _marker(rng, offset, producer)
            batches.append(marker if rng.random() < 0.2 else replace(marker, delete_horizon_ms=None))
            undecided.discard(producer)
        else:
            size = rng.randint(1, 3)
            batches.append(_data(rng, offset, size, producer, is_transactional=producer > 0))
            undecided |= {producer} if producer > 0 else set()
        offset = batches[-1].last_offset + 1
    cut = rng.choice([0, rng.randrange(len(batches))])
    stretches = [stretch for stretch in (batches[:cut], batches[cut:]) if stretch]
    segments = [ModelSegment(stretch[0].base_offset, stretch, NOW_MS) for stretch in stretches]
    log = ModelLog([*segments, ModelSegment(offset, mtime_ms=NOW_MS)], 0, offset, offset)
    log.last_stable = last_stable_offset_of(log)
    config = Config(
        min_cleanable_dirty_ratio=0.0,
        delete_retention_ms=rng.choice([0, 1000, LONG_MAX]),
        index_interval_bytes=rng.choice([0, 100, 300]),
        offset_map_limit=rng.choice([2, 3, 4, 5]),
    )
    if rng.random() < 0.3:
        log.checkpoint = rng.randint(0, log.last_stable)
    return RandomLog(log, config, rng.choice([2, None]), respect_ratio=False)


def _batches(rng: random.Random, *, transactions: bool) -> list[ModelBatch]:
    batches: list[ModelBatch] = []
    offset, undecided = rng.choice([0, 0, 7]), set()
    for _ in range(rng.randint(1, 25)):
        offset += rng.choice([0, 0, 0, 1, 4])
        producer = rng.randint(1, 3) if transactions and rng.random() < 0.6 else -1
        if producer in undecided and rng.random() < 0.5:
            batches.append(_marker(rng, offset, producer))
            undecided.discard(producer)
        else:
            is_transactional = producer > 0 and (producer in undecided or rng.random() < 0.7)
            size = rng.randint(1, 4) if transactions else 1
            batches.append(_data(rng, offset, size, producer, is_transactional=is_transactional))
            undecided |= {producer} if is_transactional else set()
        offset = batches[-1].last_offset + 1
    return batches


def _marker(rng: random.Random, offset: int, producer: int) -> ModelBatch:
    return ModelBatch(
        offset,
        offset,
        size_bytes=MARKER_BYTES,
        max_timestamp_ms=NOW_MS - rng.randint(0, 1000),
        producer_id=producer,
        producer_epoch=0,
        is_transactional=True,
        is_control=True,
        marker=rng.choice(["COMMIT", "ABORT"]),
        delete_horizon_ms=rng.choice([None, None, NOW_MS - 1, NOW_MS, NOW_MS + 1]),
    )


def _data(rng: random.Random, offset: int, size: int, producer: int, *, is_transactional: bool) -> ModelBatch:
    records = []
    for _ in range(size):
        offset += rng.choice([0, 0, 0, 1]) if records else 0
        key = rng.choice([b"a", b"b", b"c", b"d", b"long-key", None])
        value = rng.choice([None, b"", b"1", b"x" * 90])
        records.append(Record("t", 0, offset, NOW_MS - rng.randint(0, 1000), key, value))
        offset += 1
    first = records[0]
    horizon = rng.choice([None, None, NOW_MS - 1, NOW_MS, NOW_MS + 1]) if producer != -1 or size > 1 else None
    horizon = horizon if any(record.value is None for record in records) else None
    base_ms = first.timestamp_ms if horizon is None else horizon
    return ModelBatch(
        first.offset,
        records[-1].offset + (rng.choice([0, 0, 2]) if size > 1 else 0),
        records,
        batch_bytes(records, first.offset, base_ms),
        max(record.timestamp_ms for record in records),
        producer_id=producer,
        producer_epoch=0 if producer > 0 else -1,
        is_transactional=is_transactional,
        delete_horizon_ms=horizon,
    )


def _segments(rng: random.Random, batches: list[ModelBatch]) -> ModelLog:
    segments = [ModelSegment(rng.choice([0, batches[0].base_offset]))]
    for batch in batches:
        if segments[-1].batches and rng.random() < 0.25:
            segments.append(
                ModelSegment(rng.randint(segments[-1].batches[-1].last_offset + 1, batch.base_offset))
            )
        segments[-1].batches.append(batch)
    end = batches[-1].last_offset + 1
    if rng.random() < 0.5:
        segments.append(ModelSegment(end))
    for segment in segments:
        segment.mtime_ms = rng.choice([NOW_MS - 2000, NOW_MS])
    return ModelLog(segments, segments[0].base_offset, end, end)


def last_stable_offset_of(log: ModelLog) -> int:
    """The first offset of the earliest undecided transaction."""
    first: dict[int, int] = {}
    for batch in log.batches():
        if batch.is_control:
            first.pop(batch.producer_id, None)
        elif batch.is_transactional:
            first.setdefault(batch.producer_id, batch.base_offset)
    return min(first.values(), default=log.log_end)
