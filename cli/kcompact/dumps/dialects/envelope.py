"""Finds the fields or columns for the parts of a record by names alone, where no table knows the tool."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from kcompact.dumps.dialects.dialect import CSV_DOUBTS, Dialect, fields, forms
from kcompact.dumps.dialects.overrides import with_dotted_names, with_options
from kcompact.dumps.dialects.part_names import (
    ALIASES,
    fields_by_role,
    in_rows,
    marks_beside,
    notes_on_names,
    plain_name,
    refuse_choices,
    refuse_likely_places,
    refuse_marks,
    refuse_rows_of_kafka,
    refuse_windows,
)
from kcompact.dumps.dialects.unexported import refuse_other_spelling, with_reasons
from kcompact.dumps.options import ReadOptions
from kcompact.dumps.records.shown import name_list
from kcompact.errors import InputError

FRAMES = ({"columns", "index", "data"}, {"schema", "data"}, {"0", "1"})
"""The fields of the one JSON object that pandas writes for a whole table, for each way to write it."""


def guess_envelope(path: str, layout: str, field_names: set[str], options: ReadOptions) -> Dialect:
    """A dialect from field names alone. Raises InputError unless key, and value or offset, are there.

    Business JSON may well have a ``key`` or a ``timestamp`` of its own, so one name proves nothing.
    """
    named, places = _named_places(sorted(field_names))
    if options.key_fields and (places["value"] is None or places["offset"] is None):
        named, places = _named_places(sorted(field_names), are_bare=True)
        refuse_rows_of_kafka(path, places, field_names, options)
    places |= options.places
    refuse_choices(path, places, named, options)
    has_key = places["key"] is not None or options.key_fields
    if not has_key or (places["value"] is None and places["offset"] is None):
        is_frame = any(names <= field_names for names in FRAMES)
        raise InputError(
            f"{path}: no record of key and value that kcompact knows"
            f" (fields: {name_list(sorted(field_names)) or 'none'})",
            hint="if pandas wrote it, write records: to_json(..., orient='records', lines=True)"
            if is_frame
            else _NAME_FIELDS,
        )
    return Dialect(
        name="fields",
        tool="an envelope known by its field names",
        layouts=(layout,),
        sure=False,
        notes=notes_on_names(places, field_names) + _notes_on_headers(places),
        **fields(**(CSV_DOUBTS if layout == "csv_lines" else {})),
    ).with_places(places)


_NAME_FIELDS = (
    "name the field of each part, with the objects that it lies in (key=meta.key), and nothing for one that"
    " is not there: --fields topic=FIELD,partition=FIELD,offset=FIELD,timestamp=FIELD,key=FIELD,value=FIELD,"
    "headers=FIELD; where records lie in a list of an object, write them as lines of JSON first, each with"
    " the topic and partition that the object tells; a dump of bare values needs --key-field FIELD"
)


def _notes_on_headers(places: dict[str, Any]) -> tuple[str, ...]:
    """A note where other parts lie among the headers, as in messages of Spring."""
    headers = places["headers"]
    within = [role for role, place in places.items() if headers and str(place).startswith(f"{headers}.")]
    if not within:
        return ()
    others = "what else a client put there count as headers, too; --fields headers= reads none"
    return (f"{headers} holds the {within[0]} of each record: this and {others}",)


def _named_places(
    names: Sequence[str], *, are_bare: bool = False
) -> tuple[dict[str, list[str]], dict[str, Any]]:
    """By role, all fields that may be it by their names, and the first of them, None where there is none.

    ``are_bare``: values are whole records, without an envelope.
    """
    named = in_rows(names) if are_bare else fields_by_role(names)
    numbers = _numbers_of_dotnet(names)
    named = {role: [numbers.get(name, name) for name in fields] for role, fields in named.items()}
    places: dict[str, Any] = {role: fields[0] if fields else None for role, fields in named.items()}
    if are_bare:
        places["value"] = ""
    return named, places


def _numbers_of_dotnet(names: Iterable[str]) -> dict[str, str]:
    """By object that .NET's client writes (``Offset``), the member with its number (``Offset.Value``)."""
    return {
        outer: name
        for name in names
        for outer, _, last in [name.rpartition(".")]
        if plain_name(f"{outer.rpartition('.')[2]}.{last}") in _NUMBERS_OF_DOTNET
    }


_NUMBERS_OF_DOTNET = {"partition.value", "offset.value", "timestamp.unixtimestampms"}


def refuse_no_timestamp(path: str, column: str | None, kind: str) -> None:
    """Raise InputError for a column of timestamps whose type is not one of points in time."""
    raise InputError(
        f"{path}: the timestamp is the column {name_list([column or ''])} of type {kind}, no point in time",
        hint="write it as a timestamp, or as whole milliseconds since 1970; or name another column with"
        " --fields timestamp=COLUMN",
    )


def _rows(name: str, spark: str, plain: str) -> dict[str, Dialect]:
    """The dialects of a format, by name, in the order in which they are tried."""
    layout = name.lower()
    row = partial(Dialect, layouts=(layout,), byte_exact=True)
    rows = (
        row(name=f"spark-{layout}", tool=spark),
        row(name=f"aiven-{layout}", tool=f"Aiven's sinks, {name}", timestamp_unit="ms"),
        row(name=f"lenses-{layout}", tool=f"Lenses' sinks, {name}", timestamp_unit="ms"),
        row(name=layout, tool=plain, sure=False),
    )
    return {dialect.name: dialect for dialect in rows}


AVRO = _rows("Avro", "Spark's Avro writer", "Avro container with the plain envelope")
_KAFKA_DUMP = Dialect(
    name="kafka-dump-parquet",
    tool="huantt/kafka-dump, Parquet",
    layouts=("parquet",),
    **fields(nulls=forms("missing", "empty"), doubtful=forms("empty")),
)
PARQUET = {
    _KAFKA_DUMP.name: _KAFKA_DUMP,
    **_rows(
        "Parquet", "Spark's Kafka source written as Parquet", "Parquet with the plain envelope's columns"
    ),
}


@dataclass(frozen=True)
class Columns:
    """The columns of the file at ``path``: dotted paths, two records deep, the outer ones first."""

    path: str
    layout: str  # "avro" or "parquet"
    names: Sequence[str]
    holds: Callable[[str], bool]  # whether there is a column at a path, however deep

    @property
    def format(self) -> str:
        """The layout as messages call it."""
        return self.layout.capitalize()

    def find(self, aliases: tuple[str, ...]) -> str | None:
        """The column called by the first of the ``aliases`` that occurs; None if none does."""
        by_plain = {plain_name(name): name for name in reversed(self.names)}
        return next((by_plain[alias] for alias in aliases if alias in by_plain), None)


def value_place(columns: Columns, options: ReadOptions) -> str:
    """The column of the values; ``""`` where a record is a row as a whole."""
    value = options.fields.get("value") or columns.find(ALIASES["value"])
    has_offset = "offset" in options.fields or columns.find(ALIASES["offset"]) is not None
    return value if value is not None and has_offset else ""


def column_dialect(
    columns: Columns, base: Dialect, options: ReadOptions, *, key_is_column: bool = False
) -> Dialect:
    """``base`` with the columns as its roles, and the user's options. Raises InputError.

    ``--key-field`` names fields of the value, which is the whole row where no column has the values. With
    ``key_is_column``, a single such field that is a column becomes the place of the key.
    """
    options = with_dotted_names(options, columns.names)
    are_bare = bool(options.key_fields or options.cdc) and not value_place(columns, options)
    named, places = _named_places(columns.names, are_bare=are_bare)
    refuse_choices(columns.path, places, named, options)
    single = options.key_fields[0] if len(options.key_fields) == 1 and options.cdc is None else None
    if single and key_is_column:
        column = ".".join(filter(None, (places["value"], single)))
        if columns.holds(column):
            places["key"] = column
            options = replace(options, key_fields=())
    if places["value"] == "":
        refuse_rows_of_kafka(columns.path, places, columns.names, options)
        base = replace(base, notes=base.notes + notes_on_names(places, columns.names))
    else:
        refuse_likely_places(columns.path, places, columns.names, options)
        refuse_windows(columns.path, places, columns.names, options)
        refuse_marks(columns.path, marks_beside(places, columns.names), places["value"], options)
    dialect = with_options(base.with_places(places), options)
    _check(columns, dialect)
    refuse_other_spelling(columns.path, dialect, columns.names, options)
    return with_reasons(columns.path, dialect, columns.names)


def written_by(
    columns: Columns, options: ReadOptions, *, spark: bool, aiven: bool, kafka_dump: bool = False
) -> Dialect:
    """The dialect that ``--dialect`` names, else that of the tool whose marks the file has.

    Raises InputError where ``--dialect`` names one of another format.
    """
    dialects = AVRO if columns.layout == "avro" else PARQUET
    if options.dialect is not None and options.dialect not in dialects:
        raise InputError(
            f"{columns.path}: --dialect {options.dialect} is not one of {columns.format} files",
            hint=f"for {columns.format}: {', '.join(dialects)}",
        )
    lenses = {"metadata.topic", "metadata.offset"} <= set(columns.names)
    tools = {"spark-": spark, "aiven-": aiven and "topic" not in columns.names, "lenses-": lenses}
    tools |= {"kafka-dump-": kafka_dump, "": True}
    marked = next(tool for tool, is_it in tools.items() if is_it)
    return dialects[options.dialect or f"{marked}{columns.layout}"]


def _check(columns: Columns, dialect: Dialect) -> None:
    """Raise InputError for schemas without a key or a value, except in Lenses' files of tombstones."""
    path, format_ = columns.path, columns.format
    fields = f"(fields: {name_list([name for name in columns.names if '.' not in name])})"
    for dotted in dialect.places.values():
        if dotted and not columns.holds(dotted):
            raise InputError(f"{path}: no field {dotted!r} in the {format_} schema {fields}")
    if dialect.name == f"lenses-{columns.layout}" and (dialect.key.place or dialect.value.place):
        return
    if dialect.key.place is None and not dialect.key_fields:
        raise InputError(
            f"{path}: no field of the {format_} records is the key {fields}",
            hint="name it with --fields key=FIELD, or --key-field FIELD for a field of the value",
        )
    if dialect.value.place is None:
        raise InputError(
            f"{path}: no field of the {format_} records is the value {fields}",
            hint="name it with --fields value=FIELD; without values nobody can tell a tombstone",
        )
