"""A file of a dump and its splits, as layouts are asked about them, and what is noted of a split."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kcompact.broker.log_names import LogName
from kcompact.dumps.count_names import CountName
from kcompact.dumps.dialects.dialect import Dialect
from kcompact.dumps.files.origin import Origin
from kcompact.dumps.options import NOTHING_LEFT_OUT, LeftOut

if TYPE_CHECKING:
    import pyarrow as pa  # which a process that forks must not import


@dataclass(frozen=True)
class DumpFile:
    """One file of a dump, recognised. Picklable: it travels to Spark's workers.

    ``shape`` is the layout's own knowledge (CSV columns, Avro schema and sync marker, ...), ``dialect`` the
    resolved entry of the dialect table; both are plain picklable values.
    """

    file_id: int
    path: str  # as the user named it; messages and output names use it
    data_path: str  # plain bytes: ``path`` itself, or its unpacked copy in the spool folder
    data_bytes: int
    layout: str  # key of LAYOUTS
    dialect: Dialect
    shape: Any = None
    container: str | None = None  # "gzip", "bzip2", "zstd", "xz", "lz4"
    topic: str | None = None  # from the name of the file or of a folder, where records do not say
    partition: int | None = None
    start_offset: int | None = None
    notes: tuple[str, ...] = ()  # what was assumed; shown to the user once
    topics: frozenset[str] = frozenset()  # ReadOptions.topics: records of others are not indexed; empty: all
    partitions: tuple[range, ...] = ()  # likewise
    left_out: LeftOut = NOTHING_LEFT_OUT  # records of these logs are not indexed
    origin: Origin | None = None  # where each task gets it from, if it is on no disk as plain bytes
    dump_bytes: int = 0  # data_bytes of all files of the dump: compiled loops only pay for large ones

    @property
    def wants_all(self) -> bool:
        """Whether records of every log are asked for."""
        return not (self.topics or self.partitions) and self.left_out == NOTHING_LEFT_OUT

    def wants(self, topic: str, partition: int) -> bool:
        """Whether the user asked for records of this log (``--topic``, ``--partitions``) and it is there."""
        is_asked_for = (not self.topics or topic in self.topics) and (
            not self.partitions or any(partition in numbers for numbers in self.partitions)
        )
        return is_asked_for and not self.left_out.holds(topic, partition)


class Split(NamedTuple):
    """A byte range of a file's plain bytes that starts and ends at a record (or block); one task reads it."""

    split_id: int
    file_id: int
    start: int
    end: int

    @property
    def byte_range(self) -> tuple[int, int]:
        """Where it starts and ends."""
        return self.start, self.end


@dataclass(frozen=True)
class Reject:
    """A record that cannot be read: where (byte position in the plain file), why, and what to do."""

    position: int
    reason: str
    hint: str | None = None


PARSED_VALUES, FILLED_HEADERS = "parsed values", "filled headers"
"""In ``SplitNotes.fields_seen``, beside roles: records whose value is JSON within JSON, not a text of it.

And that there are headers, where an index has ``headers_hash``: not how many.
"""


@dataclass
class SplitNotes:
    """Notes on a split, made while it is indexed. The layout fills it, the engine carries it to the driver.

    After a reject a layout may stop. ``counts`` are warnings by name (``CountName``), ``examples`` a few of
    each, printable.
    """

    logs: dict[int, LogName] = field(default_factory=dict)  # by log_id
    left_out: set[LogName] = field(default_factory=set)  # logs whose records were not asked for
    rejects: list[Reject] = field(default_factory=list)
    counts: dict[CountName, int] = field(default_factory=dict)
    fields_seen: dict[str, int] = field(default_factory=dict)  # records that have a key, value, ...
    examples: dict[CountName, list[str]] = field(default_factory=dict)
    tables: dict[str, list[str]] = field(default_factory=dict)  # topic -> tables whose rows its events change
    key_type: str | None = None  # of typed keys, as equal bytes may be two keys; None: bytes compare right

    def count(self, name: CountName, more: int = 1) -> None:
        """Count so many more in ``counts``; none leave it as it is."""
        if more:
            self.counts[name] = self.counts.get(name, 0) + more

    def doubt_headers(self) -> None:
        """Some may differ from another tool's. Not how many, as loops read equal ones once."""
        self.counts.setdefault("doubtful_headers", 1)

    def see(self, role: str, more: int = 1) -> None:
        """Likewise in ``fields_seen``."""
        if more:
            self.fields_seen[role] = self.fields_seen.get(role, 0) + more


@dataclass
class ConversionNotes(SplitNotes):
    """Notes on records that are converted: also the ``fields_beside`` the parts of a record, in order."""

    fields_beside: dict[str, None] = field(default_factory=dict)

    def doubt_headers(self) -> None:
        """The output has them as the dump has them."""

    def __bool__(self) -> bool:
        """Whether there is anything to tell the user."""
        return bool(self.fields_beside or self.counts)


NeedsExtra = Callable[["pa.RecordBatch"], np.ndarray]
"""Of rows of INDEX_SCHEMA: which of them are wanted with columns of EXTRA_FIELDS, as flags."""


class SplitToIndex(NamedTuple):
    """A split, the file it is a part of, and where to note what is found beside its rows.

    ``hash_secret`` is the run's, for whom ``value_hash`` is asked for. Columns of EXTRA_FIELDS may be null in
    rows that ``needs_extra`` leaves out; None: in none. ``values_as_json``: values have the same
    ``value_hash`` where they are the same JSON, however spelt.
    """

    file: DumpFile
    split: Split
    notes: SplitNotes
    hash_secret: bytes = b""
    needs_extra: NeedsExtra | None = None
    values_as_json: bool = False


class Chosen(NamedTuple):
    """Records of a split by two columns of INDEX_SCHEMA, in the order in which they are wanted."""

    file: DumpFile
    split: Split
    positions: np.ndarray
    record_bytes: np.ndarray
