"""Envelopes of tools that are in no table: found by the names that tools give the parts of a record."""

import shlex
from collections.abc import Iterable, Mapping
from typing import Any

from kcompact.dumps.dialects.dialect import CSV_DOUBTS, Dialect
from kcompact.dumps.dialects.paths import path_of
from kcompact.dumps.options import ReadOptions
from kcompact.dumps.records.shown import name_list
from kcompact.errors import InputError

ALIASES: dict[str, tuple[str, ...]] = {
    "topic": ("topic", "topicname", "kafkatopic", "metadata.topic"),
    "partition": ("partition", "partitionid", "kafkapartition", "metadata.partition"),
    "offset": ("offset", "kafkaoffset", "partitionoffset", "metadata.offset"),  # the third is Trino's
    "timestamp": ("timestamp", "ts", "time", "kafkatimestamp", "metadata.timestamp"),
    "timestamp_type": ("timestamptype", "tstype"),
    "key": ("key", "kafkakey", "messagekey", "metadata.key"),
    "value": ("value", "payload", "message", "content", "kafkavalue"),
    "headers": ("headers", "header"),
}
"""Names seen, compared without case, ``_`` and ``-``."""


def plain_name(name: str) -> str:
    """A field's name as ALIASES spell it."""
    return name.replace("_", "").replace("-", "").lower()


def fields_by_role(names: Iterable[str]) -> dict[str, list[str]]:
    """The fields that may be each part of a record: those of its likeliest name, however it is spelt."""
    by_plain: dict[str, list[str]] = {}
    for name in names:
        by_plain.setdefault(plain_name(name), []).append(name)
    return {
        role: next((by_plain[alias] for alias in aliases if alias in by_plain), [])
        for role, aliases in ALIASES.items()
    }


def refuse_choices(
    path: str, places: Mapping[str, str | None], named: Mapping[str, list[str]], options: ReadOptions
) -> None:
    """Raise InputError where several fields may be a part of a record, and the user does not say which."""
    chosen_roles = {*options.fields, *(("key",) if options.key_fields else ())}
    for role, names in named.items():
        if len(names) > 1 and places[role] and role not in chosen_roles:
            raise InputError(
                f"{path}: the {role} may be the field {name_list(names)}",
                hint=f"say which of them it is with --fields {role}=FIELD",
            )


def guess_envelope(path: str, layout: str, field_names: set[str], options: ReadOptions) -> Dialect:
    """A dialect from field names alone. Raises InputError unless key, and value or offset, are there.

    Business JSON may well have a ``key`` or a ``timestamp`` of its own, so one name proves nothing.
    """
    named = fields_by_role(sorted(field_names))
    places: dict[str, Any] = {role: names[0] if names else None for role, names in named.items()}
    if options.key_fields and (places["value"] is None or places["offset"] is None):
        places = {**dict.fromkeys(ALIASES), "value": ""}  # bare values, whatever their fields are called
    places |= options.fields
    refuse_choices(path, places, named, options)
    has_key = places["key"] is not None or options.key_fields
    if not has_key or (places["value"] is None and places["offset"] is None):
        raise InputError(
            f"{path}: no record of key and value that kcompact knows"
            f" (fields: {name_list(sorted(field_names)) or 'none'})",
            hint=f"name its fields with --fields {_to_be_named(field_names)};"
            " a dump of bare values needs --key-field FIELD",
        )
    return Dialect(
        name="fields",
        tool="an envelope known by its field names",
        layouts=(layout,),
        sure=False,
        notes=_likely_offset(field_names) if places["offset"] is None and places["value"] else (),
        **(CSV_DOUBTS if layout == "csv_lines" else {}),
        **places,
    )


def _to_be_named(field_names: set[str]) -> str:
    """The argument of ``--fields``: for each part the one field that has its name, wherever it lies.

    Without the partition, records of several would be one log, and their keys would supersede each other.
    """
    innermost = {name: "".join(path_of(name)[-1:]) for name in sorted(field_names)}
    fields = {
        role: [name for name in innermost if innermost[name] in names]
        for role, names in fields_by_role(innermost.values()).items()
    }
    known = {role: names[0] for role, names in fields.items() if len(names) == 1}
    asked = dict.fromkeys(("key", "value", "offset"), "FIELD")
    return shlex.quote(",".join(f"{role}={name}" for role, name in (asked | known).items()))


def _likely_offset(field_names: set[str]) -> tuple[str, ...]:
    """A note on a field that may be the offset, though not by a name that is known."""
    likely = [name for name in sorted(field_names) if "." not in name and "offset" in name.lower()]
    if not likely:
        return ()
    option = f"--fields {shlex.quote(f'offset={likely[0]}')}"
    return (f"the field {name_list(likely)} is not taken for the offset: if it is, {option}",)
