"""The result of ``inspect``: one value for all renderings. Offsets are inclusive unless named ``end``."""

from dataclasses import dataclass, field
from typing import Any

from kcompact.inspect.placement.partitioning import Change
from kcompact.inspect.severity import InspectFinding

SCHEMA_VERSION = 1


@dataclass(frozen=True)
class FileFacts:
    """One file, as it was recognised. ``fields`` names where each part of a record is."""

    path: str
    layout: str
    dialect: str
    tool: str
    sure: bool  # nothing else writes files like this
    file_bytes: int
    container: str | None
    fields: dict[str, str]
    key_encoding: str | None
    value_encoding: str | None


@dataclass(frozen=True)
class Gap:
    """Missing offsets, both ends inclusive."""

    first_offset: int
    last_offset: int
    length: int


@dataclass(frozen=True)
class Gaps:
    """All gaps of a log between its first and its last record."""

    count: int = 0
    missing_offsets: int = 0
    single_offset_gaps: int = 0  # marker-like: a transaction marker takes one offset
    longest: tuple[Gap, ...] = ()


@dataclass(frozen=True)
class Values:
    """Numbers of records by kind of value; null, empty and ``null`` look alike in many exports."""

    present: int = 0
    null: int = 0  # tombstones, and records without key and value
    empty: int = 0
    word_null: int = 0  # the text ``null``: no tombstone


@dataclass(frozen=True)
class Slice:
    """A tenth of a log's offsets: records that are there, and keys seen for the first time."""

    first_offset: int
    records: int
    new_keys: int


@dataclass
class LogFacts:
    """One log. Bytes are bytes in the dump; timestamps in ms, -1 where there are none."""

    topic: str
    partition: int
    records: int = 0
    record_bytes: int = 0
    first_offset: int = -1
    last_offset: int = -1
    end_minus_begin: int = 0  # offsets from the first to the last record, both included
    repeated_offsets: int = 0  # records at an offset that another record has, too
    in_offset_order: bool = True
    null_keys: int = 0
    null_key_offsets: list[int] = field(default_factory=list)  # the first few
    keys: int = 0
    live_keys: int = 0
    deleted_keys: int = 0
    single_record_keys: int = 0
    lossy_keys: int = 0  # they contain U+FFFD
    late_keys: int = 0  # an earlier record of the key has a later timestamp than the latest one
    delete_events: int = 0  # of Debezium
    unmarked_delete_keys: int = 0  # with a delete event of Debezium, and no tombstone after it
    superseded_bytes: int = 0
    tombstones: int = 0
    tombstone_ages: dict[str, int] = field(default_factory=dict)
    values: Values = field(default_factory=Values)
    min_timestamp_ms: int = -1
    max_timestamp_ms: int = -1
    gaps: Gaps = field(default_factory=Gaps)
    slices: list[Slice] = field(default_factory=list)
    dedupe_buffer_bytes: int | None = None  # for one round, with one cleaner thread; None: no size is enough


@dataclass(frozen=True)
class Bucket:
    """Keys with ``least`` to ``most`` records, and how many records these have together."""

    least: int
    most: int
    keys: int
    records: int


@dataclass(frozen=True)
class TopKey:
    """A key that stands out."""

    topic: str
    partition: int
    key: bytes
    records: int
    record_bytes: int
    superseded_bytes: int
    last_offset: int


@dataclass(frozen=True)
class LargeRecord:
    """A record that stands out by its size."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    record_bytes: int


@dataclass(frozen=True)
class KeyPlace:
    """A key in one of its partitions."""

    partition: int
    records: int
    first_offset: int
    last_offset: int
    last_timestamp_ms: int
    is_tombstone: bool  # its latest record here
    is_newest: bool


@dataclass(frozen=True)
class SharedKey:
    """A key in several partitions; ``severe``: deleted in one, alive in another that is not newer."""

    key: bytes
    severe: bool
    places: tuple[KeyPlace, ...]


@dataclass(frozen=True)
class Placed:
    """A partitioner that explains where keys are, and how many of those looked at it alone explains."""

    partitioner: str
    clients: str
    partitions: int
    only_explanation_of: int


@dataclass(frozen=True)
class PlacementFacts:
    """Who placed the keys of a topic: ``kind`` as in ``partitioning.Cause``."""

    kind: str
    text: str  # in a sentence
    explained: int = 0
    looked_at: int = 0  # pairs of a key and a partition that holds it; of a large topic, a sample
    placed: tuple[Placed, ...] = ()
    changes: tuple[Change, ...] = ()


@dataclass(frozen=True)
class Lookalike:
    """Keys that differ only by something that people do not see as a part of the key."""

    differ_by: str
    keys: tuple[bytes, ...]  # the first few


@dataclass
class TopicFacts:
    """One topic: what concerns several of its partitions."""

    topic: str
    partitions: int = 0
    shared_keys: int = 0
    severe_keys: int = 0
    newest_by_partition: dict[int, int] = field(default_factory=dict)
    shared_key_examples: list[SharedKey] = field(default_factory=list)
    placement: PlacementFacts = field(default_factory=lambda: PlacementFacts("too_few", ""))
    lookalike_keys: dict[str, int] = field(default_factory=dict)  # by what they differ by
    lookalike_examples: list[Lookalike] = field(default_factory=list)


@dataclass
class Inspection:
    """Everything about a dump."""

    verdict: str = ""
    files: list[FileFacts] = field(default_factory=list)
    logs: list[LogFacts] = field(default_factory=list)
    topics: list[TopicFacts] = field(default_factory=list)
    records_per_key: list[Bucket] = field(default_factory=list)
    top_keys_by_records: list[TopKey] = field(default_factory=list)
    top_keys_by_bytes: list[TopKey] = field(default_factory=list)
    largest_records: list[LargeRecord] = field(default_factory=list)
    findings: list[InspectFinding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    run: dict[str, Any] = field(default_factory=dict)
