"""Facts taken from a record's value: its key (``--key-field``), and whether it is a delete (``--cdc``)."""

from typing import Any

import orjson

from kcompact.dumps.count_names import ComposedName
from kcompact.dumps.dialects.dialect import Dialect
from kcompact.dumps.dialects.paths import path_of
from kcompact.dumps.json.json_text import ParsedJson, canonical, compact_json, reads_as_json, repeated_member
from kcompact.dumps.records.change_events import (
    FORMATS,
    ChangeEvent,
    Member,
    Place,
    format_of,
    several_rows,
    text_within,
)
from kcompact.dumps.records.layout import DumpFile, SplitNotes
from kcompact.dumps.records.reading import FieldRules
from kcompact.dumps.records.record import Record
from kcompact.dumps.records.structured import INEXACT, rounded
from kcompact.errors import UnreadableError

_UNCHANGED = b"__debezium_unavailable_value"
_MOST_TABLES = 8
_NULLS = (None, {"schema": None, "payload": None})  # the second is what Connect's JSON converter may write


class ValueKeys:
    """Replaces the key that a reader gives a record by one made of fields of the value (``--key-field``).

    A change event that deletes its row (``--cdc``) is marked ``is_delete``: it is a tombstone of its key.
    """

    def __init__(self, file: DumpFile, notes: SplitNotes, *, is_typed: bool = False) -> None:
        self._dialect: Dialect = file.dialect
        self._rules = FieldRules(file, notes, keys_of_values=True)
        self._notes = notes
        self._is_bare = self._dialect.is_event and file.layout in {"json_lines", "json_objects"}
        # A float of a typed row may have been rounded; JSON text still has all digits of a number.
        is_row_of_columns = self._dialect.value.place == "" and file.layout in {"avro", "parquet"}
        self._has_types = is_typed or is_row_of_columns
        names = [_before(name) for name in self._dialect.key_fields] + list(self._dialect.key_fields)
        self._names = {*names, *(part for name in names for part in path_of(name))}

    def keyed(self, record: Record) -> Record:
        """The record with the key made of its value, and marked if it is a delete. Raises UnreadableError."""
        parsed = None if record.value is None else self._parsed(record.value)
        if self._dialect.cdc and parsed is not None and parsed.value in _NULLS:
            record, parsed = record._replace(value=None), None
        if parsed is None or record.value is None:
            return record._replace(key=self._key_without_row(record)) if self._dialect.key_fields else record
        event = FORMATS[cdc](parsed) if (cdc := self._dialect.cdc) else ChangeEvent(places=(Place(parsed),))
        if event.rows > 1:
            raise several_rows(event.rows, is_bare=self._is_bare)
        if self._dialect.cdc and _UNCHANGED in record.value:
            self._rules.count("unavailable_values")
        if event.is_delete:
            record = record._replace(is_delete=True)
        return record._replace(key=self._key(record, parsed, event)) if self._dialect.key_fields else record

    def _parsed(self, data: bytes) -> ParsedJson | None:
        """The parsed data, or None if they are not JSON.

        Raises UnreadableError where a member that may be asked for occurs twice.
        """
        try:
            parsed = ParsedJson(data)
            if self._dialect.cdc and (text := text_within(parsed.value)) is not None:
                parsed = ParsedJson(parsed.encoded(text))
        except ValueError:
            return None
        repeated = parsed.twice if self._dialect.cdc else parsed.twice & self._names
        if repeated:
            raise repeated_member(min(repeated), "the value")
        return parsed

    def _key(self, record: Record, parsed: ParsedJson, event: ChangeEvent) -> bytes | None:
        keys = (self._key_in(place, event) for place in event.places)
        key = next((key for key in keys if key is not None), None)
        if key is None and self._dialect.cdc is None:
            key = self._key_before(parsed)
        if key is None:
            if event.is_delete:
                raise UnreadableError(
                    f"a delete without {', '.join(self._dialect.key_fields)}: which row does it delete?",
                    "name fields that every event has, before the change as well as after it; or export the"
                    " records with their keys, which tell it",
                )
            if self._dialect.cdc is None and (name := format_of(parsed.value)):  # not read as an event
                self._rules.count(ComposedName(f"{name}_events"))
            return None
        if self._has_moved(event):
            self._rules.count("moved_rows")
        if not self._names.issuperset(event.primary_key):
            self._rules.count("wider_primary_keys")
        self._rules.see("key")
        self._rules.check_key(key, record.offset)
        self._see_table(record.topic, event)
        return key

    def _has_moved(self, event: ChangeEvent) -> bool:
        """Whether an update has given its row another key."""
        members = {name: event.places[0].get(name) for name in self._dialect.key_fields if name in event.old}
        return any(member is not None and member[2] != event.old[name] for name, member in members.items())

    def _key_in(self, place: Place, event: ChangeEvent) -> bytes | None:
        """The key made of the fields in this place; None if a field is not there, or all are null."""
        members: list[Member] = []
        for name in self._dialect.key_fields:
            if name in event.table:
                members.append((None, (), event.table[name]))
            elif (member := place.get(name)) is not None:
                members.append(member)
            else:
                return None
        if all(value is None for _, _, value in members):
            return None
        return self._spelt(members)

    def _spelt(self, members: list[Member]) -> bytes:
        """The key's bytes: of one field its text or exact spelling, of several a JSON array in their order.

        Text in an array is spelt canonically, as the escapes in it are the writer's choice.
        """
        if len(members) == 1 and isinstance(members[0][2], str):
            parsed, _, text = members[0]
            key = text.encode() if parsed is None else parsed.encoded(text)
            return orjson.dumps(text) if reads_as_json(key) else key
        parts = [self._spelling(*member) for member in members]
        return parts[0] if len(parts) == 1 else b"[" + b",".join(parts) + b"]"

    def _spelling(self, parsed: ParsedJson | None, path: tuple[str, ...], value: Any) -> bytes:
        if parsed is None or value is None or type(value) in (bool, int):
            return compact_json(value, "strict")
        if self._has_types and isinstance(value, float) and abs(value) >= INEXACT:
            raise rounded(value)
        spelling = parsed.spelling(path)
        dialect = self._dialect
        is_spelt_alike = isinstance(value, str) or dialect.canonical_keys or dialect.cdc is not None
        return canonical(spelling) if is_spelt_alike else spelling

    def _key_before(self, parsed: ParsedJson) -> bytes | None:
        """The key of ``after.id`` from ``before.id``, for an event without ``after``."""
        names = [_before(name) for name in self._dialect.key_fields]
        if names == list(self._dialect.key_fields):
            return None
        candidates = [Place(parsed).get(name) for name in names]
        members = [member for member in candidates if member is not None]
        if len(members) < len(names) or all(value is None for _, _, value in members):
            return None
        self._rules.count("keys_before")
        return self._spelt(list(members))

    def _key_without_row(self, record: Record) -> bytes | None:
        """The key of a record whose value has no row: it is null, or not JSON.

        With ``--cdc``, a tombstone's key is made of the fields in its own key, or else is that key as it is.
        Other records have none.
        """
        if record.key is None or record.value is not None:
            return None
        if self._dialect.cdc is None:
            self._rules.count("keyed_tombstones")
            return None
        parsed = self._parsed(record.key)
        if parsed is not None and isinstance(parsed.value, dict):
            places = (Place(parsed), Place(parsed, ("payload",)))
            for place in places:
                key = self._key_in(place, ChangeEvent())
                if key is not None:
                    return key
        return record.key

    def _see_table(self, topic: str, event: ChangeEvent) -> None:
        """Note the database tables whose rows are in a topic, as far as keys do not include their names."""
        unsaid = [
            f"{name}={value}" for name, value in event.table.items() if name not in self._dialect.key_fields
        ]
        tables = self._notes.tables.setdefault(topic, [])
        table = ", ".join(unsaid)
        if table not in tables and len(tables) < _MOST_TABLES:
            tables.append(table)


def _before(name: str) -> str:
    return ".".join("before" if part == "after" else part for part in name.split("."))
