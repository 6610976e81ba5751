"""The interface of a layout: how records lie in a file, and how survivors are copied out of it."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import pyarrow as pa

from kcompact.dumps.files.origin import Origin
from kcompact.dumps.options import NOTHING_LEFT_OUT, LeftOut
from kcompact.dumps.records.record import Record


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
    dialect: Any
    shape: Any = None
    container: str | None = None  # "gzip", "bzip2", "zstd", "xz", "lz4"
    topic: str | None = None  # from the name of the file or of a folder, where records do not say
    partition: int | None = None
    start_offset: int | None = None
    notes: tuple[str, ...] = ()  # what was assumed; shown to the user once
    topics: frozenset[str] = frozenset()  # ReadOptions.topics: records of others are not indexed; empty: all
    partitions: tuple[range, ...] = ()  # likewise
    left_out: LeftOut = NOTHING_LEFT_OUT  # records of these logs are not indexed
    origin: Origin | None = None  # where each task gets it from, if it lies on no disk as plain bytes
    dump_bytes: int = 0  # data_bytes of all files of the dump: what pays for a large one costs a small one

    def wants(self, topic: str, partition: int) -> bool:
        """Whether the user asked for records of this log (``--topic``, ``--partitions``) and it is there."""
        is_asked_for = (not self.topics or topic in self.topics) and (
            not self.partitions or any(partition in some for some in self.partitions)
        )
        return is_asked_for and not self.left_out.holds(topic, partition)


@dataclass(frozen=True)
class Split:
    """A byte range of a file's plain bytes that starts and ends at a record (or block); one task reads it."""

    split_id: int
    file_id: int
    start: int
    end: int


@dataclass(frozen=True)
class Reject:
    """A record that cannot be read: where (byte position in the plain file), why, and what to do."""

    split_id: int
    position: int
    reason: str
    hint: str | None = None


@dataclass
class SplitNotes:
    """Notes on a split, made while it is indexed. The layout fills it, the engine carries it to the driver.

    After a reject a layout may stop. ``counts`` are warnings by name ("lossy_keys", "skipped_noise_lines",
    "trailing_null_element", ...), ``examples`` a few of each, printable.
    """

    logs: dict[int, tuple[str, int]] = field(default_factory=dict)  # log_id -> (topic, partition)
    left_out: set[tuple[str, int]] = field(default_factory=set)  # logs whose records were not asked for
    rejects: list[Reject] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    fields_seen: dict[str, int] = field(default_factory=dict)  # records in which key, value, ... stood
    examples: dict[str, list[str]] = field(default_factory=dict)
    tables: dict[str, list[str]] = field(default_factory=dict)  # topic -> tables whose rows its events change


class SplitToIndex(NamedTuple):
    """A split, the file it is a part of, and where to note what is found beside its rows."""

    file: DumpFile
    split: Split
    notes: SplitNotes


class Layout(ABC):
    """One way in which records lie in a file. One module per layout, registered in ``LAYOUTS``."""

    @abstractmethod
    def plan(self, file: DumpFile, split_bytes: int) -> list[tuple[int, int]]:
        """Byte ranges (start, end) that cover all records, cut near ``split_bytes``; one if unsplittable."""

    def cut(self, file: DumpFile, source: BinaryIO, split_bytes: int) -> list[tuple[int, int]] | None:
        """As ``plan``, of an open file of which little is read; None: nearly all would have to be."""
        del file, source, split_bytes
        return None

    @abstractmethod
    def index(
        self, file: DumpFile, split: Split, extra: frozenset[str], notes: SplitNotes
    ) -> Iterator[pa.RecordBatch]:
        """Rows of ``index_schema(extra)`` in the order of the split's records, a few MB each."""

    def index_together(
        self, parts: Sequence[SplitToIndex], extra: frozenset[str]
    ) -> Iterator[pa.RecordBatch]:
        """As ``index`` of one after another, for small parts of files that are alike (``small_files.py``).

        A batch may hold rows of several parts. After a reject nothing more may come.
        """
        for file, split, notes in parts:
            yield from self.index(file, split, extra, notes)

    @abstractmethod
    def records(self, file: DumpFile, split: Split) -> Iterator[tuple[int, int, Record]]:
        """(position, record_bytes, record) of every record, decoded in full. Raises InputError."""

    @abstractmethod
    def decode(
        self, file: DumpFile, split: Split, positions: np.ndarray, record_bytes: np.ndarray
    ) -> Iterator[Record]:
        """The records at the given positions, in the order given, decoded in full (conversion, sorting)."""

    def begin(self, file: DumpFile) -> bytes:
        """The start of an output file: a header line, ``[``, an Avro header with the input's metadata."""
        del file
        return b""

    @abstractmethod
    def copy(
        self,
        file: DumpFile,
        split: Split,
        positions: np.ndarray,
        record_bytes: np.ndarray,
        out: BinaryIO,
    ) -> int:
        """Write the original bytes of the given records, in the order given; return the bytes written.

        Positions usually ascend; where they do not (an input out of offset order), the order given counts.
        """

    def between(self, file: DumpFile) -> bytes:
        """The bytes between two non-empty fragments (``,`` in an array; else none)."""
        del file
        return b""

    def end(self, file: DumpFile) -> bytes:
        """The last bytes of an output file."""
        del file
        return b""
