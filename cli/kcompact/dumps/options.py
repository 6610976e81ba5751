"""The user's options about the input; the same for every command."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum

from kcompact.broker.log_names import LogName


@dataclass(frozen=True)
class LeftOut:
    """Files that ``--keep-going`` passes over, and the logs of which they may hold records."""

    files: frozenset[tuple[str, str]] = frozenset()  # path, and why it cannot be read
    logs: frozenset[LogName] = frozenset()
    topics: frozenset[str] = frozenset()  # with all their partitions

    def plus(self, other: "LeftOut") -> "LeftOut":
        """All that either of them leaves out."""
        return LeftOut(self.files | other.files, self.logs | other.logs, self.topics | other.topics)

    @property
    def paths(self) -> frozenset[str]:
        """The files' paths."""
        return frozenset(path for path, _ in self.files)

    def of_files(self, paths: Iterable[str]) -> "LeftOut":
        """The same, but of its files only those among ``paths``."""
        overlap = self.paths.intersection(paths)
        return LeftOut(frozenset(file for file in self.files if file[0] in overlap), self.logs, self.topics)

    def has_all(self, other: "LeftOut") -> bool:
        """Whether all that ``other`` leaves out is left out here, too."""
        return self.plus(other) == self

    def holds(self, topic: str, partition: int) -> bool:
        """Whether a log is left out."""
        return topic in self.topics or (topic, partition) in self.logs


NOTHING_LEFT_OUT = LeftOut()


PLACES = ("topic", "partition", "offset")
"""The parts that say where in Kafka a record was."""

COMPARED = ("timestamp", "headers")
"""The parts that ``--fields timestamp=,headers=`` keeps ``verify`` from comparing."""

DISPENSABLE = (*PLACES, "timestamp", "timestamp_type", "headers")
"""The parts that a record can do without."""


class Aborts(Enum):
    """How it is known which data was aborted: kafka-dump-log prints abort markers, but not whose they are."""

    UNKNOWN = "unknown"  # a dump with abort markers is refused
    GIVEN = "given"  # by another file
    COUNTED = "counted"  # aborted records count as committed, which is noted


@dataclass(frozen=True)
class ReadOptions:
    """Everything that recognition does not find out by itself. Defaults: recognise, take all records."""

    dialect: str | None = None
    fields: dict[str, str] = field(default_factory=dict)  # "key" -> "kafka_key", "value" -> "payload.body"
    key_fields: tuple[str, ...] = ()  # fields of the value that make the key
    cdc: str | None = None  # values are change events of this format: a name in change_events.FORMATS
    tombstone: str | None = None  # "null", "missing", "empty" or "literal:TEXT"
    missing_key: str | None = None  # "null", "empty" or "text"
    columns: tuple[str, ...] = ()  # of text dumps without a header line
    delimiter: str | None = None
    canonical_keys: bool = False
    topics: frozenset[str] = frozenset()  # empty: all
    partitions: tuple[range, ...] = ()  # empty: all
    may_be_converted: bool = False  # AFTER of ``verify``: kcompact may have written it from BEFORE
    aborts: Aborts = Aborts.UNKNOWN
    keep_going: bool = False  # leave out what cannot be read, with its logs, instead of refusing the dump
    left_out: LeftOut = NOTHING_LEFT_OUT

    @property
    def places(self) -> dict[str, str | None]:
        """``fields`` by part; None where the user says that there is no such part (``--fields topic=``)."""
        return {role: name or None if role in DISPENSABLE else name for role, name in self.fields.items()}

    @property
    def for_converted(self) -> "ReadOptions":
        """The options for a file that kcompact wrote: without those that describe another tool's output."""
        left_out = {role: "" for role in COMPARED if self.fields.get(role) == ""}
        return ReadOptions(canonical_keys=self.canonical_keys, cdc=self.cdc, fields=left_out)

    @property
    def says_what_lines_are(self) -> bool:
        """Whether the user says how lines of text are to be read, whatever they look like."""
        return bool(self.dialect or self.delimiter)

    @property
    def key_options(self) -> str:
        """The options that say what a record's key is, as a command line has them."""
        values = {
            "--fields key=": self.fields.get("key"),
            "--key-field ": ",".join(self.key_fields),
            "--cdc ": self.cdc,
        }
        options = [f"{option}{value}" for option, value in values.items() if value]
        return " ".join(["--canonical-keys", *options] if self.canonical_keys else options)
