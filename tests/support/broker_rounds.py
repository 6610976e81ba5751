"""The broker model's round: offset map, rewriting of batches, merging of segments (R11 to R45)."""

from dataclasses import dataclass, field, replace

from broker_log import LONG_MAX, Config, ModelBatch, ModelLog, ModelSegment, Range, Round
from broker_sizes import batch_bytes, varint_bytes
from kcompact.dumps.records.record import Record


def _aborted_batches(log: ModelLog) -> set[int]:
    """Base offsets of the data batches of aborted transactions, also by markers in later segments (R31)."""
    open_batches: dict[int, list[int]] = {}
    aborted: set[int] = set()
    for batch in log.batches():
        if batch.is_control and batch.marker in {"COMMIT", "ABORT"}:
            seen = open_batches.pop(batch.producer_id, [])
            aborted.update(seen if batch.marker == "ABORT" else ())
        elif batch.is_transactional and not batch.is_control:
            open_batches.setdefault(batch.producer_id, []).append(batch.base_offset)
    return aborted


def _read_from(log: ModelLog, config: Config, first_dirty: int) -> ModelBatch | None:
    """The batch from which the map's first segment is read: its last index entry up to ``first_dirty``."""
    since, entry = 0, None
    for batch in log.segments[log.containing(first_dirty)].batches:
        if since > config.index_interval_bytes:
            since = 0
            if batch.last_offset <= first_dirty:
                entry = batch
        since += batch.size_bytes
    return entry


def _taken_for_aborted(log: ModelLog, config: Config, first_dirty: int) -> set[int]:
    """Base offsets of data batches that a map skips, as the marker of an earlier abort is not read (R31)."""
    start = _read_from(log, config, first_dirty)
    if start is None:
        return set()
    ongoing = {
        batch.producer_id
        for batch in log.segments[log.containing(first_dirty)].batches
        if batch.marker == "ABORT"
        and batch.delete_horizon_ms is None
        and not batch.is_unlisted
        and batch.base_offset >= log.log_start
        and batch.base_offset < start.base_offset
    }
    skipped = set()
    for batch in log.batches():
        if batch.base_offset < start.base_offset or batch.producer_id not in ongoing:
            continue
        if batch.marker == "ABORT":
            ongoing.remove(batch.producer_id)
        elif batch.is_transactional and not batch.is_control:
            skipped.add(batch.base_offset)
    return skipped


def build_offset_map(
    log: ModelLog, config: Config, found: Range, stats: Round
) -> tuple[dict[bytes, int], int]:
    """The offset map and its end, inclusive (R12 to R14)."""
    latest: dict[bytes, int] = {}
    end = -1
    taken_for_aborted = _taken_for_aborted(log, config, found.first_dirty)
    stats.overlooked = any(offset >= found.first_dirty for offset in taken_for_aborted)
    aborted = _aborted_batches(log) | taken_for_aborted
    for i in range(log.containing(found.first_dirty), len(log.segments)):
        segment = log.segments[i]
        if segment.base_offset >= found.bound:
            break
        for batch in segment.batches:
            if batch.is_control:
                stats.map_messages_read += 1
            elif batch.base_offset in aborted:
                stats.map_messages_read += len(batch.records)
            else:
                for record in batch.records:
                    if record.key is not None and record.offset >= found.first_dirty:
                        if config.offset_map_limit is not None and len(latest) >= config.offset_map_limit:
                            return latest, end
                        latest[record.key] = end = record.offset
                    stats.map_messages_read += 1
            if batch.last_offset >= found.first_dirty:
                end = batch.last_offset
        following = log.segments[i + 1].base_offset if i + 1 < len(log.segments) else found.bound
        end = min(following, found.bound) - 1
    return latest, end


def clean_round(log: ModelLog, config: Config, now_ms: int, found: Range) -> Round:
    """One round: map, rewriting of every segment below next, merging, checkpoint."""
    stats = Round(found.first_dirty, 0, 0)
    latest, end = build_offset_map(log, config, found, stats)
    if found.bound <= found.first_dirty:
        end = found.first_dirty - 1  # a forced round, though nothing is dirty
    stats.map_entries, stats.next_offset = len(latest), end + 1
    horizon = now_ms + config.delete_retention_ms
    stats.horizon_ms = horizon if horizon <= LONG_MAX else None
    rewriting = _Rewriting(
        latest, end, now_ms, stats, _aborted_batches(log), _last_of_producers(log, config, now_ms)
    )
    old = [s for s in log.segments if s.base_offset < stats.next_offset]
    new: list[ModelSegment] = []
    for group in group_segments(old, config, found.bound):
        merged = ModelSegment(group[0].base_offset, mtime_ms=group[-1].mtime_ms)
        for segment in group:
            merged.batches += [
                kept for batch in segment.batches if (kept := rewriting.rewrite(batch)) is not None
            ]
            stats.bytes_read += segment.size_bytes
        stats.bytes_written += merged.size_bytes
        new.append(merged)
    log.segments = new + log.segments[len(old) :]
    log.checkpoint = stats.next_offset
    return stats


def _last_of_producers(log: ModelLog, config: Config, now_ms: int) -> dict[int, tuple[int | None, int]]:
    """Last data offset (None: only markers) and epoch of each producer that the broker still knows (R36)."""
    known: dict[int, tuple[int | None, int]] = {}
    newest: dict[int, int] = {}
    for batch in log.batches():
        if batch.producer_id < 0:
            continue
        data = known.get(batch.producer_id, (None, -1))[0] if batch.is_control else batch.last_offset
        known[batch.producer_id] = (data, batch.producer_epoch)
        newest[batch.producer_id] = batch.max_timestamp_ms
    limit = now_ms - config.producer_id_expiration_ms
    return {producer: last for producer, last in known.items() if newest[producer] > limit}


@dataclass
class _Rewriting:
    """The filter of one round: it takes batches in order, and remembers which transactions it has met."""

    latest: dict[bytes, int]
    end: int
    now_ms: int
    stats: Round
    aborted: set[int]
    last_of_producers: dict[int, tuple[int | None, int]]
    seen_aborted: set[int] = field(default_factory=set)
    seen_committed: set[int] = field(default_factory=set)

    def rewrite(self, batch: ModelBatch) -> ModelBatch | None:
        """The batch as the round leaves it; None if it goes (R17 to R39)."""
        due = batch.delete_horizon_ms is not None and batch.delete_horizon_ms <= self.now_ms
        discardable = self._discardable(batch)
        discard = discardable and (due or not batch.is_control)
        retain_empty = self._is_last_of_producer(batch)
        if discard and not retain_empty:
            return None
        if batch.is_control:
            return self._control(batch, discardable=discardable, discard=discard)
        self.stats.messages_read += len(batch.records) + batch.unseen_records
        kept = [] if discard else [record for record in batch.records if self._retained(record, due=due)]
        self.stats.messages_written += len(kept)
        if not kept:
            empty = replace(batch.copy(), records=[], size_bytes=61, delete_horizon_ms=None, unseen_records=0)
            return empty if retain_empty else None
        stamp = batch.delete_horizon_ms is None and any(record.value is None for record in kept)
        stamp = stamp and self.stats.horizon_ms is not None
        if len(kept) == len(batch.records) and not stamp:
            return batch
        horizon = self.stats.horizon_ms if stamp else batch.delete_horizon_ms
        return reencoded(batch, kept, horizon)

    def _discardable(self, batch: ModelBatch) -> bool:
        """Whether a marker may go, or data belongs to an aborted transaction (R32, R33)."""
        if not batch.is_control:
            if not batch.is_transactional:
                return False
            aborted = batch.base_offset in self.aborted
            (self.seen_aborted if aborted else self.seen_committed).add(batch.producer_id)
            return aborted
        seen = {"ABORT": self.seen_aborted, "COMMIT": self.seen_committed}.get(batch.marker or "")
        if seen is None:
            return True  # a marker whose control record is gone already
        was_seen = batch.producer_id in seen
        seen.discard(batch.producer_id)
        return not was_seen

    def _is_last_of_producer(self, batch: ModelBatch) -> bool:
        last = self.last_of_producers.get(batch.producer_id)
        if last is None:
            return False
        data, epoch = last
        return (
            (batch.is_control and batch.producer_epoch == epoch)
            if data is None
            else batch.last_offset == data
        )

    def _control(self, batch: ModelBatch, *, discardable: bool, discard: bool) -> ModelBatch:
        records = 1 if batch.marker else 0
        self.stats.messages_read += records
        if discard or not records:
            return replace(batch.copy(), marker=None, size_bytes=61, delete_horizon_ms=None)
        self.stats.messages_written += 1
        if not discardable or batch.delete_horizon_ms is not None:
            return batch
        if self.stats.horizon_ms is None:
            return replace(batch.copy(), is_unlisted=True)
        horizon = self.stats.horizon_ms
        more = varint_bytes(batch.max_timestamp_ms - horizon) - 1
        return replace(batch.copy(), delete_horizon_ms=horizon, size_bytes=batch.size_bytes + more)

    def _retained(self, record: Record, *, due: bool) -> bool:
        """Whether a record stays: beyond the end, or the latest of its key (R19 to R23)."""
        if record.offset > self.end:
            return True
        if record.key is None:
            self.stats.invalid += 1
            return False
        return record.offset >= self.latest.get(record.key, -1) and (record.value is not None or not due)


def group_segments(segments: list[ModelSegment], config: Config, bound: int) -> list[list[ModelSegment]]:
    """Groups of neighbouring segments that are merged into one (R41)."""
    groups: list[list[ModelSegment]] = []
    for i, segment in enumerate(segments):
        following = segments[i + 1].base_offset if i + 1 < len(segments) else bound
        if groups:
            group = [*groups[-1], segment]
            sizes = [(s.size_bytes, *s.index_bytes(config)) for s in group]
            fits = sum(size[0] for size in sizes) <= config.segment_bytes
            fits &= all(sum(size[i] for size in sizes) <= config.segment_index_bytes for i in (1, 2))
            fits &= segment.size_bytes == 0 or following - 1 - group[0].base_offset <= 2**31 - 1
            if fits:
                groups[-1].append(segment)
                continue
        groups.append([segment])
    return groups


def reencoded(batch: ModelBatch, kept: list[Record], horizon_ms: int | None) -> ModelBatch:
    """The batch with only the records ``kept`` (R39).

    Timestamps are deltas to the horizon, or to the first kept record's timestamp where there is none.
    """
    base_timestamp = kept[0].timestamp_ms if horizon_ms is None else horizon_ms
    newest = max(record.timestamp_ms for record in kept)
    return replace(
        batch.copy(),
        records=kept,
        unseen_records=0,
        delete_horizon_ms=horizon_ms,
        size_bytes=batch_bytes(kept, batch.base_offset, base_timestamp),
        max_timestamp_ms=batch.max_timestamp_ms if batch.timestamp_type == "logappend" else newest,
    )
