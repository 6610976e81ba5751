"""Finds which of the JSON layouts a file has."""

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import orjson

from kcompact.dumps.detect.candidate import (
    HEAD_BYTES,
    Candidate,
    Recognised,
    after_noise,
    first_byte,
    first_line,
    lines_in,
)
from kcompact.dumps.detect.choosing import choose_dialect
from kcompact.dumps.detect.doubtful_samples import refuse_log_outside
from kcompact.dumps.detect.unknown_text import looks_like, unknown
from kcompact.dumps.json.json_layouts import array_texts
from kcompact.dumps.json.json_reader import why_not_json
from kcompact.dumps.json.json_scan import CLOSE, OPEN, end_of_first, items_of
from kcompact.dumps.json.json_text import ParsedJson, end_of_value
from kcompact.dumps.json.json_wrapper import LARGEST_BYTES, wrapper_shape
from kcompact.dumps.options import ReadOptions
from kcompact.dumps.records.framed import TOO_LARGE, TOO_LARGE_HINT, TextShape
from kcompact.dumps.records.record import LARGEST_RECORD_BYTES
from kcompact.dumps.text.delimited_text import glued, is_glued
from kcompact.dumps.text.lines import newline_of
from kcompact.errors import InputError, NoRecordsError, UnreadableError

SAMPLE_RECORDS = 200
_TAIL_BYTES = 1 << 16
_EMPTY_ARRAY = re.compile(rb"\s*\[\s*\]\s*")


def recognise_json(file: Candidate, options: ReadOptions) -> Recognised:
    """Recognise a file that begins with a brace or a bracket. Raises InputError."""
    if first_byte(file.body) == b"[":
        sample = _parsed(file, _elements(file))
        return _recognised(file, "json_array", _array_shape(file), sample, options)
    shape = TextShape(start=file.start, begin=file.head[: file.start], newline=newline_of(file.body))
    if _is_glued(file, options):
        raise glued(file.path)
    is_lines, records = _records_in(file)
    sample = _parsed(file, records)
    if isinstance(sample[0], dict) and "records" in sample[0] and file.data_bytes <= LARGEST_BYTES:
        wrapper = _wrapper(file)
        if wrapper is not None:
            event, sample = sample[0], _records_of(sample[0])
            if not sample:
                raise NoRecordsError(f"{file.path}: an event without records", hint="was the topic empty?")
            refuse_log_outside(file.path, event, sample, options)
            return _recognised(file, "json_wrapper", wrapper, sample, options)
    return _recognised(file, "json_lines" if is_lines else "json_objects", shape, sample, options)


def _wrapper(file: Candidate) -> TextShape | None:
    data = Path(file.data_path).read_bytes()
    try:
        return wrapper_shape(data, file.start)
    except UnreadableError as error:
        line = data.count(b"\n", 0, error.position) + 1
        raise InputError(f"{file.path}:{line}: {error}", hint=error.hint) from error


def _is_glued(file: Candidate, options: ReadOptions) -> bool:
    """Whether each line is a key and a value, both JSON, side by side, and not two records of one form."""
    lines = (line.rstrip(b"\r") for line in islice(_lines(file), _GLUED_LINES))
    line = next(lines, b"")
    if options.dialect is not None or not is_glued(line) or not all(map(is_glued, lines)):
        return False
    first = ParsedJson(line[: end_of_value(line)]).value
    second = ParsedJson(line[end_of_value(line) :]).value
    return not (isinstance(first, dict) and isinstance(second, dict) and first.keys() == second.keys())


_GLUED_LINES = 20


def _recognised(
    file: Candidate, layout: str, shape: TextShape, sample: list[Any], options: ReadOptions
) -> Recognised:
    is_plain = set(map(type, sample)) == {dict}
    if not is_plain:
        _refuse_grouped(file.path, sample)
    rows = sample if is_plain else [row for row in map(_as_row, sample) if row is not None]
    if not rows and sample and not options.key_fields:
        if looks_like(file.body) is not None:
            raise unknown(file.path, file.body, [])
        raise InputError(
            f"{file.path}: JSON, but its elements are no records of key and value",
            hint="a dump of bare values has no keys to compact on; export the keys too; records whose members"
            " have no names, arrays, are to be written as objects (ClickHouse: FORMAT JSONEachRow, pandas:"
            " orient='records')",
        )
    dialect = choose_dialect(file.path, layout, rows, options)
    splittable = shape.splittable and not dialect.in_order
    is_as_is = splittable == shape.splittable
    return Recognised(layout, dialect, shape if is_as_is else replace(shape, splittable=splittable))


def _refuse_grouped(path: str, sample: list[Any]) -> None:
    """Raise InputError for records that lie in lists within a list, as jq's group_by and batches leave them.

    A list of two records would be taken for a key and its value.
    """
    lists = [item for item in sample if isinstance(item, list)]
    if not any(lists) or not all(isinstance(item, dict) for items in lists for item in items):
        return
    are_pairs = all(len(items) == _PAIR for items in lists)
    if not are_pairs or (lists and all(first.keys() == second.keys() for first, second in lists)):
        raise InputError(
            f"{path}: the records lie in lists within a list",
            hint="take them out first, one record a line",
        )


_PAIR = len(("key", "value"))


def _as_row(value: Any) -> dict[str, Any] | None:
    """A sampled record as fields by name; a pair by its indexes, unless its first item may be an offset."""
    match value:
        case [int() | float(), _]:
            return None
        case [key, paired]:
            return {"0": key, "1": paired}
        case dict():
            return value
    return None


def _records_in(file: Candidate) -> tuple[bool, Iterator[bytes]]:
    """Whether records are lines; and the first of them. Raises InputError."""
    start = file.start + after_noise(file.body)
    if not file.whole and b"\n" not in file.head[start:]:
        return _records_in_long_line(file, start)
    is_lines = _is_lines(file)
    return is_lines, _lines(file) if is_lines else _objects(file)


def _records_in_long_line(file: Candidate, start: int) -> tuple[bool, Iterator[bytes]]:
    """As ``_records_in``, where the head has no line end: one huge record, or many records side by side."""
    end = end_of_first(file.data_path, start, min(file.data_bytes, start + LARGEST_RECORD_BYTES))
    if end is None and file.data_bytes - start > LARGEST_RECORD_BYTES:
        raise InputError(f"{file.path}: byte {start}: {TOO_LARGE}", hint=TOO_LARGE_HINT)
    if end is None:
        return True, _lines(file)  # the record is cut off; the index pass reports it
    with Path(file.data_path).open("rb") as source:
        source.seek(start)
        first, following = source.read(end - start), source.read(2)
    if following.startswith((b"\n", b"\r\n")) or not following:
        return True, iter([first])
    return False, _objects(file)


def _is_lines(file: Candidate) -> bool:
    """Whether the first object ends where its line does."""
    line, following = first_line(file.body, after_noise(file.body))
    try:
        ParsedJson(line)
    except ValueError:
        # Not JSON at all, or does the object go on? If lines follow that are objects, the first is broken.
        return following >= 0 and _objects_in(file.body[following:])
    return True


def _objects_in(following: bytes) -> bool:
    line = following.lstrip(b"\r\n").partition(b"\n")[0].strip()
    return line.startswith(b'{"') and line.endswith(b"}")


def _lines(file: Candidate) -> Iterator[bytes]:
    lines = lines_in(file.body, whole=file.whole)
    return (line for line in lines if line and not line.isspace() and not line.startswith(b"%"))


def _objects(file: Candidate) -> Iterator[bytes]:
    start = file.start + after_noise(file.body)
    for item in items_of(file.data_path, start, file.data_bytes, commas=False):
        if item.opened == OPEN and item.closed == CLOSE:
            yield b"{" + item.data + b"}"
        if item.position > HEAD_BYTES:
            return


def _elements(file: Candidate) -> Iterator[bytes]:
    for item in items_of(file.data_path, file.start, file.data_bytes, commas=True):
        data = item.data.strip()
        if item.opened != CLOSE and item.closed is not None and data and data != b"null":
            yield data
        if item.position > HEAD_BYTES:
            return


def _records_of(wrapper: dict[str, Any]) -> list[Any]:
    records = wrapper["records"]
    lists = records.values() if isinstance(records, dict) else [records]
    return [record for items in lists for record in items][:SAMPLE_RECORDS]


def _parsed(file: Candidate, records: Iterator[bytes]) -> list[Any]:
    """The records of a sample that can be parsed; the index pass refuses the others, with their lines."""
    sampled = list(islice(records, SAMPLE_RECORDS))
    with suppress(orjson.JSONDecodeError):
        if sampled:
            return list(map(orjson.loads, sampled))  # ParsedJson is for what orjson refuses
    sample, refused = [], None
    for record in sampled:
        try:
            sample.append(ParsedJson(record).value)
        except ValueError as error:
            refused = refused or (record, error)
    if not sample and refused is not None:
        reason, hint = why_not_json(*refused)
        line = file.head.count(b"\n", 0, max(0, file.head.find(refused[0][:_TAIL_BYTES]))) + 1
        raise InputError(f"{file.path}:{line}: {reason}", hint=hint) from refused[1]
    if not sample and _EMPTY_ARRAY.fullmatch(file.body) and file.whole:
        raise NoRecordsError(f"{file.path}: a JSON array without records", hint="was the topic empty?")
    if not sample:
        raise InputError(
            f"{file.path}: begins like JSON, but has no whole record of JSON at its beginning",
            hint="is the file cut off, or empty, or is something printed between the records?",
        )
    return sample


def _array_shape(file: Candidate) -> TextShape:
    with Path(file.data_path).open("rb") as source:
        source.seek(max(0, file.data_bytes - _TAIL_BYTES))
        tail = source.read()
    begin, between, end = array_texts(file.head, tail, file.start)
    return TextShape(start=file.start, begin=begin, between=between, end=end)
