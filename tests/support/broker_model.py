"""A broker's cleaner in plain Python: range, eligibility, turns, retention, rolling (R1-R10, R50-R55).

It follows the rules literally: it walks batches and records in order, keeps a dict as its offset map and
changes the log in place. It is the second oracle beside ``oracle.py``, and is itself tested against the
golden data.
"""

from collections.abc import Iterable, Iterator

from broker_log import Config, ModelBatch, ModelLog, ModelSegment, Range, Round
from broker_rounds import clean_round


def cleanable_range(log: ModelLog, config: Config, now_ms: int) -> Range:
    """From the first dirty offset up to the rounded bound (R1 to R3)."""
    start = log.log_start if log.checkpoint is None else log.checkpoint
    reset = not log.log_start <= start <= log.log_end
    first_dirty = log.log_start if reset else start
    active = log.segments[-1].base_offset
    first = min(log.last_stable, active)
    if config.min_compaction_lag_ms > 0:
        limit = now_ms - config.min_compaction_lag_ms
        young = (
            s.base_offset
            for s in log.segments[log.containing(first_dirty) : -1]
            if s.largest_timestamp_ms > limit
        )
        first = min(first, next(young, first))
    first = max(first, first_dirty)
    bound = active if first >= active else log.segments[log.containing(first)].base_offset
    return Range(first_dirty, first, bound, reset)


def byte_sums(log: ModelLog, found: Range) -> tuple[int, int]:
    """The sums of clean and cleanable bytes (R6)."""
    clean = sum(s.size_bytes for s in log.segments if s.base_offset < found.first_dirty)
    if found.bound <= found.first_dirty:
        return clean, 0
    first = log.containing(found.first_dirty)
    return clean, sum(s.size_bytes for s in log.segments[first:-1] if s.base_offset < found.bound)


def compaction_delay(log: ModelLog, config: Config, first_dirty: int, now_ms: int) -> int:
    """By how many milliseconds the oldest first batch of the dirty closed segments is late (R8)."""
    closed = log.segments[log.containing(first_dirty) : -1]
    firsts = [
        s.batches[0].max_timestamp_ms for s in closed if s.batches and s.batches[0].max_timestamp_ms > 0
    ]
    limit = now_ms - config.max_compaction_lag_ms
    return max(0, limit - min(firsts, default=limit))


def is_eligible(log: ModelLog, config: Config, now_ms: int) -> bool:
    """Whether the cleaner would take the log, because of its ratio or because it is late (R7)."""
    found = cleanable_range(log, config, now_ms)
    clean, cleanable = byte_sums(log, found)
    if "compact" not in config.cleanup_policy or clean + cleanable == 0:
        return False
    delayed = compaction_delay(log, config, found.first_dirty, now_ms) > 0 and cleanable > 0
    return delayed or cleanable / (clean + cleanable) > config.min_cleanable_dirty_ratio


def turn(
    log: ModelLog, config: Config, now_ms: int, *, rounds: int | None = 1, respect_ratio: bool = True
) -> list[Round]:
    """The cleaner's turns on one log: resets, rounds while there is something to clean, then retention."""
    done: list[Round] = []
    while "compact" in config.cleanup_policy:
        found = cleanable_range(log, config, now_ms)
        if found.reset:
            log.checkpoint = found.first_dirty
        due = is_eligible(log, config, now_ms) if respect_ratio else byte_sums(log, found)[1] > 0
        if not due or (rounds is not None and len(done) >= rounds):
            break
        done.append(clean_round(log, config, now_ms, found))
        delete_old_segments(log, config, now_ms)
    delete_old_segments(log, config, now_ms)
    if "compact" in config.cleanup_policy and log.checkpoint is not None and log.checkpoint < log.log_start:
        log.checkpoint = log.log_start  # as when the cleaner looks at the log next (R10)
    return done


def delete_old_segments(log: ModelLog, config: Config, now_ms: int) -> None:
    """Retention by log start, then size, then time; each stops at the first segment that stays (R53)."""

    def drop_while(goes: Iterator[bool]) -> None:
        count = 0
        for segment, gone in zip(log.segments, goes, strict=False):
            is_last_empty = count == len(log.segments) - 1 and segment.size_bytes == 0
            if not gone or is_last_empty:
                break
            count += 1
        if count == len(log.segments):  # the active segment goes, too: a new one is rolled first
            log.segments = [*log.segments, ModelSegment(log.log_end, mtime_ms=now_ms)]
        log.segments = log.segments[count:]
        if count:
            log.log_start = max(log.log_start, log.segments[0].base_offset)

    bases = [s.base_offset for s in log.segments[1:]]
    drop_while(iter([base <= log.log_start for base in bases] + [False]))
    if "delete" not in config.cleanup_policy:
        return
    if config.retention_bytes >= 0:
        excess = sum(s.size_bytes for s in log.segments) - config.retention_bytes
        drop_while(_within(excess, [s.size_bytes for s in log.segments]))
    if config.retention_ms >= 0:
        limit = now_ms - config.retention_ms
        drop_while(iter([s.largest_timestamp_ms < limit for s in log.segments]))


def _within(excess: int, sizes: list[int]) -> Iterator[bool]:
    for size in sizes:
        excess -= size
        yield excess >= 0


def roll(batches: Iterable[ModelBatch], config: Config, *, compacted: bool = True) -> list[ModelSegment]:
    """The segments that a broker rolls when the batches are appended one by one (R4)."""
    limit_ms = min(config.segment_ms, config.max_compaction_lag_ms) if compacted else config.segment_ms
    segments: list[ModelSegment] = []
    for batch in batches:
        segment = segments[-1] if segments else ModelSegment(batch.base_offset)
        first_ms = segment.batches[0].max_timestamp_ms if segment.batches else 0
        offset_index, time_index = segment.index_bytes(config, closed=False)
        full = segment.size_bytes > config.segment_bytes - batch.size_bytes
        full |= first_ms >= 0 and bool(segment.batches) and batch.max_timestamp_ms - first_ms > limit_ms
        full |= offset_index // 8 >= config.segment_index_bytes // 8
        full |= time_index // 12 >= config.segment_index_bytes // 12 - 1
        full |= batch.last_offset - segment.base_offset > 2**31 - 1
        if not segments or (full and segment.batches):
            segments.append(ModelSegment(batch.base_offset))
        segments[-1].batches.append(batch)
    return segments
