"""The name of a log in a broker's files and in options, and the values that these hold for each log."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, Self, TypeVar

from kcompact.digits import INT_MAX
from kcompact.errors import InputError

T = TypeVar("T")

_DIRECTORY = re.compile(r"(?P<topic>[a-zA-Z0-9._-]+)-(?P<partition>[0-9]{1,10})")


class LogName(NamedTuple):
    """One log of a broker: a topic's partition. Prints as Kafka names its directory, ``orders-0``."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


def parse_log_name(text: str) -> LogName | None:
    """``orders-0`` as a log; None if the text is not ``TOPIC-PARTITION``."""
    match = _DIRECTORY.fullmatch(text)
    partition = int(match["partition"]) if match else INT_MAX + 1
    return LogName(match["topic"], partition) if match and partition <= INT_MAX else None


FEW = 3  # logs or topics that a sentence names


def few(logs: Collection[LogName] | Collection[str]) -> str:
    """The names of some logs or topics; of more than ``FEW``, the first ``FEW`` and dots."""
    return ", ".join(map(str, sorted(logs)[:FEW])) + (", ..." if len(logs) > FEW else "")


def said_of_logs(texts: Iterable[tuple[LogName, str]]) -> list[str]:
    """Each text once, after the names of the logs that it is about, in the order of their names."""
    by_text: dict[str, list[LogName]] = defaultdict(list)
    for name, text in sorted(texts, key=lambda named: named[0]):
        by_text[text].append(name)
    return [f"{few(names)}: {text}" for text, names in by_text.items()]


@dataclass
class PerLog(Generic[T]):
    """The values in one file (or option), by log. ``unnamed`` is about the only log of a dump, by no name."""

    source: str  # the file or option, for messages
    by_log: dict[LogName, T] = field(default_factory=dict)
    unnamed: T | None = None

    @classmethod
    def of(cls, source: str, values: Mapping[LogName | None, T]) -> Self:
        """From values by log; that under None is ``unnamed``."""
        by_log = {log: value for log, value in values.items() if log is not None}
        return cls(source, by_log, values.get(None))

    @property
    def says_anything(self) -> bool:
        """Whether there is a value for any log."""
        return bool(self.by_log) or self.unnamed is not None

    def for_logs(self, logs: Iterable[LogName]) -> dict[LogName, T]:
        """The values for ``logs``. Raises InputError if the unnamed value could mean several of them."""
        names = sorted(set(logs))
        part = {log: self.by_log[log] for log in names if log in self.by_log}
        if self.unnamed is None:
            return part
        if len(names) > 1:
            raise InputError(
                f"{self.source} names no topic and partition, and the dump holds {len(names)} logs"
                f" ({', '.join(str(log) for log in names[:3])}, ...)",
                hint=f"say which log is meant, for example {names[0]}",
            )
        return dict.fromkeys(names, self.unnamed) | part
