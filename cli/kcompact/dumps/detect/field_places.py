"""Finds parts of records under other names than the tool's, and refuses incomplete keys and values."""

import json
from collections.abc import Collection, Iterable
from dataclasses import replace

from kcompact.dumps.dialects.dialect import DATA_ROLES, DataRole, Dialect
from kcompact.dumps.dialects.part_names import (
    fields_by_role,
    in_rows,
    plain_name,
    refuse_choices,
)
from kcompact.dumps.dialects.paths import path_of
from kcompact.dumps.dialects.sampled_values import Row, values_at
from kcompact.dumps.dialects.unexported import with_reasons
from kcompact.dumps.options import ReadOptions
from kcompact.dumps.records.shown import name_list
from kcompact.errors import InputError


def with_markers(path: str, dialect: Dialect, field_names: Collection[str]) -> Dialect:
    """The dialect with the fields that say something about keys or values, however their names are spelt.

    These say how it is encoded (``keyEncoding``); why it was not exported, so that it is not null; and in CSV
    its size as Kafka's clients give it, -1 for null. Raises InputError where several fields may say why.
    """
    names = sorted(field_names)
    has_no_sizes = dialect.layouts == ("csv_lines",) and dialect.key.size is None
    for role in DATA_ROLES:
        part = dialect.of(role)
        marker = None if part.marker in field_names else _named(names, marker_names(dialect, role))
        size = _named(names, {f"serialized{role}size"}) if has_no_sizes else None
        if marker or size:
            part = replace(part, marker=marker or part.marker, size=size or part.size)
            dialect = dialect.with_data(role, part)
    return dialect if dialect.listed else with_reasons(path, dialect, names)


def _named(names: Iterable[str], plain_names: Collection[str]) -> str | None:
    """The last of the fields whose plain name is among these; None if there is none."""
    return ([None] + [name for name in names if plain_name(name) in plain_names])[-1]


def marker_names(dialect: Dialect, role: DataRole) -> set[str]:
    """The plain names that a field with the encoding of keys or values may have.

    Beside ``message`` it may be called ``messageEncoding``. No names where the dialect fixes the encoding.
    """
    part = dialect.of(role)
    if part.marker:
        return {plain_name(part.marker)}
    if not part.place or part.encoding != "text":
        return set()
    return {f"{role}encoding", f"{plain_name(path_of(part.place)[-1])}encoding"}


def places_by_name(
    path: str, dialect: Dialect, lacking: Iterable[str], field_names: Collection[str], options: ReadOptions
) -> dict[str, str | None]:
    """Places of the ``lacking`` parts (topic, offset, timestamp, ...) whose usual names some fields have.

    Users who join dumps of several topics add the topic to each record, whatever the tool writes. Raises
    InputError where several fields may be a part.
    """
    if dialect.listed:
        return {}
    lacking = {*lacking} - {*options.fields}
    names = sorted(field_names)
    named = in_rows(names) if dialect.value.place == "" else fields_by_role(names)
    places: dict[str, str | None] = {role: named[role][0] for role in sorted(lacking) if named.get(role)}
    refuse_choices(path, places, {role: named[role] for role in places}, options)
    return places


def refuse_absent_values(path: str, dialect: Dialect, sample: list[Row], options: ReadOptions) -> None:
    """Raise InputError where some values are null and others missing: hardly any tool writes null both ways.

    Confluent's extension of VS Code leaves out values that are too large for it.
    """
    place = dialect.value.place
    if dialect.sure or dialect.listed or not place or dialect.value.error or options.tombstone:
        return
    has_null = any(value is None for value in values_at(sample, place))
    lacking = [row for row in sample if not any(True for _ in values_at([row], place))]
    if has_null and lacking and dialect.layouts != ("csv_lines",):
        raise InputError(
            f"{path}: records whose {place} is null, and others without it: are both tombstones?",
            hint="--tombstone missing if they are; values that were too large for an exporter, or not"
            " decoded, are none: export those again, whole",
        )


def refuse_optionals(path: str, dialect: Dialect, sample: list[Row]) -> None:
    """Raise InputError where keys or values only say whether there is one, such as ``{"present": true}``.

    Jackson writes ``Optional`` like this without its module for Java 8, and all keys would be one. A value
    with a single such member may be the user's own data.
    """
    for role in DATA_ROLES:
        values = [*values_at(sample, dialect.of(role).place)]
        fewest = 1 if role == "key" else 2
        if values and all(
            isinstance(value, dict)
            and len(value) >= fewest
            and value.keys() <= _OF_OPTIONALS
            and {*map(type, value.values())} == {bool}
            for value in values
        ):
            raise InputError(
                f"{path}: {role}s such as {json.dumps(values[0])} say whether there is a {role}, not which",
                hint="export again: with Jackson's Jdk8Module, or what is in each Optional (orElse(null))",
            )


_OF_OPTIONALS = {"present", "empty", "defined"}  # isPresent() and isEmpty(); isDefined() of Scala's


def refuse_taken_apart(path: str, dialect: Dialect, sample: list[Row], options: ReadOptions) -> None:
    """Raise InputError where members of keys or values are columns of their own: ``value.id``, ``value/id``.

    pandas' ``json_normalize`` leaves an empty column for the whole, as if all records were tombstones.
    """
    names = dict.fromkeys(name for row in sample for name in row)
    for role in DATA_ROLES:
        place = dialect.of(role).place
        members = [name for name in names if place and name.startswith((f"{place}.", f"{place}/"))]
        if members and role not in options.fields and not any(values_at(sample, place)):
            raise InputError(
                f"{path}: every {role} of the first records is empty or null, and members of it are fields of"
                f" their own: {name_list(members)}",
                hint=f"export the {role} as it is, in one field (pandas: without json_normalize); if these"
                f" are no members of it, and it was empty or null: --fields {role}={place}",
            )
