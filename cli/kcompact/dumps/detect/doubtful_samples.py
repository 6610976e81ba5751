"""Samples that can be read in several ways, or show that something is wrong: the user is asked.

A guess could lose keys, or take several for one, and nothing in the result would show it.
"""

from collections.abc import Collection
from dataclasses import replace
from itertools import chain

import orjson

from kcompact.counted import counted
from kcompact.dumps.detect.field_places import marker_names
from kcompact.dumps.detect.fitting import A_FEW, all_in, decodes, in_order
from kcompact.dumps.detect.likely_encodings import (
    doubtful_base64,
    is_in_threes,
    likely_base64,
    may_be_base64,
)
from kcompact.dumps.dialects.dialect import Dialect
from kcompact.dumps.dialects.part_names import ALIASES, fields_by_role, plain_name
from kcompact.dumps.dialects.paths import escaped, path_of
from kcompact.dumps.dialects.sampled_values import Row, texts_among, texts_of_headers, values_at
from kcompact.dumps.options import PLACES, ReadOptions
from kcompact.dumps.records.encodings import ENCODINGS
from kcompact.dumps.records.headers import is_struct
from kcompact.dumps.records.shown import fields_option, name_list, shown
from kcompact.errors import InputError


def refuse_misnamed(path: str, lacking: list[str], options: ReadOptions, field_names: frozenset[str]) -> None:
    """Raise InputError where no sampled record has a field that the user named for its place.

    Without that field, records would be numbered anew, or those of several partitions become one log.
    """
    for role in lacking:
        if options.fields.get(role):
            raise InputError(
                f"{path}: --fields {role}={options.fields[role]}: no such field in the first records (fields:"
                f" {name_list(sorted(field_names)) or 'none'})",
                hint="is it spelt like this? name the objects around it, too, as in metadata.offset",
            )


def refuse_missing_columns(path: str, options: ReadOptions) -> None:
    """Raise InputError where ``--fields`` names a column that is not among the columns of a text."""
    columns = name_list(list(options.columns))
    for role, name in options.fields.items():
        if name and name not in options.columns:
            raise InputError(
                f"{path}: --fields {role}={name}: no such column (columns: {columns})",
                hint="spell it like the column",
            )


def ask_for_base64(path: str, dialect: Dialect, sample: list[Row]) -> tuple[str, ...]:
    """Raise InputError where all keys look like base64, and nothing says whether they are.

    For CSV, whose tools leave the encoding to their users, return a note instead.
    """
    keys = list(texts_among(values_at(sample, dialect.key.place)))
    wanted = marker_names(dialect, "key")
    has_marker = any(plain_name(name) in wanted for row in sample for name in row)
    if has_marker or not likely_base64(keys):
        return ()
    likely = f"every key looks like base64, such as {shown(keys[0])}"
    likely += f" for {shown(ENCODINGS['base64'](keys[0].encode()))}"
    as_text = f"{as_written(dialect, sample)} takes keys as the text that they are"
    parts = _named_parts(dialect, sample)
    as_base64 = f"--dialect plain-base64{parts} reads keys, values and header values as base64"
    are_encoded = all_in("base64", sample, dialect.value.place)
    if dialect.layouts == ("csv_lines",):
        way_out = as_base64 if are_encoded else "decode it first if it is"
        return (f"{likely}, and is taken as text; {way_out}",)
    raise InputError(
        f"{path}: {likely}" + ("" if are_encoded else ", and not every value does"),
        hint=f"{as_base64}; {as_text}" if are_encoded else as_text,
    )


def ask_for_tool(path: str, dialect: Dialect, other: Dialect, sample: list[Row]) -> None:
    """Raise InputError where records may be text, or base64 as the tool of ``other`` writes it.

    Base64 of a multiple of three bytes has no padding, so nothing shows that it is base64. Where scripts may
    write the same fields as the tool, keys or values have to look like base64 by themselves.
    """
    if not (other.likely_base64 and all(in_order(other, row) for row in sample)):
        return
    parts = (other.key, other.value)
    by_part = [[*texts_among(values_at(sample, part.place))] for part in parts]
    texts = [text for of_part in by_part for text in of_part]
    is_open = (
        all(map(is_in_threes, texts))
        if other.sure
        else any(likely_base64(of_part, A_FEW) for of_part in by_part)
    )
    if texts and is_open and decodes(replace(other, likely_base64=False), sample):
        raise InputError(
            f"{path}: fields and their order are as written by {other.short_tool}, whose keys and values are"
            f" base64: nobody can tell whether {shown(texts[0])} is",
            hint=f"--dialect {other.name} reads them as base64, {as_written(dialect, sample)} as they are",
        )


def ask_for_headers(path: str, headers: str | None, sample: list[Row]) -> None:
    """Raise InputError where header values may be text or base64, such as ``test``."""
    items = chain.from_iterable(raw for raw in values_at(sample, headers) if isinstance(raw, list))
    texts = list(texts_among(item["Value"] for item in items if is_struct(item)))
    if doubtful_base64(texts, A_FEW):
        raise InputError(
            f"{path}: headers of Key and Value such as {shown(texts[0])}: text, or base64, as Go writes it?",
            hint="rename the members so that they say which: Key to key, and Value to value for text, or to"
            " value_base64 for base64",
        )


def note_on_headers(dialect: Dialect, sample: list[Row]) -> tuple[str, ...]:
    """A note where keys and values are text, and all header values look like base64.

    Jackson writes headers like this, and so does Spark where only key and value were cast to text.
    """
    texts = list(texts_of_headers(values_at(sample, dialect.headers)))
    marks = {dialect.key.marker, dialect.value.marker}
    if dialect.headers_encoding != "text" or any(not marks.isdisjoint(row) for row in sample):
        return ()
    if dialect.key.encoding != "text" or not may_be_base64(texts):
        return ()
    options = f"--dialect spark-json-text{_named_parts(dialect, sample)}"
    likely = f"headers' values look like base64, such as {shown(texts[0])}, and are taken as text"
    return (f"{likely}; {options} reads them as base64, and keys and values as text",)


def as_written(dialect: Dialect, sample: list[Row]) -> str:
    """The options that read keys and values as they stand: a tool's own, or of the plain envelope."""
    return (
        f"--dialect {dialect.name}"
        if dialect.text_timestamps
        else f"--dialect plain{_named_parts(dialect, sample)}"
    )


def _named_parts(dialect: Dialect, sample: list[Row]) -> str:
    """The option for parts that have other names than in the plain envelope; "" if none has."""
    renamed = {
        role: name
        for role, name in dialect.places.items()
        if name is not None and name != role and any(True for _ in values_at(sample, name))
    }
    return f" {fields_option(renamed)}" if renamed else ""


def refuse_log_outside(path: str, event: Row, sample: list[Row], options: ReadOptions) -> None:
    """Raise InputError where only the object around the records tells their topic or partition."""
    named, outside = fields_by_role({name for row in sample for name in row}), fields_by_role(event)
    lacking = [role for role in ("topic", "partition") if not named[role] and role not in options.fields]
    is_by_log = isinstance(event["records"], dict)
    if roles := [role for role in lacking if is_by_log or outside[role]]:
        raise InputError(
            f"{path}: the records do not tell their {' and '.join(roles)}, the object around them does",
            hint='write them into the records first, as lines of JSON: {"topic": ..., "partition": ..., ...}',
        )


def refuse_places_in_texts(path: str, dialect: Dialect, sample: list[Row], options: ReadOptions) -> None:
    """Raise InputError where JSON within a text tells topic, partition or offset, and no field does.

    Pathway writes metadata into CSV like this, and its rows are not in the order of offsets. If records were
    numbered by their order in the file, older ones would replace newer ones.
    """
    parts = dialect.places
    beside = {name for row in sample for name in row} - {
        path_of(place)[0] for place in parts.values() if place
    }
    names = {
        f"{escaped(name)}.{escaped(member)}"
        for row in sample
        for name in beside & row.keys()
        for member in _members(row[name])
    }
    named = fields_by_role(names)
    roles = [role for role in PLACES if parts[role] is None and role not in options.fields and named[role]]
    if roles:
        members = name_list([named[role][0] for role in roles])
        raise InputError(
            f"{path}: no field for {name_list(roles)}, but JSON within a text has {members}",
            hint="write these members into fields of their own first (Pathway: JSON lines have them as they"
            f" are), or --fields {','.join(f'{role}=' for role in roles)} if they tell of something else",
        )


def _members(text: object) -> Collection[str]:
    """The names in a text that is an object of JSON."""
    if not isinstance(text, str) or not text.startswith("{"):
        return ()
    try:
        parsed = orjson.loads(text)
    except orjson.JSONDecodeError:
        return ()
    return parsed.keys() if isinstance(parsed, dict) else ()


def refuse_two_kinds(path: str, dialect: Dialect, sample: list[Row], options: ReadOptions) -> None:
    """Raise InputError where some rows have their value under another name: they would become tombstones."""
    if not dialect.value.place or dialect.listed or "value" in options.fields:
        return
    head = path_of(dialect.value.place)[0]
    with_value = [row for row in sample if head in row]
    others = {name for row in with_value for name in row}
    for row in sample if with_value else ():
        if head in row:
            continue
        names = [name for name in row if plain_name(name) in ALIASES["value"] and name not in others]
        if names:
            raise InputError(
                f"{path}: records with {head}, and records with {names[0]} and no {head}: are they of two"
                " tools?",
                hint="put the records of each tool into a separate file",
            )


def note_on_short_keys(dialect: Dialect, sample: list[Row]) -> tuple[str, ...]:
    """A note where some keys are shorter than the sizes that a client gives for them, and others are not.

    Python's ``decode(errors="ignore")`` leaves out bytes that are no UTF-8. If all lengths differ, the cause
    is a deserializer of JSON or numbers, which loses nothing.
    """
    if dialect.key.encoding != "text" or not any(True for _ in values_at(sample, _KEY_SIZE)):
        return ()
    sized = [
        (key, int(size) - len(key.encode("utf-8", "surrogatepass")))
        for row in sample
        for key, size in zip(values_at([row], dialect.key.place), values_at([row], _KEY_SIZE), strict=False)
        if isinstance(key, str) and str(size).isdecimal() and not key.isdecimal()
    ]
    short = [key for key, missing in sized if missing > 0 and missing != _QUOTES]
    if not short or all(missing for _, missing in sized):
        return ()
    keys = f"{counted(len(short), 'key')} of the first records, such as {shown(short[0])}"
    may_be = "if they were decoded with errors='ignore', different keys look alike here"
    return (f"by their {_KEY_SIZE}, {keys}, lack bytes: {may_be}",)


_KEY_SIZE = "serialized_key_size"
_QUOTES = 2  # of a JSON string


def clock_of_tool(path: str, dialect: Dialect, sample: list[Row], options: ReadOptions) -> tuple[str, ...]:
    """A note where timestamps say when Kafka's verifiable consumer or producer wrote its lines.

    Raises InputError where lines on the tool's own work stand between those of records.
    """
    kind = next((kind for kind in _TOOLS for row in sample if row.get("name") == kind), None)
    records = [row for row in sample if kind and row.get("name") == kind]
    if not records or not records[0].keys() >= _TOLD:
        return ()
    tool, remedy = _TOOLS[str(kind)]
    if any("offset" not in row for row in sample):
        raise InputError(
            f"{path}: lines in which {tool} reports what it does, between its records", hint=remedy
        )
    is_else = dialect.timestamp != "timestamp" or "timestamp" in options.fields
    if is_else or len(records) < len(sample):
        return ()
    clock = f"timestamps are left out, as {tool} writes those of its own clock"
    return (f"{clock}; --fields timestamp=timestamp takes them for the records'",)


_PRODUCER_HINT = (
    "export the topic itself (kcat -J); or take out what the broker confirmed, if nothing else is in the"
    " topic: grep producer_send_success FILE > NEW"
)
_TOOLS = {
    "record_data": ("kafka-verifiable-consumer", "take the records out: grep record_data FILE > NEW"),
    "producer_send_success": ("kafka-verifiable-producer", _PRODUCER_HINT),
}
_TOLD = {"timestamp", "name", "topic", "partition", "offset", "key", "value"}
