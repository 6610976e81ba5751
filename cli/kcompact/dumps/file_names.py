"""What names of files and folders say: topic, partition, start offset."""

import re
from dataclasses import dataclass
from pathlib import PurePath

from kcompact.dumps.containers import STDIN
from kcompact.dumps.outputs import CONTAINER_SUFFIXES, DATA_SUFFIXES

_EXTENSIONS = r"(?:\.[A-Za-z][A-Za-z0-9_]*)*$"  # .json.gz, .snappy.avro
_FILE_PATTERNS = [
    # Confluent's sinks: topic+partition+start(+end)
    re.compile(r"^(?P<topic>.+?)\+(?P<partition>\d+)\+(?P<start>\d+)(?:\+\d+)?" + _EXTENSIONS),
    # Aiven's sinks: topic-partition-start
    re.compile(r"^(?P<topic>.+)-(?P<partition>\d+)-(?P<start>\d+)" + _EXTENSIONS),
    # esque writes partition_3, kafka_exporter_importer topic_partition_3
    re.compile(r"^(?:(?P<topic>.+)_)?partition_(?P<partition>\d+)" + _EXTENSIONS),
    # DenktMit and many others: topic-partition
    re.compile(r"^(?P<topic>.+)-(?P<partition>\d+)" + _EXTENSIONS),
]
_LENSES = re.compile(r"^(?P<end>\d+)_\d+_\d+" + _EXTENSIONS)
_LARGEST_PARTITION = 2**31 - 1


@dataclass(frozen=True)
class NameFacts:
    """What a path says about the records in it; None: nothing."""

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
    for pattern in _FILE_PATTERNS:
        match = pattern.match(name)
        if match and int(match["partition"]) <= _LARGEST_PARTITION:
            found = match.groupdict()
            start = found.get("start")
            return NameFacts(
                found["topic"] or from_folders.topic,
                int(found["partition"]),
                int(start) if start is not None else None,
            )
    if _LENSES.match(name) and folders and folders[-1].isdigit():
        # Lenses: topic/partition/lastOffset_earliest_latest: its last offset orders files as well.
        topic = folders[-2] if len(folders) > 1 else None
        return NameFacts(topic, int(folders[-1]), None)
    return from_folders


def topic_of(path: str) -> str:
    """A topic's name where the records tell the partition, but not the topic.

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


def _folder_facts(folders: tuple[str, ...]) -> NameFacts:
    topic = partition = None
    for index, folder in enumerate(folders):
        if folder.startswith("topic="):
            topic = folder.removeprefix("topic=")
        number = folder.removeprefix("partition=")
        if number != folder and number.isdigit():
            partition = int(number)
            if topic is None and index and "=" not in folders[index - 1]:
                topic = folders[index - 1]
    return NameFacts(topic, partition)
