"""Configs from a file: properties, or the text of ``kafka-configs`` or ``kafka-topics --describe``."""

import difflib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from kcompact.broker.configs import CONFIGS, CONFIGS_WITHOUT_EFFECT, ConfigValue, parse_config
from kcompact.broker.text_lines import numbered_lines, shown
from kcompact.errors import PolicyError

MOST_NAMES = 6  # of unknown configs in a note


@dataclass(frozen=True)
class ConfigEntry:
    """One config with the place where it was given, ``file:line`` or an option's name."""

    value: ConfigValue
    place: str


@dataclass
class TopicConfigs:
    """The configs in a file by topic; those under None are for all topics. ``notes`` name ignored configs."""

    by_topic: dict[str | None, dict[str, ConfigEntry]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _Line:
    """One ``name=value``, and the number of its line. ``topic`` is None in a properties file."""

    topic: str | None
    name: str
    text: str
    number: int


# kafka-configs: "Dynamic configs for topic orders are:", "All configs for topic orders are:", and before
# Kafka 2.5 "Configs for topic 'orders' are a=1,b=2" on one line.
_CONFIGS_TITLE = re.compile(
    r"(?:Dynamic |All )?[Cc]onfigs for topic '?(?P<topic>[^\s']+)'? are:?(?P<rest>.*)"
)
# The same for brokers ("Default configs for brokers in the cluster are:"): it holds for every topic.
_BROKER_TITLE = re.compile(r"(?:Dynamic |All |Default )?[Cc]onfigs for brokers?\b.* are:")
_CONFIGS_ENTRY = re.compile(r"\s+(?P<name>[\w.]+)=(?P<text>.*?) sensitive=(?:true|false) synonyms=\{.*")
# kafka-topics: "Topic: orders<tab>TopicId: ...<tab>Configs: a=1,b=2", before Kafka 2.3 without the blanks.
_TOPICS_TITLE = re.compile(r"\s*Topic:\s*(?P<topic>\S+)\s.*?\bConfigs:\s*(?P<rest>.*)")
_TOPICS_PARTITION = re.compile(r"\s*Topic:\s*\S+\s+Partition:\s*\d+\s.*")
_PROPERTY = re.compile(r"\s*(?P<name>[\w.-]+)\s*[=:]\s*(?P<text>.*?)\s*")
# A value may hold commas (cleanup.policy=compact,delete): only a comma before the next name ends it.
_NEXT_NAME = re.compile(r",(?=[\w.]+=)")


def read_topic_configs(path: str) -> TopicConfigs:
    """Every config in the file that matters to cleaning. Raises PolicyError that names file, line and range.

    ``internal.segment.bytes`` takes the place of ``segment.bytes``, as in a broker. Of several lines for a
    config, the last one counts.
    """
    lines = list(numbered_lines(path))
    titles = (_CONFIGS_TITLE, _TOPICS_TITLE, _BROKER_TITLE)
    described = any(title.fullmatch(line) for _, line in lines for title in titles)
    config_lines = list(_described(path, lines) if described else _properties(path, lines))
    configs = TopicConfigs()
    for line in config_lines:
        entries = configs.by_topic.setdefault(line.topic, {})
        if line.name in CONFIGS and line.text != "null":
            entries[line.name] = _entry(path, line)
    configs.notes += _unknown_names(path, (line.name for line in config_lines))
    for entries in configs.by_topic.values():
        if "internal.segment.bytes" in entries:
            entries["segment.bytes"] = entries.pop("internal.segment.bytes")
    return configs


def _entry(path: str, line: _Line) -> ConfigEntry:
    place = f"{path}:{line.number}"
    try:
        return ConfigEntry(parse_config(line.name, line.text), place)
    except ValueError as error:
        raise PolicyError(f"{place}: {error}", hint="a broker would refuse it too") from error


def _described(path: str, lines: list[tuple[int, str]]) -> Iterator[_Line]:
    topic: str | None = None
    for number, line in lines:
        title = _CONFIGS_TITLE.fullmatch(line) or _TOPICS_TITLE.fullmatch(line)
        entry = _CONFIGS_ENTRY.fullmatch(line)
        if title:
            topic = title["topic"]
            yield from _listed(topic, title["rest"], number)
        elif _BROKER_TITLE.fullmatch(line):
            topic = None
        elif entry:
            yield _Line(topic, entry["name"], entry["text"], number)
        elif line.strip() and not _TOPICS_PARTITION.fullmatch(line):
            raise _odd_line(path, number, line)


def _listed(topic: str, text: str, number: int) -> Iterator[_Line]:
    for pair in _NEXT_NAME.split(text.strip()):
        name, equals, value = pair.partition("=")
        if equals:
            yield _Line(topic, name, value, number)


def _properties(path: str, lines: list[tuple[int, str]]) -> Iterator[_Line]:
    for number, line in _joined(lines):
        if not line.strip() or line.lstrip().startswith(("#", "!")):
            continue
        match = _PROPERTY.fullmatch(line)
        if match is None:
            raise _odd_line(path, number, line)
        yield _Line(None, match["name"], match["text"], number)


def _joined(lines: list[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Lines, with those that a backslash continues put together under the number of the first one."""
    first, pending = 0, ""
    for number, line in lines:
        first = first or number
        if line.endswith("\\"):
            pending += line[:-1]
            continue
        yield first, pending + (line.lstrip() if pending else line)
        first, pending = 0, ""
    if pending:
        yield first, pending


def _odd_line(path: str, number: int, line: str) -> PolicyError:
    return PolicyError(
        f"{path}:{number}: '{shown(line)}' is not a config",
        hint="wanted: lines NAME=VALUE, or what kafka-configs or kafka-topics print with --describe",
    )


def _unknown_names(path: str, config_names: Iterable[str]) -> list[str]:
    unknown = sorted(set(config_names) - CONFIGS.keys() - CONFIGS_WITHOUT_EFFECT)
    if not unknown:
        return []
    names = sorted(map(_with_likely_name, unknown), key=lambda text: "did you mean" not in text)
    more = f" and {len(names) - MOST_NAMES:,} more" if len(names) > MOST_NAMES else ""
    return [f"{path}: not a topic config of Kafka, ignored: {', '.join(names[:MOST_NAMES])}{more}"]


def _with_likely_name(name: str) -> str:
    likely = difflib.get_close_matches(name, CONFIGS, n=1, cutoff=0.85)
    return f"{name} (did you mean {likely[0]}?)" if likely else name
