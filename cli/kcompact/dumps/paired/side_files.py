"""Keys, values and headers in files of their own, as Confluent's sinks write them: row i with row i."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path, PurePath
from typing import BinaryIO

from kcompact.dumps.avro.avro_container import MAGIC, read_header
from kcompact.dumps.dialects.dialect import Dialect, fields
from kcompact.dumps.files.containers import unpack
from kcompact.dumps.files.stored import folder_of, stored_beside
from kcompact.dumps.json.json_text import reads_as_json
from kcompact.dumps.paired.side_rows import Row, SidePart, bad_row, headers_in, rows_of
from kcompact.dumps.parquet.parquet_file import MAGIC as PARQUET_MAGIC
from kcompact.dumps.records.headers import decode_headers
from kcompact.dumps.records.indexing import Entry
from kcompact.dumps.records.layout import Chosen, DumpFile, SplitNotes, SplitToIndex, UnreadableError
from kcompact.dumps.records.layout_interface import Layout, asked_for
from kcompact.dumps.records.record import Record
from kcompact.dumps.records.structured import headers_of
from kcompact.errors import InputError, OutputError
from kcompact.storage.object_stores import is_address

CONFLUENT = Dialect(
    name="confluent",
    tool="Confluent's S3, GCS or HDFS sink with store.kafka.keys",
    layouts=("side_files",),
    **fields("topic= partition= offset= timestamp= headers="),
    byte_exact=True,
    notes=("offsets are counted on from the one in the file's name, so gaps do not show",),
)
_SIDE = re.compile(r"^(?P<stem>.+)\.(?P<role>keys|headers)\.[^/]+$")
_CONFLUENT_NAME = re.compile(r"^(?P<stem>.+\+\d+\+\d+(?:\+\d+)?)\.[^/]+$")
ROLES = ("value", "keys", "headers")


@dataclass(frozen=True)
class SideShape:
    """The files that belong together, by role: "keys", and mostly "value", perhaps "headers"."""

    parts: dict[str, SidePart]
    splittable: bool = False

    @property
    def paths(self) -> tuple[str, ...]:
        """As the user named them."""
        return tuple(part.path for part in self.parts.values())


def grouped(paths: list[str]) -> list[dict[str, str]]:
    """Files by role ("value", "keys", "headers"), those that belong together in one dict.

    The keys and headers of a file with a Confluent name are found beside it, named or not. Where there are no
    keys, files are alone as "value".
    """
    groups: dict[str, dict[str, str]] = {}
    for path in paths:
        role, stem = _role_of(path)
        groups.setdefault(stem, {})[role] = path
    beside: dict[str, dict[str, dict[str, str]]] = {}
    for stem, group in groups.items():
        if _CONFLUENT_NAME.match(PurePath(group.get("value", "")).name):
            folder = folder_of(stem)
            if folder not in beside:
                beside[folder] = _side_files_in(folder)
            groups[stem] = beside[folder].get(stem, {}) | group
    return [part for group in groups.values() for part in _apart(group)]


def _side_files_in(folder: str) -> dict[str, dict[str, str]]:
    """Keys and headers in a folder: paths by what a group's names have in common, then by role."""
    groups: dict[str, dict[str, str]] = {}
    beside = stored_beside(folder) if is_address(folder) else sorted(map(str, Path(folder).iterdir()))
    for path in beside:
        role, stem = _role_of(path)
        if role != "value":
            groups.setdefault(stem, {})[role] = path
    return groups


def _role_of(path: str) -> tuple[str, str]:
    """The role that a name gives, and what the names of a group have in common."""
    folder, slash, name = path.rpartition("/")
    if side := _SIDE.match(name):
        return side["role"], f"{folder}{slash}{side['stem']}"
    named = _CONFLUENT_NAME.match(name)
    return "value", f"{folder}{slash}{named['stem']}" if named else path


def _apart(group: dict[str, str]) -> list[dict[str, str]]:
    return [group] if "keys" in group else [{"value": path} for path in group.values()]


def recognise_side_files(group: dict[str, str], spool: Path) -> SideShape:
    """Find out how each of the files is written. Raises InputError."""
    parts = {}
    for role in ROLES:
        if role in group:
            data_path, _ = unpack(group[role], spool)
            with Path(data_path).open("rb") as source:
                magic = source.read(len(MAGIC))
            if magic == PARQUET_MAGIC:
                raise InputError(
                    f"{group[role]}: Parquet, whose keys lie beside it in {group['keys']}: kcompact puts such"
                    " files together where they are JSON or Avro",
                    hint="have the connector write values and keys as Avro or JSON (format.class,"
                    " keys.format.class), or export the topic with its keys (kcat -J)",
                )
            header = read_header(group[role], data_path) if magic == MAGIC else None
            parts[role] = SidePart(group[role], data_path, header)
    return SideShape(parts)


def refuse_tombstones_apart(files: list[DumpFile]) -> None:
    """Raise InputError where tombstones and values of a log are in files of their own."""
    side = [file for file in files if isinstance(file.shape, SideShape)]
    values = {(file.topic, file.partition): file.path for file in side if "value" in file.shape.parts}
    for file in side:
        other = values.get((file.topic, file.partition))
        if other is not None and "value" not in file.shape.parts:
            raise InputError(
                f"{file.path} holds tombstones and {other} values, without offsets: which came later?",
                hint="export the topic with its offsets (kcat -J), or leave the tombstone folder out, knowing"
                " that deleted keys then stay",
            )


class SideFiles(Layout):
    """The layout of files side by side. They are converted when they are written: see ``copy``."""

    def plan(self, file: DumpFile, split_bytes: int) -> list[tuple[int, int]]:
        """One range: rows are numbered through all files."""
        del split_bytes
        return [(0, file.data_bytes)]

    def read(self, part: SplitToIndex, *, values: bool) -> Iterator[Entry]:
        """All records, zipped from the files; a position is the number of a row."""
        return asked_for(_zipped_records(part.file, part.notes, as_text=values), part)

    def decode_alone(self, chosen: Chosen, notes: SplitNotes) -> Iterator[Record]:
        """No record is read without those before it, which number it."""
        del notes
        raise NotImplementedError(chosen.file.path)

    def refusal(self, file: DumpFile, bad: UnreadableError) -> InputError:
        """The error, which names the one of the files."""
        del file
        return InputError(str(bad), hint=bad.hint)

    def copy(self, chosen: Chosen, out: BinaryIO) -> int:
        """Raise OutputError: one output file cannot hold what was in several; a writer can."""
        del out
        raise OutputError(f"{chosen.file.path}: keys and values lie in files of their own", hint=CONVERT_HINT)


CONVERT_HINT = "name an output that ends in .avro, .parquet, .jsonl or .csv with -o: it holds both together"


def _zipped_records(file: DumpFile, notes: SplitNotes, *, as_text: bool) -> Iterator[Entry]:
    """All records, zipped from the files. Raises UnreadableError."""
    parts: dict[str, SidePart] = file.shape.parts
    roles = list(parts)
    readers = [rows_of(part, as_text=as_text and role == "value") for role, part in parts.items()]
    for number, rows in enumerate(zip_longest(*readers)):
        if None in rows:
            raise bad_row(
                parts[roles[rows.index(None)]].path,
                f"ends after {number:,} rows, but {parts[roles[_longest(rows)]].path} goes on",
                "these files do not belong together, or one was cut: copy them again",
            )
        by_role: dict[str, Row] = dict(zip(roles, rows, strict=True))
        for role in ("record", "key", "value"):
            notes.see(role)
        if parts["keys"].header is None:
            _count_kinds(by_role["keys"], notes)
        yield number, sum(row.record_bytes for row in rows), _record(file, number, by_role)


def _count_kinds(key: Row, notes: SplitNotes) -> None:
    """Count keys that are JSON, and strings that would be that JSON but for their quotes."""
    if key.data is None:
        return
    if not isinstance(key.parsed, str):
        notes.count("json_keys")
    elif reads_as_json(key.data):
        notes.count("json_keys_in_quotes")


def _longest(rows: tuple[Row | None, ...]) -> int:
    return next(index for index, row in enumerate(rows) if row is not None)


def _record(file: DumpFile, number: int, rows: dict[str, Row]) -> Record:
    value = rows.get("value")
    return Record(
        topic=file.topic or "",
        partition=file.partition or 0,
        offset=(file.start_offset or 0) + number,
        timestamp_ms=-1,
        key=rows["keys"].data,
        value=None if value is None else value.data,
        headers=_headers(file, rows["headers"]) if "headers" in rows else (),
    )


def _headers(file: DumpFile, row: Row) -> tuple[tuple[str, bytes | None], ...]:
    part: SidePart = file.shape.parts["headers"]
    try:
        return headers_of(row.parsed) if part.header else decode_headers(headers_in(row))
    except (ValueError, TypeError, AttributeError) as error:
        text = str(error) if isinstance(error, UnreadableError) else f"headers cannot be read: {error}"
        raise bad_row(part.path, text, "export them again; without this file all headers are lost") from error
