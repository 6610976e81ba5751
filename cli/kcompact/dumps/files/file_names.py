"""Topic, partition and start offset, from the names of files and folders."""

import re
from dataclasses import dataclass
from pathlib import PurePath

from kcompact.digits import INT_MAX, LONG_MAX, whole_number
from kcompact.dumps.files.containers import STDIN
from kcompact.dumps.output.outputs import CONTAINER_SUFFIXES, DATA_SUFFIXES

_EXTENSIONS = r"(?:\.[A-Za-z][A-Za-z0-9_]*)*$"  # .json.gz, .snappy.avro
_FILE_PATTERNS = [
    # Confluent's sinks: topic+partition+start(+end)
    re.compile(r"^(?P<topic>.+?)\+(?P<partition>[0-9]+)\+(?P<start>[0-9]+)(?:\+[0-9]+)?" + _EXTENSIONS),
    # Aiven's sinks: topic-partition-start
    re.compile(r"^(?P<topic>.+)-(?P<partition>[0-9]+)-(?P<start>[0-9]+)" + _EXTENSIONS),
    # esque writes partition_3, kafka_exporter_importer topic_partition_3
    re.compile(r"^(?:(?P<topic>.+)_)?partition_(?P<partition>[0-9]+)" + _EXTENSIONS),
    # DenktMit and many others: topic-partition
    re.compile(r"^(?P<topic>.+)-(?P<partition>[0-9]+)" + _EXTENSIONS),
]
_DATE = re.compile(  # at the end of a name: 2024-01-31, 20240131, 2024-01, with a time of day or without
    r"[-_.]?(?:19|20)[0-9]{2}(?P<sign>[-_.]?)(?:0[1-9]|1[0-2])"
    r"(?:(?P=sign)(?:0[1-9]|[12][0-9]|3[01])(?:[-_.T]?[0-9]{2}[-_.:]?[0-9]{2}(?:[-_.:]?[0-9]{2})?Z?)?)?$"
)
_COUNTER = re.compile(  # by which files of one name are told apart: "orders (1)", orders.part2
    r"(?:[-_. ]?\([0-9]+\)|[-_. ]+(?:part|chunk|w|q)?[-_]?[0-9]+|[-_.](?:19|20)[0-9]{2}-?(?:w|q)[0-9]{1,2}"
    r"|\.a[a-z]|[-_.](?:old|new))$",
    re.IGNORECASE,
)
_TIME_FOLDER = re.compile(
    r"(?:year|month|day|hour|minute|date|time|dt|ds|hr|yyyy|mm|dd|hh)=.*|[0-9]{2}", re.IGNORECASE
)
_LENSES = re.compile(r"^(?P<end>[0-9]+)_\d+_\d+" + _EXTENSIONS)


@dataclass(frozen=True)
class NameFacts:
    """Facts about a file's records that its path gives; None where it does not."""

    topic: str | None = None
    partition: int | None = None
    start_offset: int | None = None


def name_facts(path: str) -> NameFacts:
    """Read file name and folders: ``topics/orders/partition=0/orders+0+0000000000.json``.

    Worth asking only where records do not say their partition: names end in numbers for many reasons.
    """
    folders = PurePath(path).parts[:-1]
    name = PurePath(path).name
    from_folders = _folder_facts(folders)
    for pattern in () if _DATE.search(_without_suffixes(name)) else _FILE_PATTERNS:
        match = pattern.match(name)
        groups = match.groupdict() if match else {}
        partition = _within(groups.get("partition"), INT_MAX)
        start = _within(groups.get("start", "0"), LONG_MAX >> 1)  # rows are counted on from there
        if partition is not None and start is not None:
            topic = groups["topic"] or from_folders.topic
            return NameFacts(topic, partition, start if "start" in groups else None)
    if _LENSES.match(name) and folders and _within(folders[-1], INT_MAX) is not None:
        # Lenses: topic/partition/lastOffset_earliest_latest: its last offset orders files as well.
        topic = folders[-2] if len(folders) > 1 else None
        return NameFacts(topic, int(folders[-1]), None)
    return from_folders


def _within(text: str | None, largest: int) -> int | None:
    """The number, if it is one from 0 to ``largest``."""
    number = None if text is None else whole_number(text)
    return number if number is not None and 0 <= number <= largest else None


def topic_of(path: str) -> str:
    """A topic's name where the records give the partition, but not the topic.

    From a folder ``topic=``, a file ``topic+partition+offset``, else the file's name without extensions;
    of files that are named after partitions only, the folder's.
    """
    if path == STDIN:
        return "stdin"
    name, folders = PurePath(path).name, PurePath(path).parts[:-1]
    from_folders = _folder_facts(folders).topic
    sink = _FILE_PATTERNS[0].match(name)
    if from_folders or sink:
        return from_folders or str(sink and sink["topic"])
    if _PART_OF_FOLDER.match(name) and folders:
        return folders[-1].removesuffix(".compacted")
    return _without_suffixes(name)


_PART_OF_FOLDER = re.compile(r"^(?:partition_(?:\d+|any)|part-\d+.*)" + _EXTENSIONS)


def _without_suffixes(name: str) -> str:
    """The name without what says format and container; topics have dots of their own."""
    stem = name
    for suffixes in (CONTAINER_SUFFIXES, DATA_SUFFIXES, {".compacted"}):
        suffix = PurePath(stem).suffix
        if suffix.lower() in suffixes:
            stem = stem.removesuffix(suffix)
    return stem or name


def named_by_stem(path: str, topic: str | None) -> bool:
    """Whether a file's topic is what its name begins with, as nothing else in its path says one."""
    name, folders = PurePath(path).name, PurePath(path).parts[:-1]
    return topic == _without_suffixes(name) and _folder_facts(folders).topic is None


def without_counter(topic: str) -> str:
    """A topic by a file's name, without a date or number at its end, or a date in front."""
    shortened = re.sub(rf"^{_DATE.pattern.removesuffix('$')}[-_.]", "", topic)
    while (shorter := _COUNTER.sub("", _DATE.sub("", shortened))) != shortened:
        shortened = shorter
    return "" if shortened.isdecimal() else shortened


def is_of_time(*folders: str) -> bool:
    """Whether folders, at least one, are all called after a date or a part of it: ``dt=2024-01-31``."""
    return bool(folders) and all(
        _TIME_FOLDER.fullmatch(folder) or _DATE.fullmatch(folder) for folder in folders
    )


def _folder_facts(folders: tuple[str, ...]) -> NameFacts:
    topic = partition = None
    for index, folder in enumerate(folders):
        if folder.startswith("topic="):
            topic = folder.removeprefix("topic=")
        number = folder.removeprefix("partition=")
        if number != folder and _within(number, INT_MAX) is not None:
            partition = int(number)
            if topic is None and index and "=" not in folders[index - 1]:
                topic = folders[index - 1]
    return NameFacts(topic, partition)
