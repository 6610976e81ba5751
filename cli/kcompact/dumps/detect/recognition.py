"""Recognises a file from its first bytes: its layout and dialect, with notes on assumptions."""

import re
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from pathlib import PurePath
from typing import Any

from kcompact.dumps.avro.avro_container import MAGIC as AVRO_MAGIC
from kcompact.dumps.avro.avro_layout import recognise_avro
from kcompact.dumps.detect.candidate import (
    Candidate,
    Recognised,
    after_noise,
    candidate,
    first_byte,
    first_line,
    lines_in,
)
from kcompact.dumps.detect.csv_writers import is_own
from kcompact.dumps.detect.json_recognition import SAMPLE_RECORDS, recognise_json
from kcompact.dumps.detect.likely_encodings import likely_base64
from kcompact.dumps.detect.text_recognition import recognise_text
from kcompact.dumps.detect.unknown_text import looks_like
from kcompact.dumps.dialects.dialect import Dialect
from kcompact.dumps.dialects.dialect_table import BY_NAME
from kcompact.dumps.files.containers import container_in
from kcompact.dumps.files.file_names import split_suffixes
from kcompact.dumps.files.utf16 import is_of_wide_characters
from kcompact.dumps.json.json_text import ParsedJson
from kcompact.dumps.options import ReadOptions
from kcompact.dumps.parquet.parquet_file import MAGIC as PARQUET_MAGIC
from kcompact.dumps.parquet.parquet_layout import recognise_parquet
from kcompact.dumps.records.layout import DumpFile
from kcompact.dumps.text.between_records import refuse_telling_lines
from kcompact.dumps.text.delimited_text import begins_with_key
from kcompact.dumps.text.lines_around import end_of_records, note_on_end, note_on_start, start_of_records
from kcompact.dumps.writers.text_writers import COLUMNS
from kcompact.errors import InputError

_GLANCES_BYTES = (4 << 10, 16 << 10)  # the second where the first holds too few lines
_GLANCE_LINES = 8
_TOLD_AT_A_GLANCE = {"json_lines", "csv_lines"}
_SCHEMA_BYTES = 1 << 10  # within which kcompact's own Avro schema is named
_TAR, _TAR_OFFSET = b"ustar", 257
_SNAPPY_HINT = "unpack it first, or have the sink write gzip or zstd (file.compression.type)"
_REFUSED = {
    b"PARE": ("encrypted Parquet", "decrypt it first, or export as JSON lines, CSV or Avro"),
    b"KBAK": ("a kafka-backup archive", "restore it to a topic and export that"),
    b"SEQ": ("a Hadoop sequence file", "export as JSON lines, CSV or Avro"),
    b"ORC": ("ORC", "export as JSON lines, CSV or Avro"),
    b"PK\x03\x04": (
        "a ZIP archive",
        "unpack it first; of a spreadsheet, take the file that it was made of",
    ),
    b"\x82SNAPPY\0": ("a Snappy stream of Java", _SNAPPY_HINT),  # Aiven's cloud sinks
    b"\xff\x06\0\0sNaPpY": ("a Snappy stream", _SNAPPY_HINT),
    b"/V3\n": (
        "the metadata of a Karapace backup, version 3 (a folder whose records lie in .data files)",
        "restore it to a topic (karapace_schema_backup restore) and export that, for example with kcat -J",
    ),
    _TAR: ("a tar archive", "unpack it first"),
    b"SQLite format 3": ("an SQLite database", "export as JSON lines, CSV or Avro"),
}


def recognise(
    path: str, data_path: str, options: ReadOptions, neighbour: DumpFile | None = None
) -> Recognised:
    """Recognise the plain file at ``data_path``; messages name it ``path``. Raises InputError."""
    beside = None if neighbour is None else recognise_beside(path, data_path, options, neighbour)
    return beside or _recognised(candidate(path, data_path), options)


def recognise_beside(
    path: str, data_path: str, options: ReadOptions, neighbour: DumpFile
) -> Recognised | None:
    """Recognise a file by its first records alone, or return None where it needs the thorough look.

    A file whose first records are written like those of its ``neighbour`` in the dump is assumed to go on
    like it: a thorough look at each of ten thousand small files would take as long as reading them. Raises
    OSError.
    """
    if neighbour.layout not in _TOLD_AT_A_GLANCE:
        return None
    file = _beginning(path, data_path)
    if container_in(file.head) is not None or is_of_wide_characters(file.head):
        return None
    with suppress(InputError):  # the thorough look reports errors
        glance = _recognised(file, options)
        if _facts(glance) == _facts(neighbour):
            return replace(glance, data_bytes=glance.data_bytes or file.data_bytes)
    return None


def _beginning(path: str, data_path: str) -> Candidate:
    """A file with a short beginning, or a longer one where the short one holds too few lines."""
    few_bytes, more_bytes = _GLANCES_BYTES
    file = candidate(path, data_path, few_bytes)
    has_enough = file.whole or file.head.count(b"\n") >= _GLANCE_LINES
    return file if has_enough else candidate(path, data_path, more_bytes)


def _recognised(file: Candidate, options: ReadOptions) -> Recognised:
    path, data_path = file.path, file.data_path
    options = _for_converted(file, options)
    if file.head.startswith(AVRO_MAGIC):
        return recognise_avro(path, data_path, options)
    if file.head.startswith(PARQUET_MAGIC):
        return recognise_parquet(path, data_path, options)
    _refuse_other_formats(file)
    if file.is_blank:
        raise InputError(f"{path}: nothing but blanks", hint="was the export interrupted?")
    whole = file
    file, notes = _without_lines_of_tool(file)
    if file.is_blank:
        raise InputError(f"{path}: no records, only messages of a tool", hint=_NOTHING_HINT)
    if options.columns and _is_json_lines(file):
        options = replace(options, columns=())
        notes = (*notes, "--columns is not used: the lines are JSON objects, not columns of text")
    is_json = first_byte(file.body) in (b"{", b"[") and not _is_text(file, options)
    if is_json:
        refuse_telling_lines(path, file.head)
    recognised = recognise_json(file, options) if is_json else recognise_text(file, options)
    if is_json and options.delimiter is not None:
        notes = (*notes, "--delimiter is not used: the records are JSON, not columns of text")
    if not notes:
        return recognised
    begin = recognised.shape.begin  # an output begins with it, but not with the tool's lines
    shape = replace(recognised.shape, begin=begin[: whole.start] + begin[file.start :])
    return replace(recognised, shape=shape, data_bytes=file.data_bytes, notes=(*recognised.notes, *notes))


def _without_lines_of_tool(file: Candidate) -> tuple[Candidate, tuple[str, ...]]:
    """The file from its first record to its last, and notes on a tool's lines before and after these."""
    data_bytes, lines = end_of_records(file.tail, file.data_bytes)
    notes = (note_on_end(file.tail, lines),) if lines else ()
    if lines:
        file = replace(file, data_bytes=data_bytes, head=file.head[:data_bytes])
    start, lines = start_of_records(file.body)
    if lines:
        file, notes = replace(file, start=file.start + start), (note_on_start(lines), *notes)
    return file, notes


def _refuse_other_formats(file: Candidate) -> None:
    """Raise InputError for a file that begins like a format that kcompact does not read."""
    if (container := container_in(file.head)) is not None:
        raise InputError(
            f"{file.path}: compressed twice ({container} inside)",
            hint="unpack it once: gzip -dc FILE > NEW, or what unpacks its outer format",
        )
    for magic, (format_name, hint) in _REFUSED.items():
        if file.head.startswith(magic, _TAR_OFFSET if magic == _TAR else 0):
            raise InputError(f"{file.path}: {format_name}, not a dump that kcompact reads", hint=hint)
    if any(
        file.path.endswith(suffix) and file.head.startswith(it) for suffix, it in _PACKED_BY_HADOOP.items()
    ):
        raise InputError(
            f"{file.path}: compressed by a codec of Hadoop, which kcompact does not read",
            hint="unpack it with Hadoop (hadoop fs -text FILE > NEW), or have Spark write it with another"
            " codec: .option('compression', 'gzip')",
        )
    _refuse_misnamed(file)
    if b"\0\0" in file.head[:_LOOKED_AT_BYTES]:
        raise InputError(f"{file.path}: binary, and in no format that kcompact reads", hint=_BINARY_HINT)


def _facts(file: Recognised | DumpFile) -> tuple[str, Dialect, Any]:
    return file.layout, file.dialect, file.shape


def _refuse_misnamed(file: Candidate) -> None:
    """Raise InputError for a file that is Avro or Parquet by its name, but not by its first bytes."""
    if not any(name in file.path.lower() for name in _NAMED):
        return
    _, suffixes = split_suffixes(PurePath(file.path).name)
    named = _NAMED.get(suffixes.lower().split(".")[1]) if suffixes else None
    if named is not None:
        raise InputError(
            f"{file.path}: by its name {named}, but it does not begin like one",
            hint="was the export cut, or damaged on its way? if it is of another format, rename it",
        )


_PACKED_BY_HADOOP = {".deflate": b"x\x9c", ".snappy": b"\0", ".lz4": b"\0"}
"""By suffix, how files begin that Spark and Hadoop have packed: a zlib header, or the length of a block."""
_NAMED = {"avro": "an Avro file", "parquet": "a Parquet file"}
_LOOKED_AT_BYTES = 64
_BINARY_HINT = (
    "export the topic as JSON lines (kcat -J), CSV or Avro; backups such as Karapace's .data files have to be"
    " restored to a topic first"
)


def _is_json_lines(file: Candidate) -> bool:
    """Whether each of the first lines is a JSON object."""
    if first_byte(file.body) != b"{":
        return False
    lines = [line for line in islice(lines_in(file.body, whole=file.whole), SAMPLE_RECORDS) if line.strip()]
    with suppress(ValueError):
        return bool(lines) and all(isinstance(ParsedJson(line).value, dict) for line in lines)
    return False


def _is_text(file: Candidate, options: ReadOptions) -> bool:
    """Whether a file that begins like JSON is text: the user names its columns, or its keys are JSON.

    It is text, too, if a name in brackets stands before each line, as kubectl logs --prefix writes it, or if
    keys are windowed keys of Kafka Streams, ``[key@start/end]``, or addresses of Java arrays, ``[B@1b6d``.
    """
    if options.columns or looks_like(file.body) is not None or _IN_BRACKETS.match(file.body):
        return True
    line, following = first_line(file.body, after_noise(file.body))
    return (following >= 0 or file.whole) and begins_with_key(line)


_IN_BRACKETS = re.compile(rb"\[(?:(?![\s\d.,eE+-]*\])[^][{}\"]+\] \{|[^\n\"]*@\d+/\d+\]|[A-Z]@[0-9a-f])")
_NOTHING_HINT = "did the tool time out, or was it stopped, before it read a record? export the topic again"


_CONVERTED_LINE = re.compile(
    rb'\{"topic":"[^"\\]*+(?:\\.[^"\\]*+)*+","partition":\d+,"offset":\d+,"timestamp":-?\d+,'
    rb'(?:"timestampType":"\w+",)?"key":'
)


_INTO_SCALARS = ("topic.", "partition.", "offset.", "timestamp.")
"""Beginnings of dotted paths that such a line cannot have, as its topic, partition, ... are no objects."""


def _is_converted(body: bytes) -> bool:
    """Whether kcompact wrote the first line. Lines of scripts may begin like it, but have other members."""
    if not _CONVERTED_LINE.match(body):
        return False
    with suppress(ValueError):  # a line that is cut off
        return {"value"} <= ParsedJson(first_line(body, 0)[0]).value.keys() <= {*COLUMNS}
    return True


def _is_base64(file: Candidate) -> bool:
    """Whether keys and values of most lines are base64, and no line declares it, as kcompact's lines do."""
    texts: list[str] = []
    for line in islice(lines_in(file.body, whole=file.whole), SAMPLE_RECORDS):
        with suppress(ValueError):
            record = ParsedJson(line).value
            if {"key_encoding", "value_encoding"} & record.keys():
                return False
            texts += [text for role in ("key", "value") if isinstance(text := record.get(role), str) and text]
    encoded = [text for text in texts if likely_base64([text], 0)]
    return 2 * len(encoded) > len(texts) and likely_base64(encoded)


def _for_converted(file: Candidate, options: ReadOptions) -> ReadOptions:
    """The options, without those that describe another tool's output if kcompact wrote this file.

    ``verify`` is given one set of options for two dumps, a tool's and the one that kcompact converted it to.
    """
    header, *lines = (line.removesuffix(b"\r") for line in file.body.split(b"\n", 2)[:2])
    is_avro = b'"name":"KafkaRecord","namespace":"kcompact"' in file.head[:_SCHEMA_BYTES]
    if is_avro or is_own(header, list(filter(None, lines))):
        return options.for_converted
    if is_own(header, []):  # pandas or others have written it anew
        tombstone = options.tombstone
        if options.may_be_converted and (tombstone or "").startswith("literal:"):
            tombstone = f"missing,{tombstone}"  # kcompact leaves null cells empty, whatever BEFORE has
        fields = options.for_converted.fields
        return replace(options, tombstone=tombstone, dialect=None, columns=(), delimiter=None, fields=fields)
    if not _is_converted(file.body):
        return options
    dialect = BY_NAME.get(options.dialect or "")  # None for dialects of Avro and Parquet
    places = dialect.places.values() if dialect else ()
    named = [place for place in (*options.fields.values(), *places) if place]
    names = {place if place.startswith(_INTO_SCALARS) else place.partition(".")[0] for place in named}
    names_dialect = options.dialect is not None and options.may_be_converted
    if options.columns or names - set(COLUMNS) or (names_dialect and not _is_base64(file)):
        fields = options.for_converted.fields
        return replace(options, dialect=None, columns=(), delimiter=None, fields=fields)
    return options
