"""Fields that say why a key or value is missing: it was not decoded, or too large to be exported.

Such a value is no tombstone, and such a key is not null: the record cannot be compacted.
"""

import json
import re
from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Any

from kcompact.dumps.dialects.dialect import DATA_ROLES, TYPED, Dialect
from kcompact.dumps.dialects.part_names import ALIASES, plain_name
from kcompact.dumps.dialects.paths import fields_read, path_of
from kcompact.dumps.options import ReadOptions
from kcompact.dumps.records.shown import by_jq, name_list, shown
from kcompact.errors import InputError

REASONS = (
    *("error", "exception", "deserialization error", "decode error", "decoding error", "parse error"),
    "too large",
)
"""How the names of such fields end, in words; ``key`` or ``value`` may stand before."""
_REASON = r"(?:decod|deseriali[sz]|pars)?(?:e|ing|ation)?(?:error|exception|exceeded|toolarge)"
# Of Confluent's extension of VS Code: true where a part is larger than it asks for.
_EXCEEDED = "exceededfields"
# Of librdkafka's messages: what PHP cannot write as JSON is null, by JSON_PARTIAL_OUTPUT_ON_ERROR.
_LENGTHS = {"payload": "len"}
_OF_NULL = {"-1", "-1.0"}
_NO_REASONS = {"", "0", "0.0", *_OF_NULL, "false", "none", "null", "nil"}


def with_reasons(path: str, dialect: Dialect, names: Iterable[str]) -> Dialect:
    """The dialect with fields that have such reasons, where the table names none.

    Raises InputError for several fields of one role, as only one is looked at.
    """
    plain_names = {name: plain_name(name) for name in sorted(names)}
    for role in DATA_ROLES:
        place = dialect.of(role).place
        if not place or dialect.of(role).error:
            continue
        part = "|".join(map(re.escape, (*ALIASES[role], plain_name(path_of(place)[-1]))))
        length = _LENGTHS.get(path_of(place)[-1])
        any_part = "?" if role == "value" else ""  # an error without a name is most likely the value's
        reason = re.compile(rf"(?:{part}){any_part}{_REASON}|{_EXCEEDED}\.{role}")
        fitting = (name for name, plain in plain_names.items() if reason.fullmatch(plain))
        named = [name for name in fitting if path_of(name)[0] != path_of(place)[0]]
        if not named and dialect.layouts != ("csv_lines",):
            named = [name for name in plain_names if is_size(name, role) or name == length][:1]
        if len(named) > 1:
            raise InputError(
                f"{path}: {name_list(named)} may each say why a {role} is not there",
                hint="join them into one field first, or rename those that say something else",
            )
        if named:
            dialect = dialect.with_data(role, replace(dialect.of(role), error=named[0]))
    return dialect


def is_size(field: str, role: str) -> bool:
    """Whether a field has the size of a key or value in Kafka, as clients give it: -1 or 0 for null."""
    return plain_name(field) in {f"serialized{role}size", f"{role}size"}


def is_size_of_null(size: Any) -> bool:
    """Whether such a size beside an empty key or value says that it is null in Kafka."""
    return str(size) in _OF_NULL


def says_why(reason: Any) -> bool:
    """Whether the content of such a field is a reason: without one, programs write nothing, 0 or false."""
    return bool(reason) and str(reason).lower() not in _NO_REASONS


def not_exported(field: str, reason: Any, role: str, *, is_json: bool) -> tuple[str, str]:
    """Message and hint for a record whose field gives the reason why it has no ``role``: key or value."""
    hint = f"export again whole, and without decoding (kcat: leave out -s {role}=...)"
    if plain_name(field) in map(plain_name, REASONS):  # it names no part
        program = f'(if type == "array" then .[] else . end) | del(.{json.dumps(field)})'
        way = by_jq(program) if is_json else "leave that column out"
        hint += f"; if it says something else of the record: {way}"
    return f"{field}: {shown(reason)}: the {role} is null only because it was not decoded or exported", hint


_IN_BOTH = "; where each has what the other lacks, put all into one first, as base64, and name that"
_IN_BASE64 = ("{}base64", "{}b64", "raw{}", "{}raw", "binary{}")


def refuse_other_spelling(
    path: str, dialect: Dialect, field_names: Collection[str], options: ReadOptions
) -> None:
    """Raise InputError where another field may hold a key or value, too, as base64 of its bytes.

    If it does, the field that is read may be empty, or the same for different keys. Also raises for Avro and
    Parquet, where no marks of encodings are read, if a column may say that the key or value is base64.
    """
    read_places = {*fields_read(dialect)}
    named = {role: dialect.of(role).place for role in DATA_ROLES}
    all_places = ",".join(f"{role}={place}" for role, place in named.items() if place)
    for role in DATA_ROLES:
        place = dialect.of(role).place
        if role in options.fields or not place:
            continue
        names = {form.format(role) for form in _IN_BASE64}
        beside = sorted(name for name in {*field_names} - read_places if plain_name(name) in names)
        if beside:
            choices = [name for name in (place, *beside) if name in field_names]
            which, field = ("which of them it is", "FIELD") if choices[1:] else ("so", choices[0])
            raise InputError(
                f"{path}: the {role} may be the field {name_list(choices)}",
                hint=f"say {which} with --fields {role}={field}" + (_IN_BOTH if choices[1:] else ""),
            )
        marks = [name for name in sorted(field_names) if plain_name(name) == f"{role}encoding"]
        if marks and dialect.value.place and TYPED.issuperset(dialect.layouts):
            raise InputError(
                f"{path}: the field {name_list(marks)} may say of a {role} that it is base64",
                hint=f"--fields {all_places} reads them as they are; else decode them first, or give lines"
                " of JSON with these fields",
            )
