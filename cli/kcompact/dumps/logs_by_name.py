"""Checks that files' names suffice to put records without topic, partition or offset into logs, in order."""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import PurePath

from kcompact.dumps.files.file_names import (
    is_of_time,
    name_facts,
    split_suffixes,
    tells_topic,
    topic_of,
    without_counter,
)
from kcompact.dumps.records.layout import DumpFile
from kcompact.errors import InputError

_NOT_OF_FIELDS = re.compile(r"(?:topic|partition)=.*|[^=]*")  # a sink's partitioner names others NAME=VALUE
_LIKE_A_PARTITION = re.compile(  # a folder, or a file without its suffix: 0, p0, kafka_partition=0, orders_p0
    r"(?:(?:.*[-_.])?(?:p|\w*partition\w*?)[-_=]?)?(?P<number>[0-9]+)", re.IGNORECASE
)
_COUNTED = re.compile(r"0[0-9]+|[0-9]{6,}")  # a name from a writer that numbers its files: 000001.json
_BY_TIME = (
    "no offsets in the records, and files of one log in folders by time: their order is the log's only where"
    " the sink put records there by its own clock, not by theirs"
)


def put_into_logs(files: Sequence[DumpFile]) -> list[DumpFile]:
    """The files, some with a note. Raises InputError where nobody can know a file's log, or its order."""
    _refuse_untold_topics(file for file in files if file.dialect.topic is None)
    counted = [file for file in files if file.dialect.offset is None]
    unplaced = [file for file in files if file.dialect.partition is None and not _is_told(file)]
    _refuse_partitions_like_offsets(unplaced)
    _refuse_untold_partitions(unplaced)
    _refuse_partitions_of_some(unplaced)
    _refuse_unordered(file for file in counted if file.start_offset is None)
    by_time = _refuse_interleaved(file for file in counted if file.start_offset is not None)
    return [
        replace(file, notes=(*file.notes, _BY_TIME)) if file.file_id in by_time else file for file in files
    ]


def _is_told(file: DumpFile) -> bool:
    """Whether kafka-dump-log says in the file of which log it is."""
    return file.layout == "dump_log" and file.topic != topic_of(file.path)


def _refuse_untold_topics(files: Iterable[DumpFile]) -> None:
    """Raise InputError where names of files leave open whether they are of one topic or of several.

    By the names of files alone, ``orders/dump.json`` and ``customers/dump.json`` would be one topic, whose
    keys supersede each other; ``orders-2024-01-01.json`` and ``orders-2024-01-02.json`` would be two.
    """
    by_stem: dict[str, list[DumpFile]] = defaultdict(list)
    for file in files:
        if not _is_told(file) and not tells_topic(file.path):
            by_stem[without_counter(str(file.topic))].append(file)
    for alike in by_stem.values():
        first = alike[0]
        for file in alike[1:]:
            differing = _differing(first.path, file.path)
            words = {folder.rstrip("0123456789") for folder in differing}
            if len(words) == 1 and all(map(_LIKE_A_PARTITION.fullmatch, differing)):
                differing = []  # partitions, most likely, of which the next check asks
            if file.topic != first.topic or (differing and not is_of_time(*differing)):
                raise InputError(
                    f"{first.path} and {file.path}: no topic in the records, and by their names they may be"
                    " of one or of two",
                    hint="say so by folders: files of one topic go below a folder called after it, such as"
                    " topic=NAME/ (and those of a partition below partition=0/ in there)",
                )


def _refuse_untold_partitions(files: Iterable[DumpFile]) -> None:
    """Raise InputError where files of one log, by their names, may be of several partitions."""
    by_topic: dict[str | None, DumpFile] = {}
    for file in files:
        names = _like_partitions(file.path)
        if not names or name_facts(file.path).partition is not None:
            continue
        first = by_topic.setdefault(file.topic, file)
        others = _like_partitions(first.path)
        new_names = [name for name in names if name not in others]
        first_names = [name for name in others if name not in names]
        # Folders such as 10 and 11 are times only if a longer name in the path, such as 2024, is one.
        has_time = any(len(folder) > len("10") and is_of_time(folder) for folder in PurePath(file.path).parts)
        if new_names and first_names and not (has_time and is_of_time(*new_names, *first_names)):
            number = _LIKE_A_PARTITION.sub(r"\g<number>", first_names[-1])
            raise InputError(
                f"{first.path} and {file.path}: no partition in the records; are {first_names[-1]} and"
                f" {new_names[-1]} partitions?",
                hint=f"if they are, put the files below folders partition={number}/ and so on; else"
                " join them (cat)",
            )


def _like_partitions(path: str) -> list[str]:
    """The names in a path that may be those of partitions."""
    folders, (stem, _) = PurePath(path).parts[:-1], split_suffixes(PurePath(path).name)
    names = [*folders, stem] if not _COUNTED.fullmatch(stem) else folders
    return [name for name in names if _LIKE_A_PARTITION.fullmatch(name) and not name.startswith("partition=")]


def _refuse_partitions_of_some(files: Iterable[DumpFile]) -> None:
    """Raise InputError where the names of some files of a topic say the partition, and others' do not."""
    by_topic: dict[str, DumpFile] = {}
    for file in files:
        facts = name_facts(file.path)
        first = by_topic.setdefault(file.topic or facts.topic or topic_of(file.path), file)
        if (facts.partition is None) != (name_facts(first.path).partition is None):
            named, unnamed = (first, file) if facts.partition is None else (file, first)
            name, folder = PurePath(unnamed.path).name, f"topic={file.topic}/" if file.topic else ""
            raise InputError(
                f"{unnamed.path}: no partition in the records or in its name; that of {named.path} has one",
                hint=f"put {name} below {folder}partition=0/, or the number that is right",
            )


def _refuse_partitions_like_offsets(files: Iterable[DumpFile]) -> None:
    """Raise InputError for ``orders-2-0`` and ``orders-2-1``: partitions 0 and 1, or offsets 0 and 1?"""
    by_place: dict[tuple[str, int], DumpFile] = {}
    for file in files:
        topic, partition, start = (facts := name_facts(file.path)).topic, facts.partition, facts.start_offset
        log = f"{topic}-{partition}"
        is_named_so = PurePath(file.path).name.startswith(f"{log}-{start}") and not tells_topic(file.path)
        if start is None or not is_named_so:
            continue
        by_place[log, start] = file
        near = by_place.get((log, start - 1)) or by_place.get((log, start + 1))
        if near is not None:
            raise InputError(
                f"{near.path} and {file.path}: are they partitions of {log}, or do they begin at offsets of"
                f" {topic}?",
                hint=f"say so by a folder: topic={log}/, or topic={topic}/",
            )


def _differing(path: str, other: str) -> list[str]:
    """The folders that are in one of two paths only, without those named ``partition=...``."""
    folders, others = PurePath(path).parts[:-1], PurePath(other).parts[:-1]
    return [
        folder
        for folder in (*folders, *others)
        if (folder not in folders or folder not in others) and not folder.startswith("partition=")
    ]


def _refuse_unordered(files: Iterable[DumpFile]) -> None:
    """Raise InputError for files of one log whose order nobody can know."""
    unordered: dict[tuple[str | None, int | None], DumpFile] = {}
    for file in files:
        log = file.topic, file.partition
        if log in unordered:
            raise InputError(
                f"{unordered[log].path} and {file.path}: no offsets in the records,"
                " so which file is the later one?",
                hint="export with offsets; only if you know which file was written first, join them (cat) in"
                " that order",
            )
        unordered[log] = file


def _refuse_interleaved(files: Iterable[DumpFile]) -> set[int]:
    """The ids of files whose logs lie in several folders by time.

    ``files`` have a start offset in their names, from which their records are counted. Raises InputError for
    files of one log that a sink wrote at the same time, into folders by a field: their offsets interleave,
    and a name tells only that of the first record (``TopicPartitionWriter`` of Confluent's sinks).
    """
    by_log: dict[tuple[str | None, int | None], list[DumpFile]] = defaultdict(list)
    for file in files:
        by_log[file.topic, file.partition].append(file)
    by_time: set[int] = set()
    for in_log in by_log.values():
        first, is_by_time = in_log[0], False
        for file in in_log[1:]:
            differing = _differing(first.path, file.path)
            if differing and is_of_time(*differing):
                is_by_time = True
            elif not all(map(_NOT_OF_FIELDS.fullmatch, differing)):
                raise InputError(
                    f"{first.path} and {file.path}: files of one log in folders by a field, which were"
                    " written at the same time, and no offsets in the records: their order is not known",
                    hint="have the connector add offsets: InsertField$Value with"
                    " offset.field=_kafka_offset; or export the topic with offsets (kcat -J)",
                )
        by_time.update(file.file_id for file in in_log if is_by_time)
    return by_time
