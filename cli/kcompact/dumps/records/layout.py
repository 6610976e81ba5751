"""The classes that layouts work on: a file of a dump, its splits, and the notes made on a split."""

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
    partitions: tuple[range, ...] = ()  # ReadOptions.partitions, likewise
    left_out: LeftOut = NOTHING_LEFT_OUT  # records of these logs are not indexed
    origin: Origin | None = None  # where each task gets the file, if no disk has it as plain bytes
    dump_bytes: int = 0  # data_bytes of all files of the dump: compiled loops only pay for large ones

    @property
    def wants_all(self) -> bool:
        """Whether records of every log are asked for."""
        return not (self.topics or self.partitions) and self.left_out == NOTHING_LEFT_OUT

    def wants(self, topic: str, partition: int) -> bool:
        """Whether the user asked for this log (``--topic``, ``--partitions``) and it is not left out."""
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
        """Where the split starts and ends."""
        return self.start, self.end


@dataclass(frozen=True)
class Reject:
    """A record that cannot be read: its byte position in the plain file, the reason, and what to do."""

    position: int
    reason: str
    hint: str | None = None


PARSED_VALUES, FILLED_HEADERS = "parsed values", "filled headers"
"""Entries of ``SplitNotes.fields_seen`` beside roles.

PARSED_VALUES counts records whose value is nested JSON, not JSON as text. FILLED_HEADERS is there if any
record has headers, where index rows have ``headers_hash``; its count means nothing.
"""


@dataclass
class SplitNotes:
    """Notes on a split: the layout makes them while it indexes, the engine carries them to the driver.

    After a reject a layout may stop. ``counts`` are warnings by name (``CountName``), ``examples`` a few
    printable ones of each.
    """

    logs: dict[int, LogName] = field(default_factory=dict)  # by log_id
    left_out: set[LogName] = field(default_factory=set)  # logs whose records were not asked for
    rejects: list[Reject] = field(default_factory=list)
    counts: dict[CountName, int] = field(default_factory=dict)
    fields_seen: dict[str, int] = field(default_factory=dict)  # records that have a key, value, ...
    examples: dict[CountName, list[str]] = field(default_factory=dict)
    tables: dict[str, list[str]] = field(default_factory=dict)  # topic -> tables whose rows its events change
    key_type: str | None = None  # of typed keys: equal bytes of two types are two keys; None: bytes tell all

    def count(self, name: CountName, more: int = 1) -> None:
        """Add ``more`` to the count of that name; 0 makes no entry."""
        if more:
            self.counts[name] = self.counts.get(name, 0) + more

    def doubt_headers(self) -> None:
        """Note that headers may differ from another tool's; uncounted, as loops decode equal ones once."""
        self.counts.setdefault("doubtful_headers", 1)

    def see(self, role: str, more: int = 1) -> None:
        """Add ``more`` to the records in ``fields_seen`` that have this role; 0 makes no entry."""
        if more:
            self.fields_seen[role] = self.fields_seen.get(role, 0) + more


@dataclass
class ConversionNotes(SplitNotes):
    """Notes on records that are converted.

    ``fields_beside`` are the names of fields that are no part of a record, in order of appearance.
    """

    fields_beside: dict[str, None] = field(default_factory=dict)

    def doubt_headers(self) -> None:
        """Nothing to note: the output has the headers as the dump has them."""

    def __bool__(self) -> bool:
        """Whether there is anything to tell the user."""
        return bool(self.fields_beside or self.counts)


NeedsExtra = Callable[["pa.RecordBatch"], np.ndarray]
"""A function from rows of INDEX_SCHEMA to flags: which of them need the columns of EXTRA_FIELDS, too."""


class SplitToIndex(NamedTuple):
    """A split, the file it is a part of, and the notes to fill while it is indexed.

    ``hash_secret`` is the run's secret for ``value_hash``; only needed where that column is asked for.
    ``needs_extra`` flags the rows that need their columns of EXTRA_FIELDS, which may be null in other rows;
    None: all rows need them. With ``values_as_json``, values that are the same JSON have the same
    ``value_hash``, however they are spelt.
    """

    file: DumpFile
    split: Split
    notes: SplitNotes
    hash_secret: bytes = b""
    needs_extra: NeedsExtra | None = None
    values_as_json: bool = False


class Chosen(NamedTuple):
    """Records of a split, named by two columns of INDEX_SCHEMA, in the order in which they are wanted."""

    file: DumpFile
    split: Split
    positions: np.ndarray
    record_bytes: np.ndarray
