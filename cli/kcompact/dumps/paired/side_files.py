"""Keys, values and headers in separate files, as Confluent's sinks write them: rows i make one record."""

import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path, PurePath
from typing import Any, BinaryIO, NamedTuple

from kcompact.dumps.avro.avro_container import MAGIC, Header, blocks, map_file, read_header, unpack
from kcompact.dumps.avro.avro_layout import read_block
from kcompact.dumps.avro.avro_reader import Datum, RecordReader, read_datum, without_null
from kcompact.dumps.avro.avro_schema import WireSchema, is_bytes, is_integer, key_type, wire_schema
from kcompact.dumps.dialects.dialect import Dialect, fields
from kcompact.dumps.files import containers
from kcompact.dumps.files.stored import folder_of, stored_beside
from kcompact.dumps.json.json_text import ParsedJson, reads_as_json
from kcompact.dumps.parquet.parquet_file import MAGIC as PARQUET_MAGIC
from kcompact.dumps.records.headers import decode_headers
from kcompact.dumps.records.indexing import Entry
from kcompact.dumps.records.layout import Chosen, DumpFile, SplitNotes, SplitToIndex
from kcompact.dumps.records.layout_interface import Layout, asked_for
from kcompact.dumps.records.record import Record
from kcompact.dumps.records.structured import as_json, headers_of
from kcompact.dumps.text.lines import lines_of
from kcompact.errors import InputError, OutputError, UnreadableError
from kcompact.storage.object_stores import is_address


class Row(NamedTuple):
    """One row: its size in the file, its parsed content, and the bytes that this stands for (None: null)."""

    record_bytes: int
    parsed: Any
    data: bytes | None


_AGAIN_HINT = "export the file again: one missing row gives wrong keys to all that follow"
_BYTES_HINT = (
    "ByteArrayFormat does not say where a record ends, unless all are JSON: have the connector write JSON or"
    " Avro (format.class, keys.format.class), or export the topic with its keys (kcat -J)"
)


@dataclass(frozen=True)
class SidePart:
    """One of the files side by side; ``header`` is None for JSON lines."""

    path: str
    data_path: str  # absolute: workers run in folders of their own
    header: Header | None = None


def bad_row(path: str, reason: str, hint: str | None) -> UnreadableError:
    """The error for a row that cannot be read, which names its file."""
    return UnreadableError(f"{path}: {reason}", hint, position=0)


def _json_rows(part: SidePart) -> Iterator[Row]:
    file_bytes = Path(part.data_path).stat().st_size
    for number, line in enumerate(lines_of(part.data_path, 0, file_bytes), 1):
        if line.data.isspace():
            continue
        try:
            parsed = ParsedJson(line.data)
        except ValueError as error:
            hint = _BYTES_HINT if ".bin" in PurePath(part.path).suffixes else _AGAIN_HINT
            raise bad_row(part.path, f"line {number} is not JSON", hint) from error
        yield Row(len(line.data), parsed.value, _json_bytes(parsed))


def _json_bytes(parsed: ParsedJson) -> bytes | None:
    """The bytes for a JSON value: the text of a string, the exact spelling of anything else."""
    if parsed.value is None:
        return None
    return parsed.encoded(parsed.value) if isinstance(parsed.value, str) else parsed.data.strip()


def _avro_rows(part: SidePart, header: Header, *, as_text: bool) -> Iterator[Row]:
    """All rows in order. Structured Avro becomes JSON if ``as_text``, else the bytes of its datum."""
    wire, text = wire_schema(header.schema), wire_schema(header.schema, text=True)
    structured = text.parsed(without_null(text.type)) if as_text else None
    reader = RecordReader(wire, frozenset({()}))
    with map_file(part.data_path) as data:
        try:
            for block in blocks(data, header.sync, len(header.raw), len(data)):
                for datum in read_block(reader, unpack(data, block, header.codec), block):
                    value = datum.at(())
                    yield Row(datum.record_bytes, value, _avro_bytes(wire, value, datum, structured))
        except UnreadableError as bad:
            raise bad_row(part.path, f"byte {bad.position}: {bad}", bad.hint) from bad


def _avro_bytes(wire: WireSchema, value: Any, datum: Datum, structured: Any) -> bytes | None:
    if value is None:
        return None
    if is_bytes(wire, wire.type):
        return bytes(value)
    if is_integer(wire.type):
        return b"%d" % value
    raw = datum.raw[()]
    return as_json(read_datum(io.BytesIO(raw), structured, None)) if structured else raw


def headers_in(row: Row) -> Any:
    """The headers in a row of a headers file; in JSON, Connect wraps them in an object."""
    value = row.parsed
    if isinstance(value, list | dict) and row.data is not None:
        value = ParsedJson(row.data).with_spellings(value, ())
    return value.get("headers", value) if isinstance(value, dict) else value


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


def grouped(paths: list[str]) -> list[dict[str, str]]:
    """Paths by role ("value", "keys", "headers"), those of files that belong together in one dict.

    The keys and headers of a file with a Confluent name are looked for beside it, whether the user named them
    or not. Where there are no keys, each file is a group of its own, as "value".
    """
    groups: dict[str, dict[str, str]] = {}
    for path in paths:
        role, stem = _role_of(path)
        groups.setdefault(stem, {})[role] = path
    beside: dict[str, dict[str, dict[str, str]]] = {}
    for stem, group in groups.items():
        if group.get("value", stem) != stem:  # a Confluent name
            folder = folder_of(stem)
            if folder not in beside:
                beside[folder] = _side_files_in(folder)
            groups[stem] = beside[folder].get(stem, {}) | group
    return [
        part
        for group in groups.values()
        for part in ([group] if "keys" in group else [{"value": path} for path in group.values()])
    ]


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


def recognise_side_files(group: dict[str, str], spool: Path) -> SideShape:
    """Find out how each of the files is written. Raises InputError."""
    parts = {}
    for role in ROLES:
        if role in group:
            data_path, _ = containers.unpack(group[role], spool)
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
            parts[role] = SidePart(group[role], str(Path(data_path).absolute()), header)
    return SideShape(parts)


def refuse_tombstones_apart(files: list[DumpFile]) -> None:
    """Raise InputError where the tombstones of a log are in other files than its values."""
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
    """The layout of files side by side. Their records can only be converted, not copied: see ``copy``."""

    def plan(self, file: DumpFile, split_bytes: int) -> list[tuple[int, int]]:
        """One range, as a record is found by the number of its row in all files."""
        del split_bytes
        return [(0, file.data_bytes)]

    def read(self, part: SplitToIndex, *, values: bool) -> Iterator[Entry]:
        """All records, put together from the rows of all files; a position is the number of a row."""
        return asked_for(_zipped_records(part.file, part.notes, as_text=values), part)

    def refusal(self, file: DumpFile, bad: UnreadableError) -> InputError:
        """The error, which already names the file that it is about."""
        del file
        return InputError(str(bad), hint=bad.hint)

    def copy(self, chosen: Chosen, out: BinaryIO) -> int:
        """Raise OutputError: one file cannot take bytes from several files; only a writer can join them."""
        del out
        raise OutputError(f"{chosen.file.path}: keys and values are in separate files", hint=CONVERT_HINT)


CONVERT_HINT = "name an output that ends in .avro, .parquet, .jsonl or .csv with -o: it holds both together"


def _zipped_records(file: DumpFile, notes: SplitNotes, *, as_text: bool) -> Iterator[Entry]:
    """All records, put together from the rows of all files. Raises UnreadableError."""
    parts: dict[str, SidePart] = file.shape.parts
    roles = list(parts)
    readers = [
        _json_rows(part)
        if part.header is None
        else _avro_rows(part, part.header, as_text=as_text and role == "value")
        for role, part in parts.items()
    ]
    if (header := parts["keys"].header) is not None:
        notes.key_type = key_type(header.schema, lambda wire: wire.type)
    for number, rows in enumerate(zip_longest(*readers)):
        if None in rows:
            longest = next(part for part, row in zip(parts.values(), rows, strict=True) if row is not None)
            raise bad_row(
                parts[roles[rows.index(None)]].path,
                f"ends after {number:,} rows, but {longest.path} goes on",
                "these files do not belong together, or one was cut: copy them again",
            )
        by_role: dict[str, Row] = dict(zip(roles, rows, strict=True))
        for role in ("record", "key", "value"):
            notes.see(role)
        if parts["keys"].header is None:
            _count_kinds(by_role["keys"], notes)
        yield number, sum(row.record_bytes for row in rows), _record(file, number, by_role)


def _count_kinds(key: Row, notes: SplitNotes) -> None:
    """Count keys that are JSON but no strings, and strings that would be such JSON without their quotes."""
    if key.data is None:
        return
    if not isinstance(key.parsed, str):
        notes.count("json_keys")
    elif reads_as_json(key.data):
        notes.count("json_keys_in_quotes")


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
