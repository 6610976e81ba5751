"""Which fields of an Avro record are the Kafka record's parts, by the writer's schema alone."""

from dataclasses import replace
from functools import partial
from typing import Any

from kcompact.dumps.avro.avro_schema import WireSchema, branches, is_record
from kcompact.dumps.dialects.columns import Columns, column_dialect, written_by
from kcompact.dumps.dialects.dialect import Dialect
from kcompact.dumps.options import ReadOptions
from kcompact.errors import InputError

_UNITS = {"millis": "ms", "micros": "us", "nanos": "ns"}


def columns_of(path: str, wire: WireSchema) -> Columns:
    """The fields of the file at ``path``. Raises InputError for a schema that is no record's."""
    if not is_record(wire.resolve(wire.type)):
        raise InputError(
            f"{path}: the Avro records are bare values, without key and offset",
            hint="export the keys too: a .keys.avro file beside this one, or an envelope with a key field",
        )
    return Columns(path, "avro", field_names(wire), partial(_is_field, wire))


def avro_dialect(columns: Columns, schema: Any, wire: WireSchema, options: ReadOptions) -> Dialect:
    """The dialect of a file with these fields, its roles their dotted paths. Raises InputError."""
    name = wire.resolve(wire.type)["name"]
    is_aiven = name.endswith("connector_records")
    base = written_by(columns, options, spark=name == "topLevelRecord", aiven=is_aiven)
    dialect = column_dialect(columns, base, options, key_is_column=True)
    unit = _timestamp_unit(_kinds_at(schema, dialect.timestamp))
    # Text may have been damaged on the way (U+FFFD), bytes not.
    byte_exact = "string" not in map(_name_of, _kinds_at(schema, dialect.key))
    return replace(dialect, timestamp_unit=unit or dialect.timestamp_unit, byte_exact=byte_exact)


def field_names(wire: WireSchema) -> list[str]:
    """Dotted paths of all fields, two records deep, the outer ones first."""
    outer = wire.resolve(wire.type)["fields"]
    names = [child["name"] for child in outer]
    for child in outer:
        for record in filter(is_record, map(wire.resolve, branches(child["type"]))):
            names += [f"{child['name']}.{inner['name']}" for inner in record["fields"]]
    return names


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
