"""The data types of the broker model: batches, segments, logs, configs, rounds."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from kcompact.dumps.records.record import Record

LONG_MAX = 2**63 - 1


@dataclass(frozen=True)
class Config:
    """Topic and broker configs that a round depends on."""

    cleanup_policy: frozenset[str] = frozenset({"compact"})
    min_cleanable_dirty_ratio: float = 0.5
    min_compaction_lag_ms: int = 0
    max_compaction_lag_ms: int = LONG_MAX
    delete_retention_ms: int = 86_400_000
    segment_bytes: int = 1 << 30
    segment_ms: int = 604_800_000
    segment_index_bytes: int = 10_485_760
    index_interval_bytes: int = 4096
    retention_ms: int = -1
    retention_bytes: int = -1
    offset_map_limit: int | None = None
    producer_id_expiration_ms: int = LONG_MAX  # a broker looks for expired producers every ten minutes

    def shared(self) -> dict[str, Any]:
        """The configs that a Policy has under the same names; ``with_map_of`` sets the limit of the map."""
        return {name: value for name, value in vars(self).items() if name != "offset_map_limit"}


@dataclass
class ModelBatch:
    """One batch as it lies on disk."""

    base_offset: int
    last_offset: int
    records: list[Record] = field(default_factory=list)
    size_bytes: int = 0
    max_timestamp_ms: int = -1
    timestamp_type: str = "create"
    codec: str = "none"
    producer_id: int = -1
    producer_epoch: int = -1
    is_transactional: bool = False
    is_control: bool = False
    marker: str | None = None  # None: the control record is gone
    delete_horizon_ms: int | None = None
    is_unlisted: bool = False  # a marker whose transaction a rewritten segment no longer lists (R35)
    unseen_records: int = 0  # records that lie below the log start, so no consumer can dump them

    def copy(self) -> "ModelBatch":
        return replace(self, records=list(self.records))


@dataclass
class ModelSegment:
    """One segment file."""

    base_offset: int
    batches: list[ModelBatch] = field(default_factory=list)
    mtime_ms: int | None = None
    told_bytes: int | None = None  # the file's size where it is known, in place of the sum of its batches

    @property
    def size_bytes(self) -> int:
        return sum(b.size_bytes for b in self.batches) if self.told_bytes is None else self.told_bytes

    @property
    def largest_timestamp_ms(self) -> int:
        newest = max((b.max_timestamp_ms for b in self.batches), default=-1)
        return newest if newest >= 0 else -1 if self.mtime_ms is None else self.mtime_ms

    def index_bytes(self, config: Config, *, closed: bool = True) -> tuple[int, int]:
        """Bytes of the offset and the time index (R41).

        An entry is made when more bytes than the interval have gone by; closing adds one to the time index.
        """
        entries = times = since = 0
        newest = entered = -1
        for batch in self.batches:
            newest = max(newest, batch.max_timestamp_ms)
            if since > config.index_interval_bytes:
                entries, since = entries + 1, 0
                times, entered = times + (newest > entered), newest
            since += batch.size_bytes
        return 8 * entries, 12 * (times + (closed and newest > entered))


@dataclass
class Range:
    """The offsets between which a round cleans (R1 to R3)."""

    first_dirty: int
    first_uncleanable: int  # R2
    bound: int  # R3: U
    reset: bool


@dataclass
class Round:
    """The figures that a broker logs about a round, and what can be seen of it otherwise."""

    first_dirty: int
    next_offset: int
    map_entries: int
    messages_read: int = 0
    messages_written: int = 0
    invalid: int = 0
    map_messages_read: int = 0
    bytes_read: int = 0
    bytes_written: int = 0
    horizon_ms: int | None = None
    overlooked: bool = False  # committed data was taken for aborted while the map was filled (R31)


@dataclass
class ModelLog:
    """One log on a broker."""

    segments: list[ModelSegment]
    log_start: int
    log_end: int
    last_stable: int
    checkpoint: int | None = None

    def batches(self) -> Iterator[ModelBatch]:
        for segment in self.segments:
            yield from segment.batches

    def containing(self, offset: int) -> int:
        """Index of the segment containing an offset."""
        return max((i for i, s in enumerate(self.segments) if s.base_offset <= offset), default=0)
