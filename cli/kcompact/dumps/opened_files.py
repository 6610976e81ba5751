"""Opens one file of a dump, or files of keys and values side by side: recognises it and names its log.

Files that tasks fetch themselves, such as objects of a store, are also cut. Of a large object only the
beginning, the end and the bytes around its cuts are fetched, where these suffice to recognise and cut it.
"""

import os
from codecs import BOM_UTF8
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, cast

from kcompact.dumps.avro.avro_container import MAGIC as AVRO_MAGIC
from kcompact.dumps.avro.avro_container import holds_a_block
from kcompact.dumps.detect.candidate import HEAD_BYTES, Recognised, after_noise
from kcompact.dumps.detect.recognition import recognise, recognise_beside
from kcompact.dumps.files.at_hand import spool_folder
from kcompact.dumps.files.containers import container_in, container_of, is_plain_path, unpack
from kcompact.dumps.files.file_names import NameFacts, name_facts, topic_of
from kcompact.dumps.files.origin import Origin, bring, place_in
from kcompact.dumps.files.utf16 import MARKS, NOTE, as_utf8, commands_in_utf8
from kcompact.dumps.json.json_text import ParsedJson
from kcompact.dumps.layouts import LAYOUTS
from kcompact.dumps.options import ReadOptions
from kcompact.dumps.paired.side_files import CONFLUENT, recognise_side_files
from kcompact.dumps.parquet.parquet_file import MAGIC as PARQUET_MAGIC
from kcompact.dumps.parquet.parquet_layout import recognise_parquet
from kcompact.dumps.records.layout import DumpFile
from kcompact.dumps.text.lines_around import TAIL_BYTES
from kcompact.errors import InputError, NoRecordsError
from kcompact.storage.object_reading import StoredReader, open_object
from kcompact.storage.object_stores import is_address

TOPIC_BY_NAME = "no topic in the records; by its name: "
_GRAIN_BYTES = 16 << 20  # distance between the places where an object of a store may be cut
_BROUGHT_WHOLE_BYTES = 2 << 20  # objects up to this size: another request would take longer than all bytes

Ranges = list[tuple[int, int]]


def opened_apart(file_id: int, group: dict[str, str], options: ReadOptions) -> DumpFile:
    """Open a file in a task: cut at the beginnings of records, and with no copy left on this machine."""
    with spool_folder() as spool:
        if list(group) == ["value"] and is_address(group["value"]):
            return _opened_object(file_id, group["value"], options, spool)
        stamps = bring(group.values(), spool)
        file = open_group(file_id, group, options, spool)
        ranges = LAYOUTS[file.layout].plan(file, _GRAIN_BYTES)
    if _is_plain(file) and not any(map(is_address, group.values())):
        return file  # on a disk that all workers see
    origin = Origin(tuple(stamps.items()), tuple(ranges), _is_plain(file))
    return replace(file, data_path=file.path, origin=origin)


def _opened_object(file_id: int, path: str, options: ReadOptions, spool: Path) -> DumpFile:
    place = place_in(spool, path)
    with open_object(path) as source:
        size = source.stamp.size
        comes_whole = size <= _BROUGHT_WHOLE_BYTES or container_of(path) is not None
        head_bytes = size if comes_whole else HEAD_BYTES
        source.bring(place, (0, head_bytes))
        opened = _opened_by_ends(file_id, path, options, spool, source) if head_bytes < size else None
        if opened is None:
            source.bring(place, (head_bytes, size))
            file = _open_file(file_id, path, options, spool)
            opened = file, LAYOUTS[file.layout].plan(file, _GRAIN_BYTES)
    file, ranges = opened
    origin = Origin(((path, source.stamp),), tuple(ranges), _is_plain(file))
    return replace(file, data_path=path, origin=origin)


def _opened_by_ends(
    file_id: int, path: str, options: ReadOptions, spool: Path, source: StoredReader
) -> tuple[DumpFile, Ranges] | None:
    """Open a large object by its head, which is fetched already, and its tail; with the ranges to cut it in.

    None: all of it has to be fetched.
    """
    with place_in(spool, path).open("rb") as content:
        head = content.read(HEAD_BYTES)
    if not _tells_all(head):
        return None
    if not head.startswith(AVRO_MAGIC):
        source.bring(place_in(spool, path), (source.stamp.size - TAIL_BYTES, source.stamp.size))
    if head.startswith(PARQUET_MAGIC):  # its table of contents and its first values suffice
        data = cast(BinaryIO, source)
        recognised = replace(recognise_parquet(path, data, options), data_bytes=source.stamp.size)
        file = _file_of(file_id, path, path, recognised, options)
        return file, LAYOUTS["parquet"].cut(file, data, _GRAIN_BYTES) or []
    with suppress(InputError):  # an error is reported once the whole object is opened
        file = _open_file(file_id, path, options, spool)
        ranges = LAYOUTS[file.layout].cut(file, cast(BinaryIO, source), _GRAIN_BYTES)
        return None if ranges is None else (file, ranges)
    return None


def _tells_all(head: bytes) -> bool:
    """Whether a file can be recognised by its head and its tail, without the bytes between."""
    if head.startswith(PARQUET_MAGIC):
        return True
    if head.startswith(tuple(MARKS)) or container_in(head) is not None:
        return False
    if head.startswith(AVRO_MAGIC):
        return holds_a_block(head)
    body = head.removeprefix(BOM_UTF8)
    line, newline, _ = body[after_noise(body) :].partition(b"\n")
    if not newline or not line.startswith((b"[", b"{")):
        return bool(newline)
    with suppress(ValueError):
        return isinstance(ParsedJson(line).value, dict)
    return False


def _is_plain(file: DumpFile) -> bool:
    return file.container is None and NOTE not in file.notes


def open_group(
    file_id: int,
    group: dict[str, str],
    options: ReadOptions,
    spool: Path,
    neighbour: DumpFile | None = None,
) -> DumpFile:
    """Open a file, or files of keys and values side by side; ``neighbour`` as in ``recognise_beside``.

    Raises InputError.
    """
    if "keys" not in group:
        return _open_file(file_id, group["value"], options, spool, neighbour)
    if options.cdc is not None or options.key_fields:
        raise InputError(
            f"{group['keys']}: --cdc and --key-field are for records whose keys were not exported",
            hint="leave them out: these keys were exported, and are used; or leave out the files of keys",
        )
    shape = recognise_side_files(group, spool)
    first = next(iter(shape.parts.values()))
    data_bytes = sum(Path(part.data_path).stat().st_size for part in shape.parts.values())
    recognised = Recognised("side_files", CONFLUENT, shape, data_bytes=data_bytes)
    file = _file_of(file_id, first.path, first.data_path, recognised, options)
    return replace(file, container=container_of(first.path))


def _open_file(
    file_id: int, path: str, options: ReadOptions, spool: Path, neighbour: DumpFile | None = None
) -> DumpFile:
    try:
        if neighbour is not None and is_plain_path(path):
            beside = recognise_beside(path, path, options, neighbour)
            if beside is not None:
                return _file_of(file_id, path, _absolute(path), beside, options)
        data_path, container = unpack(path, spool)
        if not (size := os.stat(data_path).st_size):  # noqa: PTH116  for every file of ten thousand
            raise NoRecordsError(
                f"{path}: the file is empty",
                hint="was the export interrupted? where there was nothing to export, no file need be given,"
                " nor an output of kcompact that is empty",
            )
        utf8_path = as_utf8(path, data_path, spool)
        if utf8_path is not None:
            data_path, size = utf8_path, Path(utf8_path).stat().st_size
        with commands_in_utf8(utf8_path):
            recognised = recognise(path, data_path, options, neighbour)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error
    if recognised.data_bytes is None or utf8_path:
        notes = recognised.notes + ((NOTE,) if utf8_path else ())
        recognised = replace(recognised, data_bytes=recognised.data_bytes or size, notes=notes)
    file = _file_of(file_id, path, _absolute(data_path), recognised, options)
    return replace(file, container=container) if container else file


def _absolute(path: str) -> str:
    """The absolute path, as workers have other working folders."""
    return path if path.startswith("/") else str(Path(path).absolute())


def _file_of(
    file_id: int, path: str, data_path: str, recognised: Recognised, options: ReadOptions
) -> DumpFile:
    """The file as recognised. Where no record has topic, partition or offset, its name gives them (noted)."""
    dialect, notes = recognised.dialect, [*recognised.dialect.notes, *recognised.notes]
    facts = name_facts(path) if dialect.partition is None else NameFacts()
    topic, partition, start = recognised.topic, recognised.partition, None
    if dialect.topic is None and topic is None:
        topic = (None if facts.has_words else facts.topic) or topic_of(path)
        notes.append(f"{TOPIC_BY_NAME}{topic}")
    if topic is not None and topic.encode(errors="replace").decode() != topic:  # as in records
        raise InputError(
            f"{path}: no topic in the records, and the file name is not UTF-8",
            hint="rename the file, or put it below a folder that names its topic, such as topic=orders/",
        )
    if dialect.partition is None and partition is None:
        partition = facts.partition or 0
        reason = "taken as 0" if facts.partition is None else "taken from the file's path"
        notes.append(f"no partition in the records; {reason}")
    if dialect.offset is None:
        start = facts.start_offset
        notes.append("no offsets in the records; the order in the file counts")
        if start is not None:  # the notes on files of keys beside values, whose names have offsets, too
            notes += [note for note in CONFLUENT.notes if note not in notes]
    return DumpFile(
        file_id=file_id,
        path=path,
        data_path=data_path,
        data_bytes=recognised.data_bytes or 0,
        layout=recognised.layout,
        dialect=dialect,
        shape=recognised.shape,
        topic=topic,
        partition=partition,
        start_offset=start,
        notes=tuple(notes),
        topics=options.topics,
        partitions=options.partitions,
        left_out=options.left_out,
    )
