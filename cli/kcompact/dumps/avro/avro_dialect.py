"""Which fields of an Avro record are the Kafka record's parts, by the writer's schema alone."""

from dataclasses import replace
from typing import Any

from kcompact.dumps.avro.avro_schema import WireSchema, branches, is_record
from kcompact.dumps.dialects.dialect import ROLES, Dialect
from kcompact.dumps.dialects.envelope import ALIASES, plain_name
from kcompact.dumps.dialects.overrides import with_options
from kcompact.dumps.options import ReadOptions
from kcompact.dumps.records.shown import some
from kcompact.errors import InputError

_UNITS = {"millis": "ms", "micros": "us", "nanos": "ns"}
_PLAIN = Dialect(
    name="avro",
    tool="Avro container with the plain envelope",
    layouts=("avro",),
    sure=False,
    byte_exact=True,
)
AVRO_DIALECTS = (
    replace(_PLAIN, name="spark-avro", tool="Spark's Avro writer", sure=True),
    replace(_PLAIN, name="aiven-avro", tool="Aiven's sinks, Avro", timestamp_unit="ms", sure=True),
    replace(_PLAIN, name="lenses-avro", tool="Lenses' sinks, Avro", timestamp_unit="ms", sure=True),
    _PLAIN,
)
_BY_NAME = {dialect.name: dialect for dialect in AVRO_DIALECTS}


def avro_dialect(path: str, schema: Any, wire: WireSchema, options: ReadOptions) -> Dialect:
    """The dialect of the file at ``path``, its roles the dotted paths of fields. Raises InputError."""
    root = wire.resolve(wire.type)
    if not is_record(root):
        raise InputError(
            f"{path}: the Avro records are bare values, without key and offset",
            hint="export the keys too: a .keys.avro file beside this one, or an envelope with a key field",
        )
    names = field_names(wire)
    _check_forced(path, options)
    _refuse_unread(path, options)
    base = _BY_NAME.get(options.dialect or "") or _BY_NAME[_tool(root, names)]
    found: dict[str, Any] = {role: _find(names, aliases) for role, aliases in ALIASES.items()}
    if options.key_fields:
        found = _keyed_by_value(found, options.key_fields[0])
    base = replace(base, **found)
    dialect = with_options(base, replace(options, key_fields=()))  # the key is a path like others now
    _check(path, wire, dialect)
    unit = _timestamp_unit(_kinds_at(schema, dialect.timestamp))
    # Text may have been damaged on the way (U+FFFD), bytes not.
    byte_exact = "string" not in map(_name_of, _kinds_at(schema, dialect.key))
    return replace(dialect, timestamp_unit=unit or dialect.timestamp_unit, byte_exact=byte_exact)


def _keyed_by_value(found: dict[str, Any], key_field: str) -> dict[str, Any]:
    """The key is a field of the value; records without an envelope are the value as a whole ("")."""
    if found["value"] is None or found["offset"] is None:
        return dict.fromkeys(found) | {"key": key_field, "value": ""}
    return found | {"key": f"{found['value']}.{key_field}"}


def _check_forced(path: str, options: ReadOptions) -> None:
    if options.dialect is not None and options.dialect not in _BY_NAME:
        raise InputError(
            f"{path}: --dialect {options.dialect} is not one of Avro files",
            hint=f"for Avro: {', '.join(_BY_NAME)}",
        )


def _refuse_unread(path: str, options: ReadOptions) -> None:
    """Options that are not read here must not be passed over: what they say may decide what stays."""
    unread = "--cdc" if options.cdc is not None else "--key-field of several fields"
    if options.cdc is not None or len(options.key_fields) > 1:
        raise InputError(
            f"{path}: {unread} is read in JSON, CSV and text, not in Avro",
            hint="export the values as JSON; or compact by the keys of the records, as a broker would",
        )


def _tool(root: Any, names: list[str]) -> str:
    if root["name"] == "topLevelRecord":
        return "spark-avro"
    if root["name"].endswith("connector_records") and "topic" not in names:
        return "aiven-avro"
    if {"metadata.topic", "metadata.offset"} <= set(names):
        return "lenses-avro"
    return "avro"


def field_names(wire: WireSchema) -> list[str]:
    """Dotted paths of all fields, two records deep, the outer ones first."""
    outer = wire.resolve(wire.type)["fields"]
    names = [child["name"] for child in outer]
    for child in outer:
        for record in filter(is_record, map(wire.resolve, branches(child["type"]))):
            names += [f"{child['name']}.{inner['name']}" for inner in record["fields"]]
    return names


def _find(names: list[str], aliases: tuple[str, ...]) -> str | None:
    by_plain = {plain_name(name): name for name in reversed(names)}
    return next((by_plain[alias] for alias in aliases if alias in by_plain), None)


def _check(path: str, wire: WireSchema, dialect: Dialect) -> None:
    """Refuse schemas whose records have no key or no value, but for Lenses' files of tombstones."""
    names = field_names(wire)
    fields = f"(fields: {some([name for name in names if '.' not in name])})"
    for role in ROLES:
        dotted = getattr(dialect, role)
        if dotted and not _is_field(wire, dotted):
            raise InputError(f"{path}: no field {dotted!r} in the Avro schema {fields}")
    if dialect.name == "lenses-avro" and (dialect.key or dialect.value):
        return
    if dialect.key is None:
        raise InputError(
            f"{path}: no field of the Avro records is the key {fields}",
            hint="name it with --fields key=FIELD, or --key-field FIELD for a field of the value",
        )
    if dialect.value is None:
        raise InputError(
            f"{path}: no field of the Avro records is the value {fields}",
            hint="name it with --fields value=FIELD; without values nobody can tell a tombstone",
        )


def _is_field(wire: WireSchema, dotted: str) -> bool:
    """Whether the path leads through records, which may be null, to a field of one."""
    kinds: list[Any] = [wire.type]
    for name in dotted.split("."):
        records = [record for kind in kinds for record in map(wire.resolve, branches(kind))]
        children = [child for record in records if is_record(record) for child in record["fields"]]
        kinds = [child["type"] for child in children if child["name"] == name]
    return bool(kinds)


def _kinds_at(schema: Any, dotted: str | None) -> list[Any]:
    """The branches of the type that the schema gives the field; none if there is no such field."""
    kind: Any = schema if dotted else []
    for name in dotted.split(".") if dotted else ():
        records = [_opened(branch) for branch in _as_union(kind) if isinstance(branch, dict)]
        fields = [child for record in records for child in record.get("fields", ())]
        kind = next((child["type"] for child in fields if child["name"] == name), [])
    return _as_union(kind)


def _timestamp_unit(kinds: list[Any]) -> str | None:
    """The unit that the field's logical type names."""
    for kind in kinds:
        logical = str(kind.get("logicalType", "")) if isinstance(kind, dict) else ""
        for ending, unit in _UNITS.items():
            if logical.endswith(ending):
                return unit
    return None


def _name_of(kind: Any) -> Any:
    return kind.get("type") if isinstance(kind, dict) else kind


def _as_union(kind: Any) -> list[Any]:
    return kind if isinstance(kind, list) else [kind]


def _opened(kind: Any) -> Any:
    """``{"type": {"type": "record", ...}}`` is the record itself."""
    return kind["type"] if isinstance(kind.get("type"), dict) else kind
