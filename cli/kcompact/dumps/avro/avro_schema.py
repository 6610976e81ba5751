"""The wire schema: the writer's schema without all that does not show in bytes; and the fields of records."""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import fastavro
from fastavro.schema import SchemaParseException, UnknownType

from kcompact.dumps.avro.avro_logical_types import marks_of_text
from kcompact.dumps.dialects.dialect import Dialect
from kcompact.dumps.dialects.envelope import Columns, column_dialect, refuse_no_timestamp, written_by
from kcompact.dumps.dialects.paths import Path
from kcompact.dumps.options import ReadOptions
from kcompact.dumps.records.shown import shown
from kcompact.errors import InputError

_NAMED = ("record", "error", "enum", "fixed")


@dataclass(frozen=True)
class WireSchema:
    """The wire schema of a file. Names of types are full names; their definitions are in ``named``."""

    type: Any
    named: dict[str, Any] = field(default_factory=dict)

    def resolve(self, wire_type: Any) -> Any:
        """The definition of a name, or the type itself."""
        return self.named.get(wire_type, wire_type) if isinstance(wire_type, str) else wire_type

    def leaves(self, paths: frozenset[Path] = frozenset()) -> Iterator[tuple[Path, Any]]:
        """Paths and types of the fields, in order.

        Records around one of ``paths`` are opened: their bytes are those of their fields. Other records are
        not, as a few records that hold one another may have millions of fields.
        """
        yield from self._leaves((), self.type, paths, frozenset())

    def _leaves(
        self, path: Path, wire_type: Any, paths: frozenset[Path], above: frozenset[str]
    ) -> Iterator[tuple[Path, Any]]:
        resolved = self.resolve(wire_type)
        name = resolved.get("name", "") if is_record(resolved) else ""
        around = not path or any(path == inner[: len(path)] for inner in paths)
        if not name or name in above or path in paths or not around:
            yield path, wire_type
            return
        for child in resolved["fields"]:
            yield from self._leaves((*path, child["name"]), child["type"], paths, above | {name})

    def inlined(self, wire_type: Any, defined: set[str]) -> Any:
        """The type with the definition of each name where it occurs first, so that it can be parsed alone."""
        resolved = self.resolve(wire_type)
        if isinstance(resolved, list):
            return [self.inlined(branch, defined) for branch in resolved]
        if not isinstance(resolved, dict):
            return resolved
        if resolved.get("name") in defined:
            return resolved["name"]
        defined.add(resolved.get("name", ""))
        return self._inlined_dict(resolved, defined)

    def _inlined_dict(self, resolved: dict[str, Any], defined: set[str]) -> dict[str, Any]:
        out = {key: value for key, value in resolved.items() if not key.startswith("__")}
        for key in ("items", "values"):
            if key in out:
                out[key] = self.inlined(out[key], defined)
        if "fields" in out:
            out["fields"] = [
                {"name": child["name"], "type": self.inlined(child["type"], defined)}
                for child in out["fields"]
            ]
        return out

    def parsed(self, wire_type: Any) -> Any:
        """The type ready for ``fastavro.schemaless_reader``."""
        return fastavro.parse_schema(self.inlined(wire_type, set()))


def wire_schema(schema: Any, *, text: bool = False) -> WireSchema:
    """Reduce a writer's schema; with ``text``, strings stay strings, and decimals and UUIDs are read as text.

    Raises ValueError where it is no Avro schema.
    """
    named: dict[str, Any] = {}
    try:
        return WireSchema(fastavro.parse_schema(_as_record(_reduced(schema, text=text)), named), named)
    except (SchemaParseException, UnknownType, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"not an Avro schema: {shown(error)}") from error
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _as_record(schema: Any) -> Any:
    """A union of null and a record (Flink writes dumps so) as a record whose first field is the branch.

    Both have the same bytes: the field has the branch's number, and no bytes more if it is the record's. If
    it is null's, the field is larger than any block, so that null is never read as a record. A record that
    may hold itself is left in its union, as it has no branch where it is nested.
    """
    records = [*filter(is_record, schema)] if isinstance(schema, list) else []
    if len(records) != 1 or any(kind != "null" for kind in schema if not is_record(kind)):
        return schema
    own_name = records[0]["name"].rpartition(".")[2]
    if any(name.rpartition(".")[2] == own_name for name in _types_in(records[0])):
        return schema
    no_record = {"type": "fixed", "name": f"{BRANCH}_of_null", "size": 2**31 - 1}
    branch = ["null" if is_record(kind) else no_record for kind in schema]
    return records[0] | {"fields": [{"name": BRANCH, "type": branch}, *records[0]["fields"]]}


def _types_in(kind: Any) -> Iterator[str]:
    """The names of types within a reduced type, including those that are defined elsewhere."""
    if isinstance(kind, str):
        yield kind
    elif isinstance(kind, list):
        for branch in kind:
            yield from _types_in(branch)
    else:
        items = [kind[name] for name in ("items", "values") if name in kind]
        for inner in (*items, *(child["type"] for child in kind.get("fields", ()))):
            yield from _types_in(inner)


OUR_RECORD = "kcompact.KafkaRecord"
"""The name of the records that we write, whose keys are bytes whatever type they had before."""

BRANCH = "kcompact_branch"
"""The name of the field that ``_as_record`` puts before a record's own; its value is always None."""


def is_in_union(wire_type: Any) -> bool:
    """Whether a type is the record of a union (``_as_record``), whose first field is the union's branch."""
    return is_record(wire_type) and any(child["name"] == BRANCH for child in wire_type["fields"][:1])


def _reduced(schema: Any, *, text: bool) -> Any:
    if isinstance(schema, str):
        return "bytes" if schema == "string" and not text else schema
    if isinstance(schema, list):
        return [_reduced(branch, text=text) for branch in schema]
    kind = schema["type"]
    marks = marks_of_text(schema) if text else {}
    if kind in _NAMED:
        return _reduced_named(schema, text=text) | marks
    if kind == "array":
        return {"type": "array", "items": _reduced(schema["items"], text=text)}
    if kind == "map":
        return {"type": "map", "values": _reduced(schema["values"], text=text)}
    return {"type": kind} | marks if marks else _reduced(kind, text=text)


def _reduced_named(schema: Any, *, text: bool) -> Any:
    reduced = {key: schema[key] for key in ("type", "name", "namespace", "symbols", "size") if key in schema}
    if "fields" in schema:
        reduced["fields"] = [
            {"name": child["name"], "type": _reduced(child["type"], text=text)} for child in schema["fields"]
        ]
    return reduced


def is_record(wire_type: Any) -> bool:
    """Whether the (resolved) type is a record."""
    return isinstance(wire_type, dict) and wire_type["type"] in ("record", "error")


def is_map(wire_type: Any) -> bool:
    """Whether the (resolved) type is a map."""
    return isinstance(wire_type, dict) and wire_type["type"] == "map"


def branches(wire_type: Any) -> list[Any]:
    """The types that a value can have: the branches of a union except null."""
    union = wire_type if isinstance(wire_type, list) else [wire_type]
    return [branch for branch in union if branch != "null"]


def is_bytes(schema: WireSchema, wire_type: Any) -> bool:
    """Whether values of the type are plain bytes (or text), perhaps null."""
    kinds = [schema.resolve(branch) for branch in branches(wire_type)]
    return all(kind == "bytes" or (isinstance(kind, dict) and kind["type"] == "fixed") for kind in kinds)


def is_integer(wire_type: Any) -> bool:
    """Whether values of the type are whole numbers, perhaps null."""
    kinds = branches(wire_type)
    return len(kinds) == 1 and kinds[0] in ("int", "long")


def is_plain(schema: WireSchema, wire_type: Any) -> bool:
    """Whether a key or value of the type stands for bytes by itself: bytes, text or a whole number."""
    return is_bytes(schema, wire_type) or is_integer(wire_type)


def key_type(schema: Any, type_of: Callable[[WireSchema], Any]) -> str:
    """A text that differs between types of keys whose equal bytes may be different keys.

    It is "plain" for all plain types, except for decimals, whose scale is in the schema alone.
    """
    wire, text = wire_schema(schema), wire_schema(schema, text=True)
    kinds = [text.resolve(branch) for branch in branches(type_of(text))]
    is_marked = any(isinstance(kind, dict) and "logicalType" in kind for kind in kinds)
    if is_plain(wire, type_of(wire)) and not is_marked:
        return "plain"
    defined: set[str] = set()
    return json.dumps([text.inlined(kind, defined) for kind in kinds])


_UNITS = {"millis": "ms", "micros": "us", "nanos": "ns"}
_NO_POINTS_IN_TIME = ("date", "time-", "duration")


def columns_of(path: str, wire: WireSchema) -> Columns:
    """The fields of the file at ``path``. Raises InputError for a schema that is no record's."""
    if not is_record(wire.resolve(wire.type)):
        raise InputError(
            f"{path}: the Avro records are bare values, without key and offset",
            hint="export the keys too: a .keys.avro file beside this one, or an envelope with a key field",
        )

    def holds(dotted: str) -> bool:
        """Whether the path leads to a field, through records, which may be null, or maps."""
        return bool(types_at(wire, [wire.type], dotted.split(".")))

    return Columns(path, "avro", field_names(wire), holds)


def avro_dialect(columns: Columns, schema: Any, wire: WireSchema, options: ReadOptions) -> Dialect:
    """The dialect of a file with these fields; roles are at dotted paths. Raises InputError."""
    name = wire.resolve(wire.type)["name"]
    is_aiven = name.endswith("connector_records")
    base = written_by(columns, options, spark=name == "topLevelRecord", aiven=is_aiven)
    dialect = column_dialect(columns, base, options, key_is_column=True)
    logical = _logical_type(kinds_at(schema, dialect.timestamp))
    if logical.startswith(_NO_POINTS_IN_TIME):
        refuse_no_timestamp(columns.path, dialect.timestamp, logical)
    unit = next((unit for ending, unit in _UNITS.items() if logical.endswith(ending)), None)
    key_kinds = kind_names_at(schema, dialect.key.place)
    return replace(
        dialect,
        timestamp_unit=unit or dialect.timestamp_unit,
        is_zoneless=logical.startswith("local-"),
        byte_exact="string" not in key_kinds,  # text may have been damaged on the way (U+FFFD), bytes not
        doubles=options.dialect is None and not key_kinds.isdisjoint(("float", "double")),
    )


def field_names(wire: WireSchema) -> list[str]:
    """Dotted paths of all fields, down to records within the outermost one; outer fields come first."""
    outer = [child for child in wire.resolve(wire.type)["fields"] if child["name"] != BRANCH]
    names = [child["name"] for child in outer]
    for child in outer:
        for record in filter(is_record, map(wire.resolve, branches(child["type"]))):
            names += [f"{child['name']}.{inner['name']}" for inner in record["fields"]]
    return names


def types_at(wire: WireSchema, kinds: list[Any], path: Iterable[str]) -> list[Any]:
    """The types at a path below other types; each name of the path may also be a key of a map."""
    for name in path:
        outer = [wire.resolve(branch) for kind in kinds for branch in branches(kind)]
        children = [child for record in filter(is_record, outer) for child in record["fields"]]
        kinds = [child["type"] for child in children if child["name"] == name]
        kinds += [kind["values"] for kind in filter(is_map, outer)]
    return kinds


def kinds_at(schema: Any, dotted: str | None) -> list[Any]:
    """The branches of a field's type in the writer's schema; empty if there is no such field."""
    kind: Any = schema if dotted else []
    for name in dotted.split(".") if dotted else ():
        records = [_opened(branch) for branch in _as_union(kind) if isinstance(branch, dict)]
        fields = [child for record in records for child in record.get("fields", ())]
        in_maps = [record["values"] for record in records if is_map(record)]
        kind = next((child["type"] for child in fields if child["name"] == name), [])
        kind = in_maps[0] if in_maps else kind
    return _as_union(kind)


def kind_names_at(schema: Any, dotted: str | None) -> set[str]:
    """The names of the types that a field may have: ``null``, ``string``, ``record`` and so on."""
    return {str(kind["type"] if isinstance(kind, dict) else kind) for kind in kinds_at(schema, dotted)}


def _logical_type(kinds: list[Any]) -> str:
    """The logical type of the field; an empty text if it has none."""
    logical = (str(kind["logicalType"]) for kind in kinds if isinstance(kind, dict) and "logicalType" in kind)
    return next(logical, "")


def _as_union(kind: Any) -> list[Any]:
    return kind if isinstance(kind, list) else [kind]


def _opened(kind: Any) -> Any:
    """The definition within ``{"type": {"type": "record", ...}}``, or the type itself."""
    return kind["type"] if isinstance(kind.get("type"), dict) else kind
