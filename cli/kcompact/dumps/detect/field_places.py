"""Parts of a record that lie under other names than the tool's, or appear behind the first records."""

from collections.abc import Collection, Iterable

from kcompact.dumps.dialects.dialect import Dialect
from kcompact.dumps.dialects.part_names import (
    fields_by_role,
    in_rows,
    plain_name,
    refuse_choices,
)
from kcompact.dumps.dialects.paths import path_of
from kcompact.dumps.dialects.sampled_values import Row, values_at
from kcompact.dumps.dialects.unexported import reasons_by_name
from kcompact.dumps.options import ReadOptions
from kcompact.errors import InputError

Changes = dict[str, str | None]
"""New places of parts, by role."""


def markers_by_name(path: str, dialect: Dialect, field_names: Collection[str]) -> Changes:
    """Fields that say how keys or values are encoded, however they are spelt: ``keyEncoding``.

    Those, too, that say why a key or value was not exported, and is no null; of CSV those with the sizes that
    Kafka's clients give in a record, and -1 for null. Raises InputError where several may say why.
    """
    plain_names = {name: plain_name(name) for name in sorted(field_names)}
    markers = {f"{role}_marker": marker_names(dialect, role) for role in ("key", "value")}
    places: Changes = {
        role: name
        for role, wanted in markers.items()
        if getattr(dialect, role) not in field_names
        for name, plain in plain_names.items()
        if plain in wanted
    }
    if dialect.layouts == ("csv_lines",) and dialect.key_size is None:
        sizes = {"serializedkeysize": "key_size", "serializedvaluesize": "value_size"}
        places |= {sizes[plain]: name for name, plain in plain_names.items() if plain in sizes}
    if not dialect.listed:
        places |= reasons_by_name(path, dialect, field_names)
    return places


def marker_names(dialect: Dialect, role: str) -> set[str]:
    """The plain names of a field that says how keys or values are encoded, which no tool says otherwise.

    Beside ``message`` it may be called ``messageEncoding``.
    """
    place, declared = getattr(dialect, role), getattr(dialect, f"{role}_marker")
    if declared:
        return {plain_name(declared)}
    if not place or getattr(dialect, f"{role}_encoding") != "text":
        return set()
    return {f"{role}encoding", f"{plain_name(path_of(place)[-1])}encoding"}


def places_by_name(
    path: str, dialect: Dialect, lacking: Iterable[str], field_names: Collection[str], options: ReadOptions
) -> Changes:
    """Places of the ``lacking`` parts (of topic, partition, offset), where a field has the name of one.

    Whoever joins dumps of several topics adds the topic to each record, whatever the tool writes. Raises
    InputError where several fields may be a part.
    """
    if dialect.listed:
        return {}
    lacking = {*lacking} - {*options.fields}
    names = sorted(field_names)
    named = in_rows(names) if dialect.value == "" else fields_by_role(names)
    places: Changes = {role: named[role][0] for role in sorted(lacking) if named.get(role)}
    refuse_choices(path, places, {role: named[role] for role in places}, options)
    return places


def refuse_absent_values(path: str, dialect: Dialect, sample: list[Row], options: ReadOptions) -> None:
    """Raise InputError where some values are null and some are not there, as hardly a tool writes a null.

    Confluent's extension of VS Code leaves out what is too large for it.
    """
    if dialect.sure or dialect.listed or not dialect.value or dialect.value_error or options.tombstone:
        return
    has_null = any(value is None for value in values_at(sample, dialect.value))
    lacking = [row for row in sample if not any(True for _ in values_at([row], dialect.value))]
    if has_null and lacking and dialect.layouts != ("csv_lines",):
        raise InputError(
            f"{path}: records whose {dialect.value} is null, and others without it: are both tombstones?",
            hint="--tombstone missing if they are; values that were too large for an exporter, or not"
            " decoded, are none: export those again, whole",
        )
