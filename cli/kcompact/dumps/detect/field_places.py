"""Parts of a record that lie under other names than the tool's, or appear behind the first records."""

import re
from collections.abc import Collection, Iterable

from kcompact.dumps.detect.sampled_values import Row, values_at
from kcompact.dumps.dialects.dialect import Dialect
from kcompact.dumps.dialects.part_names import (
    ALIASES,
    fields_by_role,
    in_rows,
    plain_name,
    refuse_choices,
)
from kcompact.dumps.dialects.paths import path_of
from kcompact.dumps.options import ReadOptions
from kcompact.dumps.records.shown import shown
from kcompact.errors import InputError

Changes = dict[str, str | None]
"""New places of parts, by role."""


def markers_by_name(dialect: Dialect, field_names: Collection[str]) -> Changes:
    """Fields that say how keys or values are encoded, however they are spelt: ``keyEncoding``.

    Of CSV those, too, with the sizes that Kafka's clients give in a record, and -1 for null; of JSON those
    that say why a key or value was not exported, and is no null.
    """
    declared = {role: getattr(dialect, role) for role in ("key_marker", "value_marker")}
    plain_names = {name: plain_name(name) for name in sorted(field_names)}
    places: Changes = {
        role: name
        for role, place in declared.items()
        if place and place not in field_names
        for name, plain in plain_names.items()
        if plain == plain_name(place)
    }
    if dialect.layouts == ("csv_lines",) and dialect.key_size is None:
        sizes = {"serializedkeysize": "key_size", "serializedvaluesize": "value_size"}
        places |= {sizes[plain]: name for name, plain in plain_names.items() if plain in sizes}
    if not dialect.listed and dialect.layouts != ("csv_lines",):
        places |= _reasons_by_name(dialect, plain_names)
    return places


def _reasons_by_name(dialect: Dialect, plain_names: dict[str, str]) -> Changes:
    """Fields with the reason why a key or value was not exported: an error, or that it was too large."""
    places: Changes = {}
    for role in ("key", "value"):
        place = getattr(dialect, role)
        if not place or getattr(dialect, f"{role}_error"):
            continue
        part = "|".join(map(re.escape, (*ALIASES[role], plain_name(path_of(place)[-1]))))
        any_part = "?" if role == "value" else ""  # an error without a name is most likely the value's
        reason = re.compile(rf"(?:{part}){any_part}{_REASONS}|{_EXCEEDED}\.{role}")
        named = (name for name, plain in plain_names.items() if reason.fullmatch(plain))
        places |= {f"{role}_error": name for name in named if path_of(name)[0] != path_of(place)[0]}
    return places


_REASONS = r"(?:decod|deseriali[sz]|pars)?(?:e|ing|ation)?(?:error|exception|exceeded|toolarge)"
# Of Confluent's extension of VS Code: true where a part is larger than it asks for.
_EXCEEDED = "exceededfields"


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


def _refuse_errors_in_rows(path: str, dialect: Dialect, sample: list[Row]) -> None:
    """Raise InputError for a row of CSV without a key or value beside a column that says why."""
    names = {name: plain_name(name) for row in sample[:1] for name in row}
    for role, reason in _reasons_by_name(dialect, names).items():
        part = role.removesuffix("_error")
        place = getattr(dialect, part)
        for row in sample:
            if reason and not row.get(place) and row.get(reason) not in _NO_REASONS:
                raise InputError(
                    f"{path}: {reason}: {shown(row[reason])}: the {part} is missing only because it was not"
                    " decoded or exported",
                    hint="export again whole, and without decoding; if the column says something else of the"
                    " record, export without that column",
                )


_NO_REASONS = {None, "", "0", "false", "False", "None", "null", "NULL"}


def refuse_absent_values(path: str, dialect: Dialect, sample: list[Row], options: ReadOptions) -> None:
    """Raise InputError where some values are null and some are not there, as hardly a tool writes a null.

    Confluent's extension of VS Code leaves out what is too large for it.
    """
    if dialect.layouts == ("csv_lines",) and dialect.value:
        _refuse_errors_in_rows(path, dialect, sample)
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
