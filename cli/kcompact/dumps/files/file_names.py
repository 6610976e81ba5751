"""Finds topic, partition, start offset, format and container in the names of files and folders."""

import re
from dataclasses import dataclass
from pathlib import PurePath

from kcompact.digits import INT_MAX, LONG_MAX, whole_number
from kcompact.dumps.files.containers import CONTAINER_SUFFIXES, container_of
from kcompact.dumps.files.sources import STDIN

DATA_SUFFIXES = {".json", ".jsonl", ".ndjson", ".avro", ".parquet", ".csv", ".tsv", ".txt", ".log", ".dump"}
_EXTENSIONS = r"(?P<words>(?:\.[A-Za-z][A-Za-z0-9_]*)*)$"  # .json.gz, .snappy.avro
_OF_FORMAT = {
    *DATA_SUFFIXES,
    *CONTAINER_SUFFIXES,
    *(".compacted", ".snappy", ".gzip", ".zstd", ".deflate", ".tar", ".bin", ".dat", ".data", ".out"),
    *(".ndj", ".jsonlines", ".jsons", ".psv", ".tab", ".xml", ".kafka", ".kcat", ".part", ".tmp"),
}
"""Words of a file's name that are hardly a part of a topic's."""
# Confluent's sinks: topic+partition+start(+end)
_SINK = re.compile(r"^(?P<topic>.+?)\+(?P<partition>[0-9]+)\+(?P<start>[0-9]+)(?:\+[0-9]+)?" + _EXTENSIONS)
_NAMED = [
    # Aiven's sinks: topic-partition-start
    re.compile(r"^(?P<topic>.+)-(?P<partition>[0-9]+)-(?P<start>[0-9]+)" + _EXTENSIONS),
    # esque writes partition_3, kafka_exporter_importer topic_partition_3
    re.compile(r"^(?:(?P<topic>.+)_)?partition[-_](?P<partition>[0-9]+)" + _EXTENSIONS),
    # DenktMit and many others: topic-partition; not a year, a time or an offset of 20 digits
    re.compile(r"^(?P<topic>.+)-(?!(?:19|20)[0-9]{2}\b)(?P<partition>[0-9]{1,8}|0[0-9]{9})" + _EXTENSIONS),
]
_SHARD = re.compile(r"[-_.]?[0-9]+-of-[0-9]+$")  # of one table: Beam's out-00000-of-00002.jsonl
_PART_OF_FOLDER = re.compile(r"^part-\d+.*" + _EXTENSIONS)  # Hadoop's and Spark's tasks number them
_PARTITION_OF_FOLDER = re.compile(r"^partition[-_](?:\d+|any)" + _EXTENSIONS)
_DATE_TEXT = (  # 2024-01-31, 20240131, 2024-01, with a time of day or without
    r"(?:19|20)[0-9]{2}(?P<sign>[-_.]?)(?:0[1-9]|1[0-2])"
    r"(?:(?P=sign)(?:0[1-9]|[12][0-9]|3[01])(?:[-_.T]?[0-9]{2}[-_.:]?[0-9]{2}(?:[-_.:]?[0-9]{2})?Z?)?)?"
)
_DATE = re.compile(rf"[-_.]?{_DATE_TEXT}$")
_IN_FRONT = re.compile(rf"^(?:{_DATE_TEXT}[-_.]|copy of )", re.IGNORECASE)
_A_DATE = re.compile(rf"(?<![0-9]){_DATE_TEXT}(?![0-9])")
_COUNTER = re.compile(  # by which files of one name are told apart: "orders (1)", orders.part2
    r"(?:[-_. ]?\([0-9]+\)|[-_. ]+(?:part|chunk|w|q|p|partition)?[-_=]?[0-9]+|~"
    r"|[-_.](?:19|20)[0-9]{2}-?(?:w|q)[0-9]{1,2}|[-_.]a[a-z]|(?<=^x)(?:[a-z]{2}|[0-9]{2,})"  # by split, too
    r"|(?<=[a-uw-z])[0-9]+|[-_. ]+(?:old|new|bak|backup|orig|copy))$",
    re.IGNORECASE,
)
_TIME_FOLDER = re.compile(
    r"(?:year|month|day|hour|minute|date|time|dt|ds|hr|yyyy|mm|dd|hh)=.*|(?:19|20)?[0-9]{2}", re.IGNORECASE
)
# Names in a folder topic/partition: Lenses' are lastOffset_earliest_latest, quixstreams' the first offset.
_LENSES = re.compile(r"^(?P<end>[0-9]+)_\d+_\d+" + _EXTENSIONS)
_QUIX = re.compile(r"^(?P<start>0[0-9]{18})" + _EXTENSIONS)  # other numbers of 19 digits are times


@dataclass(frozen=True)
class NameFacts:
    """Facts about a file's records that its path gives; None where it does not.

    ``has_words``: words other than those of a format follow the number, so that the whole name may be the
    topic (``eu-1.orders.json``).
    """

    topic: str | None = None
    partition: int | None = None
    start_offset: int | None = None
    has_words: bool = False


def name_facts(path: str) -> NameFacts:
    """The facts in a file's name and folders: ``topics/orders/partition=0/orders+0+0000000000.json``.

    To be used only where records lack their partition, as names end in numbers for many reasons. Folders
    ``topic=`` and ``partition=`` take precedence over names.
    """
    folders, name = PurePath(path).parts[:-1], PurePath(path).name
    of_folders = _folder_facts(folders)
    topic = of_folders.topic or ""  # the topic's own name may end in a number
    of_name = _facts_of_name(name.replace(topic, "t", 1) if topic and name.startswith(f"{topic}-") else name)
    if of_name.partition is None:
        of_name = _in_partition(folders, name)
    if of_name.partition is None:
        return of_folders
    is_other = of_folders.partition not in {None, of_name.partition}
    return NameFacts(
        of_folders.topic or of_name.topic,
        of_folders.partition if is_other else of_name.partition,
        None if is_other else of_name.start_offset,
        of_name.has_words and of_folders.topic is None,
    )


def _facts_of_name(name: str) -> NameFacts:
    stem = _without_suffixes(name)
    is_doubtful = _PART_OF_FOLDER.match(name) or _SHARD.search(stem) or _A_DATE.search(stem)
    for pattern in (_SINK,) if is_doubtful else (_SINK, *_NAMED):
        groups = match.groupdict() if (match := pattern.match(name)) else {}
        partition = _within(groups.get("partition"), INT_MAX)
        start = _within(groups.get("start", "0"), LONG_MAX >> 1)  # rows are counted on from there
        if partition is not None and start is not None:
            words = [] if pattern is _SINK else PurePath(f"x{groups['words'].lower()}").suffixes
            has_words = not _OF_FORMAT.issuperset(words)
            return NameFacts(groups["topic"], partition, start if "start" in groups else None, has_words)
    return NameFacts()


def _in_partition(folders: tuple[str, ...], name: str) -> NameFacts:
    """The facts of a file in a folder ``topic/partition``, if its name is one of Lenses or Quix Streams."""
    match = _LENSES.match(name) or _QUIX.match(name)
    partition = _within(folders[-1], INT_MAX) if match and len(folders) > 1 else None
    if match is None or partition is None:
        return NameFacts()
    return NameFacts(folders[-2], partition, _within(match.groupdict().get("start"), LONG_MAX >> 1))


def _within(text: str | None, largest: int) -> int | None:
    """The number, if it is one from 0 to ``largest``."""
    number = None if text is None else whole_number(text)
    return number if number is not None and 0 <= number <= largest else None


def topic_of(path: str) -> str:
    """The topic that a path names, for records that do not name it.

    It is in a folder ``topic=`` or a file's name ``topic+partition+offset``; else it is the file's name
    without extensions, or the folder's name for files that are named after partitions only.
    """
    if path == STDIN:
        return "stdin"
    name, folders = PurePath(path).name, PurePath(path).parts[:-1]
    from_folders = _folder_facts(folders).topic
    sink = _SINK.match(name)
    in_partition = _in_partition(folders, name).topic
    if from_folders or sink or in_partition:
        return from_folders or in_partition or str(sink and sink["topic"])
    if _PART_OF_FOLDER.match(name) or _PARTITION_OF_FOLDER.match(name):
        own = [folder for folder in folders if "=" not in folder and not is_of_time(folder) and folder != "/"]
        if own:
            return own[-1].removesuffix(".compacted")
    stem = _without_suffixes(name)
    return _SHARD.sub("", stem) or stem


def split_suffixes(name: str) -> tuple[str, str]:
    """``orders.v1.jsonl.gz`` into ``orders.v1`` and ``.jsonl.gz``."""
    path = PurePath(name)
    container = path.suffix if path.suffix.lower() in CONTAINER_SUFFIXES else ""
    stem = name.removesuffix(container)
    suffix = PurePath(stem).suffix
    if suffix.lower() not in DATA_SUFFIXES:
        # An unknown last suffix counts as one (".ndj"), unless a container's suffix follows it.
        suffix = "" if container else suffix
    return stem.removesuffix(suffix), suffix + container


def data_suffix(path: str) -> str:
    """The suffix for the format of a file's content, without that of a container, in small letters."""
    name = PurePath(path)
    return (PurePath(name.stem).suffix if container_of(name.name) else name.suffix).lower()


def _without_suffixes(name: str) -> str:
    """The name without suffixes of format and container; other dots may belong to the topic."""
    stem = name
    for suffixes in (CONTAINER_SUFFIXES.keys(), DATA_SUFFIXES, {".compacted"}):
        suffix = PurePath(stem).suffix
        if suffix.lower() in suffixes:
            stem = stem.removesuffix(suffix)
    return stem or name


def tells_topic(path: str) -> bool:
    """Whether a path names the topic for sure: by a folder ``topic=``, or by a name that only sinks give."""
    name, folders = PurePath(path).name, PurePath(path).parts[:-1]
    return bool(_folder_facts(folders).topic or _SINK.match(name) or _in_partition(folders, name).topic)


def tells_partition(path: str) -> bool:
    """Whether a path says the partition for sure; a number at the end of a name may count files as well."""
    name, folders = PurePath(path).name, PurePath(path).parts[:-1]
    own = _facts_of_name(name).start_offset is not None or _in_partition(folders, name).partition is not None
    return own or _folder_facts(folders).partition is not None


def without_counter(topic: str) -> str:
    """A topic taken from a file's name, without dates and numbers at its end, or a date in front."""
    shortened = _IN_FRONT.sub("", topic)
    while (shorter := _without_suffixes(_COUNTER.sub("", _DATE.sub("", shortened)))) != shortened:
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
