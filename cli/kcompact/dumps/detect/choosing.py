"""Which dialect a sample of records is written in.

A dump may be ten thousand small files: what follows from the names of fields alone is worked out once for all
files that have the same, what follows from their content for every file.
"""

import json
import re
import shlex
from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from itertools import chain
from typing import Any

from kcompact.dumps.detect.event_proposals import check_events
from kcompact.dumps.detect.field_places import (
    late_names,
    markers_by_name,
    places_by_name,
    refuse_other_spelling,
)
from kcompact.dumps.detect.likely_base64 import doubtful_base64, likely_base64
from kcompact.dumps.detect.odd_samples import refuse_two_kinds, refuse_wrapped
from kcompact.dumps.detect.sampled_values import Row, texts_among, values_at
from kcompact.dumps.dialects.dialect import ROLES, Dialect
from kcompact.dumps.dialects.dialect_table import DIALECTS
from kcompact.dumps.dialects.envelope import guess_envelope
from kcompact.dumps.dialects.overrides import forced, with_dotted_names, with_options
from kcompact.dumps.dialects.part_names import refuse_likely_places
from kcompact.dumps.dialects.paths import escaped, path_of
from kcompact.dumps.options import PLACES, ReadOptions
from kcompact.dumps.records.encodings import ENCODINGS
from kcompact.dumps.records.headers import is_struct
from kcompact.dumps.records.shown import name_list, shown
from kcompact.errors import InputError

Form = tuple[tuple[str, ...], tuple[tuple[str, tuple[str, ...]], ...]]
"""The names in a row, in order, and those within the objects among its fields."""

_FORMS_REMEMBERED = 256


def choose_dialect(path: str, layout: str, sample: list[Row], options: ReadOptions) -> Dialect:
    """The dialect of a sample, with the user's options worked in. Raises InputError."""
    forms = _forms_of(sample)
    field_names = _names_in(forms) if layout != "csv_lines" else frozenset(chain.from_iterable(sample))
    options = with_dotted_names(options, field_names)
    if options.dialect is not None:
        dialect = forced(options.dialect)
    else:
        fitting = (candidate for candidate in _fitting(layout, forms) if _decodes(candidate, sample))
        dialect = next(fitting, None) or _guessed(path, layout, sample, field_names, options)
    if dialect.refused is not None:
        raise InputError(f"{path}: {dialect.tool}: {dialect.refused}", hint=dialect.hint)
    if not dialect.sure and options.dialect is None and dialect.key_encoding == "text":
        _ask_for_base64(path, dialect, sample)
        for other in _fitting(layout, forms):
            _ask_for_tool(path, dialect, other, sample)
    if dialect.header_names_encoding == "text":
        _ask_for_headers(path, dialect.headers, sample)
    notes = check_events(path, dialect, values_at(sample, dialect.value), options)
    dialect = with_options(dialect, options)
    if notes:
        dialect = _changed(dialect, (("notes", dialect.notes + notes),))
    looked_for = (*PLACES, "timestamp_type")
    lacking = [role for role in looked_for if not _is_in_sample(getattr(dialect, role), field_names, sample)]
    _refuse_misnamed(path, lacking, options, field_names)
    refuse_other_spelling(path, dialect, field_names, options)
    refuse_two_kinds(path, dialect, sample, options)
    places = dict.fromkeys(role for role in PLACES if role in lacking)  # types may come in later records
    places |= places_by_name(path, dialect, lacking, field_names, options)
    places |= markers_by_name(dialect, field_names)
    dialect = _changed(dialect, tuple(places.items()))
    if dialect.value and not dialect.listed:
        refuse_likely_places(path, {role: getattr(dialect, role) for role in ROLES}, field_names, options)
    encodings = {f"{role}_encoding": _encoding_of(path, role, dialect, sample) for role in ("key", "value")}
    if set(encodings.values()) == {"python"} and not options.tombstone and dialect.null_literal is None:
        encodings["null_literal"] = _PYTHON_NONE  # as Python writes null where it writes bytes so
    late = late_names(layout, dialect, field_names)
    return _changed(dialect, (*encodings.items(), ("late_names", late)))


def _guessed(
    path: str, layout: str, sample: list[Row], field_names: frozenset[str], options: ReadOptions
) -> Dialect:
    try:
        return guess_envelope(path, layout, set(field_names), options)
    except InputError:
        if not (options.fields or options.key_fields):
            refuse_wrapped(path, sample)
        raise


def _refuse_misnamed(
    path: str, lacking: list[str], options: ReadOptions, field_names: frozenset[str]
) -> None:
    """Raise InputError where no sampled record has a field that the user named for its place.

    Without it, records would be numbered, or those of several partitions be one log.
    """
    for role in lacking:
        if options.fields.get(role):
            raise InputError(
                f"{path}: --fields {role}={options.fields[role]}: no such field in the first records (fields:"
                f" {name_list(sorted(field_names)) or 'none'})",
                hint="is it spelt so, and are the objects named that it lies in, such as metadata.offset?",
            )


@lru_cache(_FORMS_REMEMBERED)
def _changed(dialect: Dialect, changes: tuple[tuple[str, Any], ...]) -> Dialect:
    """The dialect with other values; the same object for the same, which is quick to send and compare."""
    return replace(dialect, **dict(changes))


def _is_in_sample(dotted: str | None, field_names: frozenset[str], sample: list[Row]) -> bool:
    """Whether a field is in the sample, whose names are known two levels deep."""
    return dotted in field_names or any(True for _ in values_at(sample, dotted))


def _ask_for_base64(path: str, dialect: Dialect, sample: list[Row]) -> None:
    """Refuse to take keys as text that look like base64, all of them. Raises InputError."""
    keys = list(texts_among(values_at(sample, dialect.key)))
    has_marker = dialect.key_marker is not None and any(dialect.key_marker in row for row in sample)
    if dialect.layouts == ("csv_lines",) or has_marker or not likely_base64(keys):
        return
    decoded = ENCODINGS["base64"](keys[0].encode())
    raise InputError(
        f"{path}: every key looks like base64, such as {shown(keys[0])} for {shown(decoded)}",
        hint=f"--dialect plain-base64{_named_parts(dialect, sample)} reads keys, values and header values as"
        f" base64; --dialect plain{_named_parts(dialect, sample)} takes keys as the text that they are",
    )


def _ask_for_tool(path: str, dialect: Dialect, other: Dialect, sample: list[Row]) -> None:
    """Refuse to take records as text that a tool would have written so as base64. Raises InputError.

    Base64 of bytes in threes is not padded, and says nothing of itself.
    """
    if not (other.likely_base64 and other.sure and all(_in_order(other, row) for row in sample)):
        return
    texts = [text for role in (other.key, other.value) for text in texts_among(values_at(sample, role))]
    if (
        texts
        and all(len(text) % 4 == 0 for text in texts)
        and _decodes(replace(other, likely_base64=False), sample)
    ):
        raise InputError(
            f"{path}: the fields, in their order, are those of {other.short_tool}, whose keys and values are"
            f" base64: nobody can tell whether {shown(texts[0])} is",
            hint=f"--dialect {other.name} reads them as base64, --dialect {dialect.name} as they are",
        )


def _ask_for_headers(path: str, headers: str | None, sample: list[Row]) -> None:
    """Refuse to decode text of headers that happens to be base64, such as ``test``. Raises InputError."""
    items = chain.from_iterable(raw for raw in values_at(sample, headers) if isinstance(raw, list))
    texts = list(texts_among(item["Value"] for item in items if is_struct(item)))
    if doubtful_base64(texts, _A_FEW):
        name = json.dumps(path_of(str(headers))[-1])
        lists = f"(.. | objects | select(has({name})) | .[{name}])"  # within an array of records, too
        raise InputError(
            f"{path}: headers of Key and Value such as {shown(texts[0])}: text, or base64, as Go writes it?",
            hint=f"name the members so that they tell: jq -c '{lists} |= map({{key: .Key, value: .Value}})'"
            " for text; value_base64: .Value for base64",
        )


def _named_parts(dialect: Dialect, sample: list[Row]) -> str:
    """The option for parts that have other names than in the plain envelope; "" if none has."""
    named = {role: getattr(dialect, role) for role in ROLES}
    present = {role: name for role, name in named.items() if any(True for _ in values_at(sample, name))}
    assignments = [f"{role}={name}" for role, name in present.items() if name != role]
    return f" --fields {shlex.quote(','.join(assignments))}" if assignments else ""


def _encoding_of(path: str, role: str, dialect: Dialect, sample: list[Row]) -> str:
    """The encoding of keys or values, where the dialect leaves it to the tool's user. Raises InputError."""
    declared, place = getattr(dialect, f"{role}_encoding"), getattr(dialect, role)
    if declared != "text":
        return str(declared)
    if _all_texts_match(_JAVA_ADDRESS, values_at(sample, place)):
        address = next(texts_among(values_at(sample, place)))
        raise InputError(
            f"{path}: {role}s such as {address} are addresses of Java objects: the data were not exported",
            hint="cast to strings or base64 before writing CSV (Spark: CAST(key AS STRING), base64(key))",
        )
    texts = (text for text in texts_among(values_at(sample, place)) if text != _PYTHON_NONE)
    if _all_texts_match(_PYTHON_BYTES, texts):
        return "python"
    if role == "key" and any(_is_json(key) for key in values_at(sample, place) if not isinstance(key, str)):
        return "json"
    return "text"


def _all_texts_match(pattern: re.Pattern[str], values: Iterable[Any]) -> bool:
    """Whether there is text that is not empty, and all of it matches."""
    texts = texts_among(values)
    first = next(texts, None)
    return first is not None and all(map(pattern.fullmatch, chain([first], texts)))


_JAVA_ADDRESS = re.compile(r"\[B@[0-9a-f]+")
_PYTHON_NONE = "None"
_PYTHON_BYTES = re.compile(r"b'.*'|b\".*\"", re.DOTALL)


def _forms_of(sample: list[Row]) -> frozenset[Form]:
    if dict not in map(type, chain.from_iterable(map(dict.values, sample))):
        return frozenset((names, ()) for names in set(map(tuple, sample)))
    return frozenset(map(_form_of, sample))


def _form_of(row: Row) -> Form:
    return tuple(row), tuple((name, tuple(value)) for name, value in row.items() if isinstance(value, dict))


@lru_cache(_FORMS_REMEMBERED)
def _names_in(forms: frozenset[Form]) -> frozenset[str]:
    """Dotted paths of all fields, two levels deep."""
    outer = {escaped(name) for names, _ in forms for name in names}
    inner = {
        f"{escaped(name)}.{escaped(inner)}"
        for _, nested in forms
        for name, within in nested
        for inner in within
    }
    return frozenset(outer | inner)


@lru_cache(_FORMS_REMEMBERED)
def _fitting(layout: str, forms: frozenset[Form]) -> tuple[Dialect, ...]:
    """The dialects that records with these fields, in this order, can be of, if they decode."""
    names = _names_in(forms)
    return tuple(
        dialect for dialect in DIALECTS if layout in dialect.layouts and _fits(dialect, names, forms)
    )


def _fits(dialect: Dialect, field_names: frozenset[str], forms: Iterable[Form]) -> bool:
    """A dialect without a signature is never found, only named."""
    if not dialect.signature or not dialect.signature <= field_names or dialect.lacking & field_names:
        return False
    return dialect.likely_base64 or all(_in_order(dialect, names) for names, _ in forms)


def _in_order(dialect: Dialect, names: Iterable[str]) -> bool:
    rank = {name: index for index, name in enumerate(dialect.order)}
    ranks = [rank[name] for name in names if name in rank]
    return ranks == sorted(ranks)


def _decodes(dialect: Dialect, sample: list[Row]) -> bool:
    """Whether keys and values are encoded as the dialect says."""
    roles = ((dialect.key_encoding, dialect.key), (dialect.value_encoding, dialect.value))
    if not all(_all_in(encoding, sample, field) for encoding, field in roles):
        return False
    if not dialect.likely_base64:
        return True
    texts = [text for _, field in roles for text in texts_among(values_at(sample, field))]
    return likely_base64(texts, _A_FEW if all(_in_order(dialect, row) for row in sample) else _MANY)


_A_FEW, _MANY = 2, 16  # of the signs that likely_base64 counts, with the tool's order of fields and without


def _all_in(encoding: str, sample: list[Row], dotted: str | None) -> bool:
    """Whether all texts at a path are in the encoding."""
    if encoding in {"text", "json"}:
        return True
    values = values_at(sample, dotted)
    try:
        for value in values:
            if isinstance(value, str):
                ENCODINGS[encoding](value.encode())
    except ValueError:
        return False
    return True


def _is_json(key: Any) -> bool:
    """Whether a key is a JSON value other than a string, or an object that stands for bytes."""
    if isinstance(key, dict):
        if "isPayloadNull" in key:
            return not key["isPayloadNull"] and not isinstance(key.get("payload"), str)
        return not (key.get("type") == "Buffer" and "data" in key)
    return key is not None and not isinstance(key, str)
