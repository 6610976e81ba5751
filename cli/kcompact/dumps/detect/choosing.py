"""Which dialect a sample of records is written in, with its places and encodings."""

import re
from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from itertools import chain
from typing import Any

from kcompact.dumps.detect.avro_json import refuse_avro_json
from kcompact.dumps.detect.byte_arrays import array_encodings
from kcompact.dumps.detect.doubtful_samples import (
    as_written,
    ask_for_base64,
    ask_for_headers,
    ask_for_tool,
    clock_of_tool,
    note_on_headers,
    note_on_short_keys,
    refuse_addresses,
    refuse_misnamed,
    refuse_two_kinds,
    refuse_wrapped,
)
from kcompact.dumps.detect.event_proposals import check_delete_flags, check_events
from kcompact.dumps.detect.field_places import (
    markers_by_name,
    places_by_name,
    refuse_absent_values,
)
from kcompact.dumps.detect.fitting import (
    FORMS_REMEMBERED,
    decodes,
    dialects_fitting,
    forms_of,
    header_values,
    names_in,
)
from kcompact.dumps.detect.likely_encodings import (
    PYTHON_BYTES,
    PYTHON_NONE,
    is_rounded_number,
    is_rounded_text,
    note_on_base64_columns,
    note_on_base64_values,
    notes_on_printed_bytes,
)
from kcompact.dumps.detect.sampled_values import Row, names_far_within, texts_among, values_at
from kcompact.dumps.dialects.dialect import JSON, ROLES, Dialect
from kcompact.dumps.dialects.dialect_table import BY_NAME
from kcompact.dumps.dialects.envelope import AVRO, PARQUET, guess_envelope
from kcompact.dumps.dialects.overrides import forced, with_dotted_names, with_options
from kcompact.dumps.dialects.part_names import refuse_likely_places, refuse_windows
from kcompact.dumps.dialects.unexported import is_size, refuse_other_spelling
from kcompact.dumps.json.late_members import late_names
from kcompact.dumps.null_texts import notes_on_null_keys, notes_on_null_values
from kcompact.dumps.options import PLACES, ReadOptions
from kcompact.dumps.records.shown import shown
from kcompact.errors import InputError


def choose_dialect(path: str, layout: str, sample: list[Row], options: ReadOptions) -> Dialect:
    """The dialect of a sample, with the user's options worked in. Raises InputError."""
    forms = forms_of(sample)
    field_names = names_in(forms) if layout != "csv_lines" else frozenset(chain.from_iterable(sample))
    options = with_dotted_names(options, field_names)
    fitting = dialects_fitting(layout, forms)
    if options.dialect is not None:
        dialect = forced(options.dialect)
    else:
        known = next((dialect for dialect in fitting if decodes(dialect, sample)), None)
        dialect = known or _guessed(path, layout, sample, field_names, options)
    if dialect.refused is not None:
        raise InputError(f"{path}: {dialect.tool}: {dialect.refused}", hint=dialect.hint)
    if options.dialect is None and not options.fields and any(nested for _, nested in forms):
        refuse_avro_json(path, dialect, sample)
    is_open = not dialect.sure and options.dialect is None
    notes = _ask_for_encodings(path, dialect, fitting if is_open else None, sample)
    if options.dialect is None:
        notes += _ask_for_rounded_keys(path, dialect, sample)
    if layout != "csv_lines" and options.tombstone is None:
        notes += notes_on_null_values(dialect, sample)
    notes += check_events(path, dialect, values_at(sample, dialect.value), options)
    if _may_mean_none(layout, dialect, sample):
        notes += _notes_on_empty_keys(field_names, options)
        doubts = dialect.doubtful_key | ({"empty"} if options.missing_key else set())
        dialect = _changed(dialect, (("doubtful_key", doubts),))
    dialect = with_options(dialect, options)
    if clock := clock_of_tool(path, dialect, sample, options):
        dialect, notes = _changed(dialect, (("timestamp", None),)), notes + clock
    if notes:
        dialect = _changed(dialect, (("notes", dialect.notes + notes),))
    dialect = _with_places(path, dialect, sample, field_names, options)
    encodings: dict[str, Any] = dict(_encodings(path, dialect, sample, options))
    of_arrays, notes = array_encodings(path, layout, dialect, sample, options)
    notes += notes_on_printed_bytes(dialect, encodings, sample)
    if options.dialect is None and encodings["value_encoding"] == "text":
        notes += note_on_base64_values(layout, dialect, sample)
    encodings |= of_arrays | ({"notes": dialect.notes + notes} if notes else {})
    late = late_names(layout, dialect, field_names, is_told_value="value" in options.fields)
    return _changed(dialect, (*encodings.items(), ("late_names", late)))


def notes_on_columns(path: str, dialect: Dialect, rows: list[Row], options: ReadOptions) -> tuple[str, ...]:
    """Notes on keys and values in columns of Avro and Parquet, those aside of bytes that may be null.

    Raises InputError where they are not the data.
    """
    for role in ("key", "value"):
        refuse_addresses(path, role, values_at(rows, getattr(dialect, role)))
    notes = notes_on_null_keys(dialect, rows)
    if options.dialect is None:
        notes += _ask_for_rounded_keys(path, dialect, rows)
    if options.tombstone is None:
        notes += notes_on_null_values(dialect, rows)
    if _may_mean_none(dialect.layouts[0], dialect, rows):
        notes += _notes_on_empty_keys([dialect.key_error or ""], options)
    _, of_arrays = array_encodings(path, dialect.layouts[0], dialect, rows, options)
    return notes + note_on_base64_columns(dialect, rows) + of_arrays


def _ask_for_encodings(
    path: str, dialect: Dialect, fitting: Iterable[Dialect] | None, sample: list[Row]
) -> tuple[str, ...]:
    """Notes on texts that may be encoded. Raises InputError where nobody can tell.

    ``fitting``: other dialects that it may be; None: it is known for sure, or named by the user.
    """
    notes = note_on_short_keys(dialect, sample)
    notes += notes_on_null_keys(dialect, sample)
    if fitting is not None and dialect.key_encoding == "text":
        notes += ask_for_base64(path, dialect, sample)
        for other in fitting:
            ask_for_tool(path, dialect, other, sample)
    if fitting is not None:
        notes += note_on_headers(dialect, sample)
    header_texts = texts_among(values_at(header_values(sample, dialect), "value"))
    if dialect.text_timestamps and any(header_texts):
        notes += ("headers' values are read as base64, as Spark writes them; --dialect plain has their text",)
    if dialect.header_names_encoding == "text":
        ask_for_headers(path, dialect.headers, sample)
    return notes


_NOTE_ON_EMPTY_KEYS = (
    "several keys of the first records are empty, so they count as one key, and none is null: if the tool"
    " writes that for no key, --missing-key null reads it as such"
)


def _notes_on_empty_keys(names: Iterable[str], options: ReadOptions) -> tuple[str, ...]:
    """The note on keys that may mean none, unless the user or a field with their size says what they are."""
    is_said = options.missing_key is not None or any(is_size(name, "key") for name in names)
    return () if is_said else (_NOTE_ON_EMPTY_KEYS,)


def _may_mean_none(layout: str, dialect: Dialect, sample: list[Row]) -> bool:
    """Whether empty keys in JSON of an unknown tool may mean "no key": no sampled key is null or missing.

    Go's ``string(key)`` writes no key as an empty one; read as such, all those records would have one key.
    """
    keys = [*values_at(sample, dialect.key)]
    is_open = layout != "csv_lines" and not dialect.sure and dialect.key_encoding == "text"
    return is_open and keys.count("") > 1 and None not in keys and len(keys) == len(sample)


def _ask_for_rounded_keys(path: str, dialect: Dialect, sample: list[Row]) -> tuple[str, ...]:
    """Refuse keys that are numbers with an exponent, as spreadsheets save long ones. Raises InputError.

    pandas writes whole numbers so where the column has a gap. For kcompact's own CSV, known by its column of
    encodings, it is only a note: the keys may have been such texts before.
    """
    keys = [*values_at(sample, dialect.key)]
    is_rounded = is_rounded_number if {*JSON}.issuperset(dialect.layouts) else is_rounded_text
    rounded = next(filter(is_rounded, keys), None)
    if rounded is None or dialect.key_encoding != "text":
        return ()
    likely = f"keys such as {shown(rounded)} were most likely rounded, by a spreadsheet or pandas"
    likely += ": keys that were different look alike"
    if dialect.key_marker is not None and any(dialect.key_marker in row for row in sample):
        return (likely,)
    has_name = dialect.name in {*BY_NAME, *AVRO, *PARQUET}
    as_named = f"--dialect {dialect.name}" if has_name else as_written(dialect, sample)
    raise InputError(
        f"{path}: {likely}",
        hint="take the file as it was exported, before a spreadsheet saved it (in pandas, have keys as text:"
        " dtype=str, or .astype('Int64') before they are written); if these are the keys,"
        f" {as_named} takes them as they are",
    )


def _guessed(
    path: str, layout: str, sample: list[Row], field_names: frozenset[str], options: ReadOptions
) -> Dialect:
    try:
        return guess_envelope(path, layout, set(field_names), options)
    except InputError:
        if not (options.fields or options.key_fields):
            refuse_wrapped(path, sample)
        raise


def _with_places(
    path: str, dialect: Dialect, sample: list[Row], field_names: frozenset[str], options: ReadOptions
) -> Dialect:
    """The dialect with the places where this sample has its parts. Raises InputError where that is open."""
    looked_for = (*PLACES, "timestamp_type", *(("timestamp",) if dialect.timestamp else ()))
    lacking = [role for role in looked_for if not _is_in_sample(getattr(dialect, role), field_names, sample)]
    refuse_misnamed(path, lacking, options, field_names)
    refuse_other_spelling(path, dialect, field_names, options)
    refuse_two_kinds(path, dialect, sample, options)
    places = dict.fromkeys(role for role in PLACES if role in lacking)  # types may come in later records
    places |= places_by_name(path, dialect, lacking, field_names, options)
    places |= markers_by_name(path, dialect, field_names)
    dialect = _changed(dialect, tuple(places.items()))
    refuse_absent_values(path, dialect, sample, options)
    if dialect.value and not dialect.listed:
        parts = {role: getattr(dialect, role) for role in ROLES}
        is_open = any(parts[role] is None and role not in options.fields for role in PLACES)
        deep_names = {name for row in sample for name in names_far_within(row)} if is_open else set()
        refuse_likely_places(path, parts, field_names | deep_names, options)
        refuse_windows(path, parts, field_names, options)
        flag = check_delete_flags(path, dialect, sample, field_names, options)
        dialect = _changed(dialect, (("delete_flag", flag),))
    return dialect


@lru_cache(FORMS_REMEMBERED)
def _changed(dialect: Dialect, changes: tuple[tuple[str, Any], ...]) -> Dialect:
    """The dialect with other values; the same object for the same, which is quick to send and compare."""
    return replace(dialect, **dict(changes))


def _is_in_sample(dotted: str | None, field_names: frozenset[str], sample: list[Row]) -> bool:
    """Whether a field is in the sample, whose names are known two levels deep."""
    return dotted in field_names or any(True for _ in values_at(sample, dotted))


def _encodings(path: str, dialect: Dialect, sample: list[Row], options: ReadOptions) -> dict[str, str]:
    encodings = {f"{role}_encoding": _encoding_of(path, role, dialect, sample) for role in ("key", "value")}
    may_be_null = not options.tombstone and dialect.null_literal is None
    # Offsets are texts where ClickHouse writes every column as one, in JSONStringsEachRow.
    offsets = values_at(sample, dialect.offset if may_be_null and dialect.layouts != ("csv_lines",) else None)
    if _all_texts_match(_NUMBER, offsets):
        encodings["null_literal"] = _CLICKHOUSE_NULL
    if set(encodings.values()) == {"python"}:
        encodings["headers_encoding"] = "python"
    if "python" in encodings.values() and may_be_null:
        encodings["null_literal"] = PYTHON_NONE  # as Python writes null where it writes bytes so
    return encodings


def _encoding_of(path: str, role: str, dialect: Dialect, sample: list[Row]) -> str:
    """The encoding of keys or values, where the dialect leaves it to the tool's user. Raises InputError."""
    declared, place = getattr(dialect, f"{role}_encoding"), getattr(dialect, role)
    if declared != "text":
        return str(declared)
    if not dialect.byte_exact:  # else a producer sent such texts, and they are the bytes that Kafka has
        refuse_addresses(path, role, values_at(sample, place))
        texts = (text for text in texts_among(values_at(sample, place)) if text != PYTHON_NONE)
        if _all_texts_match(PYTHON_BYTES, texts):
            return "python"
    if role == "key" and any(_is_json(key) for key in values_at(sample, place) if not isinstance(key, str)):
        return "json"
    return "text"


def _all_texts_match(pattern: re.Pattern[str], values: Iterable[Any]) -> bool:
    """Whether there is text that is not empty, and all of it matches."""
    texts = texts_among(values)
    first = next(texts, None)
    return first is not None and all(map(pattern.fullmatch, chain([first], texts)))


_CLICKHOUSE_NULL = "\u1d3a\u1d41\u1d38\u1d38"  # NULL in small capitals, which is nobody's data
_NUMBER = re.compile(r"\d+")


def _is_json(key: Any) -> bool:
    """Whether a key is a JSON value other than a string, or an object that stands for bytes."""
    if isinstance(key, dict):
        if "isPayloadNull" in key:
            return not key["isPayloadNull"] and not isinstance(key.get("payload"), str)
        return not (key.get("type") == "Buffer" and "data" in key)
    return key is not None and not isinstance(key, str)
