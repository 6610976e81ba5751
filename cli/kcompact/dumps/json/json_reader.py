"""Reads the bytes of one JSON record into a Record, by the rules of its dialect."""

import base64
import re
from codecs import BOM_UTF8
from collections.abc import Callable
from typing import Any

import orjson

from kcompact.dumps.dialects.dialect import DATA_ROLES, DataRole
from kcompact.dumps.dialects.paths import Path, fields_read, members_beside, path_of, places_of
from kcompact.dumps.json.canonical_json import is_spelt_variously
from kcompact.dumps.json.console_payload import as_sent, is_respelt, repeated_in, require_shown
from kcompact.dumps.json.json_text import (
    ParsedJson,
    Repeating,
    reads_as_json,
    refuse_nan,
    repeated_member,
)
from kcompact.dumps.json.late_members import refuse_late
from kcompact.dumps.json.transaction_markers import refuse_marker
from kcompact.dumps.records.framed import CUT_HINT, MARK_WITHIN, NOT_A_RECORD_HINT
from kcompact.dumps.records.headers import Headers, bytes_of_array, bytes_of_numbers, is_buffer
from kcompact.dumps.records.layout import PARSED_VALUES, DumpFile, SplitNotes
from kcompact.dumps.records.reading import DAMAGED_HINT, MISSING, REPLACEMENT, FieldRules
from kcompact.dumps.records.record import Record
from kcompact.dumps.records.shown import shown
from kcompact.dumps.text.between_records import WITHIN_HINT, is_kcat_within
from kcompact.errors import UnreadableError

_KINDS: dict[type, str] = {str: "string", bool: "boolean", list: "array", type(None): "null"}
_JAVA_MAP = re.compile(rb"\s*\{\w+=")


class JsonReader:
    """A reader of a record's bytes. ``values``: decode values in full, not only whether they are null."""

    def __init__(self, file: DumpFile, notes: SplitNotes, *, values: bool) -> None:
        self._rules = FieldRules(file, notes)
        self._dialect = dialect = file.dialect
        self._values = values
        self._late_names = frozenset(name for _, name in dialect.late_names)
        self._arrays = {role for role in DATA_ROLES if dialect.of(role).encoding == "numbers"}
        self._paths = {role: _path(place) for role, place in dialect.places.items()}
        self._errors = {role: _path(dialect.of(role).error) for role in DATA_ROLES}
        self._markers = {role: _path(dialect.of(role).marker) for role in DATA_ROLES}
        self._base64 = {role: _path(dialect.of(role).base64) for role in DATA_ROLES}
        self._flag = _path(dialect.delete_flag)
        self._places = places_of(map(path_of, fields_read(dialect)))

    def __call__(self, data: bytes, ordinal: int) -> Record:
        """Read one record, the ``ordinal``-th of its split. Raises UnreadableError."""
        try:
            return self._record(self._parsed(data), ordinal)
        except RecursionError as error:
            raise UnreadableError("the record is nested too deeply", DAMAGED_HINT) from error
        except (UnicodeEncodeError, orjson.JSONEncodeError) as error:
            raise UnreadableError(f"a string of the record is no text ({error})", DAMAGED_HINT) from error

    def _record(self, parsed: ParsedJson, ordinal: int) -> Record:
        rules, paths = self._rules, self._paths
        rules.see("record")
        if not self._late_names.isdisjoint(parsed.value or ()):
            parts: dict[str, Any] = {role: self._get(parsed, self._paths[role]) for role in DATA_ROLES}
            refuse_late(self._dialect, parsed.value, parts)
        if rules.is_conversion and parsed.value is not None:
            rules.see_beside(members_beside(parsed.value, self._places))
        if self._dialect.has_markers:
            refuse_marker(self._get(parsed, paths["key"]), self._get(parsed, paths["value"]))
        value = self._value(parsed)
        rules.refuse_delete(self._get(parsed, self._flag), value)
        offset = rules.to_offset(self._get(parsed, paths["offset"]), ordinal)
        timestamp = self._get(parsed, paths["timestamp"])
        return Record(
            rules.to_topic(self._get(parsed, paths["topic"])),
            rules.to_partition(self._get(parsed, paths["partition"])),
            offset,
            rules.to_timestamp_ms(timestamp),
            self._key(parsed, offset),
            value,
            self._headers(parsed),
            rules.to_timestamp_type(self._get(parsed, paths["timestamp_type"]), timestamp),
        )

    def _headers(self, parsed: ParsedJson) -> Headers:
        if (path := self._paths["headers"]) is None or (raw := self._get(parsed, path)) is MISSING:
            return ()
        self._rules.see("headers")
        return self._rules.to_headers(parsed.with_spellings(raw, path), parsed.errors) if self._values else ()

    def _parsed(self, data: bytes) -> ParsedJson:
        try:
            parsed = ParsedJson(data)
        except ValueError as error:
            raise UnreadableError(*why_not_json(data, error)) from error
        if parsed.twice:
            self._refuse_repeated(parsed)
        if self._dialect.listed and isinstance(parsed.value, list):
            if len(parsed.value) != len(("key", "value")):
                raise UnreadableError("an array that is no pair of a key and its value", DAMAGED_HINT)
            parsed.value = {str(index): item for index, item in enumerate(parsed.value)}
        if isinstance(parsed.value, dict) or (parsed.value is None and self._dialect.is_event):
            return parsed
        raise UnreadableError(
            f"a JSON {_KINDS.get(type(parsed.value), 'number')}, not a record with key and value",
            "a dump of bare values has no keys to compact on; export the keys too. Where each value holds its"
            " key, name that field with --key-field; a null after a delete may be its tombstone, which --cdc"
            " debezium reads as such",
        )

    def _refuse_repeated(self, parsed: ParsedJson) -> None:
        """Raise UnreadableError for a member that occurs twice and is read; other members may."""
        beside = [path for paths in (self._errors, self._markers, self._base64) for path in paths.values()]
        for role, path in (*self._paths.items(), *(("", path) for path in (*beside, self._flag))):
            if path is None:
                continue
            value = parsed.value
            for name in path:
                if isinstance(value, Repeating) and name in value.twice:
                    raise repeated_member(name, "the record")
                value = value.get(name) if isinstance(value, dict) else None
            if repeated := repeated_in(value, role, values=self._values):
                raise repeated_member(min(repeated), f"the record's {role}")

    @staticmethod
    def _get(parsed: ParsedJson, path: Path | None) -> Any:
        if path is None:
            return MISSING
        value = parsed.value
        if len(path) == 1:  # nearly always
            return value.get(path[0], MISSING)
        for name in path:
            if not isinstance(value, dict):
                return MISSING
            value = value.get(name, MISSING)
            if value is MISSING:
                return MISSING
        return value

    def _key(self, parsed: ParsedJson, offset: int) -> bytes | None:
        raw = self._get(parsed, self._paths["key"])
        if raw is MISSING or (raw is None and not self._dialect.null_word):
            return self._absent(parsed, raw, "key")
        refuse_nan(raw, "key")
        self._rules.see("key")
        key = self._bytes(parsed, raw, "key")
        if key == b"":
            return self._empty(parsed, "key")
        is_text = REPLACEMENT.decode() in raw if isinstance(raw, str) else not is_buffer(raw)
        if key and is_text:
            self._rules.check_key(key, offset)  # U+FFFD in base64 or in a Buffer is no sign of loss
        return key

    def _value(self, parsed: ParsedJson) -> bytes | None:
        raw = self._get(parsed, self._paths["value"])
        if raw is MISSING or (raw is None and not self._dialect.null_word):
            return self._absent(parsed, raw, "value")
        refuse_nan(raw, "value")
        self._rules.see("value")
        if raw == "" or (raw == [] and "value" in self._arrays):
            return self._empty(parsed, "value")
        if type(raw) is str and not self._values and self._dialect.null_literal is None:
            return b"?"
        return self._bytes(parsed, raw, "value")

    def _empty(self, parsed: ParsedJson, role: DataRole) -> bytes | None:
        return self._rules.null_or_empty(role, "empty", self._get(parsed, self._errors[role]))

    def _absent(self, parsed: ParsedJson, raw: Any, role: DataRole) -> bytes | None:
        """The key or value for which a missing or null field stands."""
        if raw is MISSING and role == "key" and self._dialect.key_fields:
            return None
        if raw is None:
            self._rules.see(role)
        self._rules.refuse_error(self._get(parsed, self._errors[role]), role)
        if raw is None:
            return self._rules.null_or_empty(role, "null") if self._dialect.empty_as_null else None
        instead = self._instead(parsed, role)
        return self._rules.null_or_empty(role, "missing") if instead is None else instead

    def _instead(self, parsed: ParsedJson, role: DataRole) -> bytes | None:
        """The bytes of the base64 field that kcl writes in place of text that is no UTF-8, or None."""
        raw = self._get(parsed, self._base64[role])
        if not isinstance(raw, str):
            return None
        self._rules.see(role)
        return self._rules.decoded(parsed.encoded(raw), role, "base64")

    def _bytes(self, parsed: ParsedJson, raw: Any, role: DataRole) -> bytes | None:
        """The bytes of a key or value that is neither missing nor null; None if it is a word for null."""
        if role in self._arrays:
            return self._raw_bytes(bytes_of_array, raw, role)
        if type(raw) is str:
            return self._text(parsed, raw, role)
        if type(raw) is dict:
            if is_buffer(raw):
                return self._raw_bytes(bytes_of_numbers, raw["data"], role)
            if "payload" in raw and "isPayloadNull" in raw:
                return self._console(parsed, raw, role)
        return self._spelling(parsed, role, ())

    def _text(self, parsed: ParsedJson, raw: str, role: DataRole) -> bytes | None:
        text = parsed.encoded(raw)
        if self._rules.is_literal(text, role):
            return None
        marker = self._markers[role]
        encoding = self._rules.encoding_of(self._get(parsed, marker), role) if marker else None
        if encoding is not None:
            return self._rules.decoded(text, role, encoding)
        if role == "key" and self._dialect.key.encoding == "json" and reads_as_json(text):
            if self._rules.is_conversion:
                self._rules.count("quoted_keys", shown(raw))
            return orjson.dumps(raw)
        if role == "key" and self._dialect.canonical_keys and is_spelt_variously(text):
            self._rules.count("json_keys_in_quotes")
        return self._rules.decoded(text, role)

    def _spelling(self, parsed: ParsedJson, role: DataRole, below: Path) -> bytes:
        """The exact text of a key or value that is no string; ``below`` is its path within that field."""
        if role == "value":
            self._rules.see(PARSED_VALUES)
        if role == "value" and not self._values:
            return b"?"
        if role == "key" and self._dialect.key.encoding != "json":
            if self._dialect.canonical_keys:
                self._rules.count("json_keys")
                return parsed.spelling((self._paths["key"] or ()) + below)
            raise UnreadableError(
                "the key is no string, but the keys at the beginning of the dump are",
                "add --canonical-keys if keys are JSON of several types here: those of one value, such as 10"
                " and 1e1, are then one key however spelt",
            )
        if self._dialect.doubles and role == "key":
            self._rules.check_numbers(parsed.spelling(self._paths["key"] or ()))
        return parsed.spelling((self._paths[role] or ()) + below)

    def _console(self, parsed: ParsedJson, raw: dict[str, Any], role: DataRole) -> bytes | None:
        """A key or value of Redpanda Console: an object that marks null, and may have the raw bytes."""
        if raw["isPayloadNull"]:
            return None
        if raw.get("rawPayload") is not None:
            return self._raw_bytes(base64.b64decode, raw["rawPayload"], role)
        require_shown(raw, role)
        if role == "value" and not self._values:
            return b"?"
        if isinstance(raw["payload"], str):
            spelling = self._text(parsed, raw["payload"], role) or b""
        else:
            spelling = self._spelling(parsed, role, ("payload",))
        sent = as_sent(raw, spelling)
        if role == "key" and is_respelt(raw, sent):
            self._rules.count("respelt_keys", sent.decode("utf-8", "replace")[:60])
        return sent

    def _raw_bytes(self, decode: Callable[[Any], bytes], raw: Any, role: str) -> bytes:
        try:
            return decode(raw)
        except (ValueError, TypeError) as error:
            raise UnreadableError(f"the {role}'s bytes cannot be read: {shown(raw)}", DAMAGED_HINT) from error


def _path(place: str | None) -> Path | None:
    return None if place is None else path_of(place)


def why_not_json(data: bytes, error: ValueError) -> tuple[str, str]:
    """Reason and hint for a record that cannot be parsed."""
    if data.startswith(BOM_UTF8):
        return MARK_WITHIN
    shown = data[:60].decode("utf-8", "replace")
    if _JAVA_MAP.match(data):
        return (
            f"a map as Java prints it, not JSON: {shown!r}",
            "such text (Kafka Connect's FileStreamSink) cannot be read back; export as JSON, with keys",
        )
    if data.lstrip().startswith(b"{'"):
        return (
            f"a dict as Python prints it, not JSON: {shown!r}",
            "have the script write json.dumps(record) where it prints the record",
        )
    if data.lstrip()[:1] == b"{" and not data.rstrip().endswith(b"}"):
        hint = f"a message of kcat itself stands in its middle: {WITHIN_HINT}"
        return f"the record is cut off or spans lines: {shown!r}", hint if is_kcat_within(data) else CUT_HINT
    reason = str(error).split(":")[0] if data.strip() else "a comma with no record behind it"
    return f"not JSON ({reason}): {shown!r}", NOT_A_RECORD_HINT
