"""Reads Avro records one by one with fastavro, and makes Records of them by their dialect."""

import io
import itertools
import json
import struct
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import fastavro

from kcompact.dumps.avro.avro_bounds import AvroBounds
from kcompact.dumps.avro.avro_schema import (
    OUR_RECORD,
    WireSchema,
    branches,
    field_names,
    is_bytes,
    is_in_union,
    is_integer,
    is_map,
    is_plain,
    key_type,
    types_at,
    wire_schema,
)
from kcompact.dumps.dialects.dialect import DATA_ROLES, ERRORS, DataRole
from kcompact.dumps.dialects.paths import Path, columns_beside
from kcompact.dumps.records.headers import Headers
from kcompact.dumps.records.layout import DumpFile, SplitNotes
from kcompact.dumps.records.reading import MISSING, FieldRules
from kcompact.dumps.records.record import Record
from kcompact.dumps.records.shown import shown
from kcompact.dumps.records.structured import as_json, as_text, headers_of, refuse_rounded
from kcompact.dumps.records.value_keys import ValueKeys
from kcompact.errors import UnreadableError

DAMAGE = (EOFError, IndexError, KeyError, MemoryError, OverflowError, TypeError, ValueError, struct.error)
"""The errors that fastavro raises on bytes that do not fit the schema."""

read_datum = partial(fastavro.schemaless_reader, handle_unicode_errors="surrogateescape")
"""Reads a datum (stream, schema, None); text that is no UTF-8 has surrogate escapes. Raises DAMAGE."""

_PADDING = bytes(16)
"""Added to a block's bytes: fastavro reads a cut field without an error, and with these beyond the end."""


class Datum(NamedTuple):
    """One record of a block: its bytes in the unpacked block, its fields, and the bytes of some fields."""

    position: int
    record_bytes: int
    values: dict[Path, Any]
    raw: dict[Path, bytes]

    def at(self, path: Path) -> Any:
        """The value at the path; None where a record around it is null. Raises KeyError."""
        for length in range(len(path), -1, -1):
            if path[:length] in self.values:
                value = self.values[path[:length]]
                for name in path[length:]:
                    value = value.get(name) if isinstance(value, dict) else None
                return value
        raise KeyError(path)


class RecordReader:
    """Reads the records of unpacked blocks through the wire schema.

    Neighbouring fields are read in one call. Fields among ``exact`` whose values do not stand for bytes by
    themselves are read alone, so that their encoded bytes are known.
    """

    def __init__(self, wire: WireSchema, exact: frozenset[Path]) -> None:
        self._bounds = AvroBounds(wire)
        leaves = [
            (path, kind, path in exact and not is_plain(wire, kind)) for path, kind in wire.leaves(exact)
        ]
        self._parts: list[tuple[list[Path], Any, bool]] = []
        for alone, group in itertools.groupby(leaves, key=lambda leaf: leaf[2]):
            members = [(path, kind) for path, kind, _ in group]
            for run in [[member] for member in members] if alone else [members]:
                self._parts.append(([path for path, _ in run], _parsed(wire, run, alone=alone), alone))
        self._branch_bytes = {path: branch_bytes(kind) for path, kind, alone in leaves if alone}

    def read(self, unpacked: bytes) -> Iterator[Datum]:
        """The records one after another; the caller has to know how many there are. Raises DAMAGE."""
        self._bounds.check(unpacked)
        stream = io.BytesIO(unpacked + _PADDING)
        position = 0
        while True:
            values: dict[Path, Any] = {}
            raw: dict[Path, bytes] = {}
            for paths, schema, alone in self._parts:
                begin = stream.tell()
                value: Any = read_datum(stream, schema, None)
                if alone:
                    values[paths[0]] = value
                    raw[paths[0]] = unpacked[begin + self._branch_bytes[paths[0]] : stream.tell()]
                else:
                    values.update(zip(paths, value.values(), strict=True))
            end = stream.tell()
            if end > len(unpacked):
                raise EOFError("a record runs over the end of its block")
            yield Datum(position, end - position, values, raw)
            position = end


def branch_bytes(kind: Any) -> int:
    """The bytes of a branch number to cut off before a value: 1 in a union of null and one type, else 0."""
    return 1 if is_in_union(kind) or (isinstance(kind, list) and len(branches(kind)) == 1) else 0


def _parsed(wire: WireSchema, run: list[tuple[Path, Any]], *, alone: bool) -> Any:
    if alone:
        return wire.parsed(run[0][1])
    fields = [{"name": f"f{number}", "type": kind} for number, (_, kind) in enumerate(run)]
    return wire.parsed({"type": "record", "name": "Part", "fields": fields})


_BYTES, _INTEGER, _DATUM, _UNION = "bytes", "integer", "datum", "union"


def _kind_of(value: Any, role: str) -> str:
    """The kind of a value that may have several types, by the value itself. Raises UnreadableError."""
    if isinstance(value, bytes):
        return _BYTES
    if type(value) is int:
        return _INTEGER
    raise UnreadableError(
        f"the {role} is {shown(value)} in a map or a union of records: only bytes, text and whole numbers"
        " can be read there"
    )


class AvroReader:
    """Makes Records of a file's Datums. ``values``: decode values and headers in full."""

    def __init__(self, file: DumpFile, notes: SplitNotes, *, values: bool) -> None:
        self._rules, self.notes = FieldRules(file, notes), notes
        self._values = values or file.dialect.reads_values
        self._keyed = ValueKeys(file, notes).keyed if file.dialect.reads_values else None
        self._schema = file.shape.header.schema
        self.wire = wire_schema(self._schema)
        named = file.dialect.places | file.dialect.judging
        self.paths: dict[str, Path] = {r: tuple(dotted.split(".")) for r, dotted in named.items() if dotted}
        if file.dialect.value.place == "":
            self.paths["value"] = ()
        self._exact = frozenset(self.paths[role] for role in DATA_ROLES if role in self.paths)
        self._kinds = {role: self._kind(role) for role in DATA_ROLES}
        self._text_schema: Any = None
        if "key" in self.paths and self.wire.resolve(self.wire.type)["name"] != OUR_RECORD:
            notes.key_type = key_type(self._schema, lambda wire: self.type_at(wire, self.paths["key"]))
        if self._rules.is_conversion:
            self._rules.see_beside(columns_beside(field_names(self.wire), file.dialect))

    def records(self) -> RecordReader:
        """The reader of the datums of which this reader makes Records."""
        return RecordReader(self.wire, self._exact)

    def type_at(self, wire: WireSchema, path: Path) -> Any:
        """The type of the field at the path; nulls of records around it are not part of it."""
        return self._types_at(wire, path)[0]

    def _types_at(self, wire: WireSchema, path: Path) -> list[Any]:
        """The types of the field at the path: several if records of several kinds are around it."""
        leaves = dict(wire.leaves(self._exact))
        for length in range(len(path), -1, -1):
            if path[:length] in leaves:
                return types_at(wire, [leaves[path[:length]]], path[length:])
        raise KeyError(path)

    def _kind(self, role: str) -> str:
        if role not in self.paths:
            return _BYTES
        kinds = self._types_at(self.wire, self.paths[role])
        if all(map(is_integer, kinds)):
            return _INTEGER
        if all(is_bytes(self.wire, kind) for kind in kinds):
            return _BYTES
        if len({json.dumps(self.wire.inlined(kind, set())) for kind in kinds}) > 1:
            return _UNION
        parent = types_at(self.wire, [self.wire.type], self.paths[role][:-1])
        is_in_map = any(is_map(self.wire.resolve(branch)) for outer in parent for branch in branches(outer))
        return _UNION if is_in_map and isinstance(kinds[0], list) else _DATUM

    def __call__(self, datum: Datum, ordinal: int) -> Record:
        """The Record of a datum, the ``ordinal``-th of its split. Raises UnreadableError."""
        rules = self._rules
        rules.see("record")
        timestamp = self._get(datum, "timestamp")
        topic = rules.to_topic(as_text(self._get(datum, "topic")))
        partition = rules.to_partition(as_text(self._get(datum, "partition")))
        offset = rules.to_offset(as_text(self._get(datum, "offset")), ordinal)
        record = Record(
            topic,
            partition,
            offset,
            rules.to_timestamp_ms(as_text(timestamp)),
            self._part(datum, "key", offset),
            self._part(datum, "value", offset),
            headers_of(self._get(datum, "headers"), self.notes) if self._values else (),
            rules.to_timestamp_type(as_text(self._get(datum, "timestamp_type")), as_text(timestamp)),
        )
        rules.refuse_delete(as_text(self._get(datum, "delete_flag")), record.value)
        return record if self._keyed is None else self._keyed(record)

    def _get(self, datum: Datum, role: str) -> Any:
        path = self.paths.get(role)
        if path is None:
            return MISSING
        value = datum.values.get(path, MISSING)
        return datum.at(path) if value is MISSING else value

    def _part(self, datum: Datum, role: DataRole, offset: int) -> bytes | None:
        """The key or the value."""
        self._rules.see(role)  # even if the schema has no such field, which clearly means null
        value = self._get(datum, role)
        if value is MISSING or value is None:
            self._rules.refuse_error(as_text(self._get(datum, ERRORS[role])), role)
            return None
        part = self._bytes(datum, role, value)
        if role == "key":
            self._rules.check_key(part, offset)
            if isinstance(value, float):
                refuse_rounded(value, self._rules.dialect)
        return self._rules.stored(part, role, as_text(self._get(datum, ERRORS[role])))

    def _bytes(self, datum: Datum, role: DataRole, value: Any) -> bytes:
        """The bytes of a key or value: bytes or text as they are, a number's digits, else its Avro encoding.

        If values are decoded in full, a structured value becomes JSON.
        """
        kind = self._kinds[role] if self._kinds[role] != _UNION else _kind_of(value, role)
        if kind == _BYTES:
            return bytes(value)
        if kind == _INTEGER:
            return b"%d" % value
        if role == "key" and self._rules.is_conversion:
            self._rules.count("datum_keys")
        raw = datum.raw.get(self.paths[role])
        if raw is None:
            raw = _encoded(self.wire, self.type_at(self.wire, self.paths[role]), value)
        return self._as_json(raw) if role == "value" and self._values else raw

    def _as_json(self, raw: bytes) -> bytes:
        if self._text_schema is None:
            text = wire_schema(self._schema, text=True)
            self._text_schema = text.parsed(without_null(self.type_at(text, self.paths["value"])))
        return as_json(read_datum(io.BytesIO(raw), self._text_schema, None))


def headers_decoder(reader: AvroReader) -> Callable[[bytes], Headers]:
    """A decoder of headers from their bytes in a block, without a union's branch number; it raises DAMAGE."""
    path = reader.paths.get("headers")
    kind = [] if path is None else branches(reader.type_at(reader.wire, path))
    schema: Any = reader.wire.parsed(kind[0]) if len(kind) == 1 else None
    return lambda encoded: headers_of(read_datum(io.BytesIO(encoded), schema, None), reader.notes)


def without_null(kind: Any) -> Any:
    """The type of a value from which the number of its branch was cut off."""
    if is_in_union(kind):
        return kind | {"fields": kind["fields"][1:]}
    return branches(kind)[0] if branch_bytes(kind) else kind


def _encoded(wire: WireSchema, kind: Any, value: Any) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, wire.parsed(kind), value)
    return out.getvalue()[branch_bytes(kind) :]
