"""From parsed fields to the parts of a Record: the rules that JSON, CSV and text have in common."""

import re
from collections.abc import Iterable
from itertools import islice
from shlex import quote
from typing import Any

from kcompact.digits import INT_MAX, LARGEST_OFFSET, LONG_MAX, whole_number
from kcompact.dumps.count_names import ComposedName, CountName
from kcompact.dumps.dialects.dialect import DATA_ROLES, JSON, DataRole, Dialect, NullForm
from kcompact.dumps.dialects.part_names import FLAGS_SET, marked_deletes
from kcompact.dumps.dialects.paths import path_of
from kcompact.dumps.dialects.unexported import is_size, is_size_of_null, not_exported, says_why
from kcompact.dumps.records.encodings import ENCODINGS, UnknownEncodingError, marked_encoding
from kcompact.dumps.records.headers import Headers, decode_headers, extras_of, keeps_no_order
from kcompact.dumps.records.layout import ConversionNotes, DumpFile, SplitNotes
from kcompact.dumps.records.shown import by_jq, in_jq, shown
from kcompact.dumps.records.timestamps import (
    SMALLEST_US,
    has_no_zone,
    is_unknown_type,
    odd_time,
    prefixed_type,
    timestamp_ms,
    timestamp_type,
)
from kcompact.dumps.text.printed_headers import may_be_others
from kcompact.errors import UnreadableError

_LARGE_NUMBER = re.compile(rb"\d{16}|\d[eE]\+")  # from 2**53 on, not every integer is a double
REPLACEMENT = "\ufffd".encode()
EXAMPLES = 3
MOST_BESIDE = 100  # names of fields
_SURROGATE = re.compile("[\ud800-\udfff]")  # bytes that are no UTF-8, or half a character
DAMAGED_HINT = (
    "the record was damaged or edited: export the dump again; without it, what it replaced or deleted"
    " comes back"
)


_HEADERS_HINT = (
    "write headers as a list of objects of key and value, values all as text (--dialect plain reads them so)"
    " or all as base64 (--dialect plain-base64), or export as JSON lines (kcat -J); with --fields headers="
    f" they are lost in what the dump is converted to; else {DAMAGED_HINT}"
)
_NUMBER_HINT = (
    "topics are text, partitions and offsets whole numbers, each in a field of its own (pandas:"
    " .astype('Int64') before they are written; R: options(scipen = 99)); where an object stands for it, name"
    " the member that holds it, as in --fields offset=offset.value; where that is a whole column, write"
    f" records (pandas: to_json(..., orient='records', lines=True)); else {DAMAGED_HINT}"
)
_TIMESTAMP_HINT = (
    "write milliseconds (in R after options(scipen = 99)), or 2024-01-31T10:00:00Z, or name the member that"
    " holds it, as in --fields timestamp=timestamp.value; where no setting depends on records' age, they"
    " can do without: --fields timestamp="
)
_ENCODINGS_HINT = "export keys, values and headers as base64, as hex or as text"
_LONGEST_NULL = 24  # bytes of a word


class Missing:
    """The type of MISSING, which stands for a field that is not there (a null field is None)."""


MISSING = Missing()


class FieldRules:
    """Makes the parts of a record from parsed fields, in any layout, and counts what is worth a note.

    The methods named ``to_...`` raise UnreadableError for a field that is not valid.
    """

    def __init__(self, file: DumpFile, notes: SplitNotes, *, keys_of_values: bool = False) -> None:
        self.file = file
        self.dialect: Dialect = file.dialect
        self.notes = notes
        self._counts_keys = keys_of_values or not self.dialect.key_fields  # else made of values, not these
        self.topic = file.topic
        self.partition = file.partition
        self._decoders = {role: ENCODINGS[self.dialect.of(role).encoding] for role in DATA_ROLES}
        self._literals = frozenset(word.encode() for word in self.dialect.null_words)
        self._literal = (self.dialect.null_literal or "").encode()
        # Roles beside which a field tells the size that the key or value has in Kafka.
        self.sized = {role for role in DATA_ROLES if is_size(self.dialect.of(role).error or "", role)}

    def count(self, name: CountName, example: str | None = None) -> None:
        """Add 1 to the count of that name, and keep the example if there are few yet."""
        self.notes.count(name)
        if example is not None:
            examples = self.notes.examples.setdefault(name, [])
            if len(examples) < EXAMPLES:
                examples.append(example)

    @property
    def is_conversion(self) -> bool:
        """Whether records are read to be written in another format; notes then tell which fields it lacks."""
        return isinstance(self.notes, ConversionNotes)

    def see_beside(self, names: Iterable[str]) -> None:
        """Note fields that are no part of a record, if this is a conversion, which leaves them out."""
        if isinstance(self.notes, ConversionNotes):
            room = MOST_BESIDE - len(self.notes.fields_beside)
            self.notes.fields_beside |= dict.fromkeys(islice(names, max(0, room)))

    def see(self, role: str) -> None:
        """Count one more record that has the field of this role."""
        if role == "key" and not self._counts_keys:
            return
        self.notes.see(role)

    def to_topic(self, raw: Any) -> str:
        """The topic a record names, else the file's."""
        if raw is MISSING or raw is None:
            if self.topic is None:
                raise self._lacking("topic")
            return self.topic
        topic = str(raw) if type(raw) is int else raw
        if not isinstance(topic, str) or _SURROGATE.search(topic):
            raise UnreadableError(f"{shown(raw)} is not the name of a topic", _NUMBER_HINT)
        return topic

    def to_partition(self, raw: Any) -> int:
        """The partition a record names, else the file's."""
        if raw is MISSING or raw is None:
            if self.partition is None:
                raise self._lacking("partition")
            return self.partition
        return _whole_number(raw, "partition", INT_MAX)

    def to_offset(self, raw: Any, ordinal: int) -> int:
        """The offset a record names; in a dump without offsets, its number in the file."""
        if self.dialect.offset is None:
            return (self.file.start_offset or 0) + ordinal
        if raw is MISSING or raw is None:
            raise self._lacking("offset")
        return _whole_number(raw, "offset", LARGEST_OFFSET)

    def _lacking(self, role: str) -> UnreadableError:
        place = self.dialect.places[role] or role
        hint = f"name the field with --fields {role}=FIELD, if it has another name here"
        if role != "topic" and self.file.layout in JSON:
            program = f'if type == "array" then .[] else . end | {in_jq(path_of(place))} //= 0'
            hint += f"; where 0 is left out, as Go's omitempty does: {by_jq(program)}"
        return UnreadableError(f"no {place} in the record", hint)

    def to_timestamp_ms(self, raw: Any) -> int:
        """Milliseconds since the epoch; -1 where there is none."""
        if raw is MISSING:
            return -1
        if self.dialect.timestamp_unit == "auto" and raw is not None:
            self.count("timestamps")
            if (name := odd_time(raw)) is not None:
                self.count(name)
        if type(raw) is int and 0 <= raw < SMALLEST_US and self.dialect.timestamp_unit in {"ms", "auto"}:
            return raw
        try:
            timestamp = timestamp_ms(raw, self.dialect.timestamp_unit)
        except (ValueError, OverflowError) as error:
            raise UnreadableError(f"{shown(raw)} is not a timestamp", _TIMESTAMP_HINT) from error
        if abs(timestamp) > LONG_MAX:
            raise UnreadableError(f"timestamp {shown(raw)} is out of range", DAMAGED_HINT)
        if has_no_zone(raw):
            self.count("zoneless_timestamps")
        return timestamp

    def to_timestamp_type(self, raw: Any, timestamp: Any) -> str | None:
        """Either "create" or "logappend", or None."""
        if raw is MISSING:
            return prefixed_type(timestamp)
        if self.dialect.librdkafka_types:
            return prefixed_type([raw, timestamp])
        if self.is_conversion and is_unknown_type(raw):
            self.see_beside([f"{self.dialect.timestamp_type} {shown(raw)}"])
        return timestamp_type(raw)

    def to_headers(self, raw: Any, errors: str) -> Headers:
        """All headers, in order."""
        if raw is MISSING:
            return ()
        dialect = self.dialect
        separator = ":" if dialect.labelled else dialect.header_separator
        if (self.is_conversion or dialect.labelled) and may_be_others(raw, separator):
            self.count("doubtful_headers", shown(raw) if self.is_conversion else None)
        if self.is_conversion and not dialect.named_headers:
            self.see_beside(f"{dialect.headers}[].{name}" for name in sorted(extras_of(raw)))
        try:
            headers = decode_headers(
                raw,
                dialect.headers_encoding,
                errors,
                named=dialect.named_headers,
                names_encoding=dialect.header_names_encoding,
                separator=separator,
            )
        except (ValueError, KeyError, TypeError) as error:
            is_unknown = isinstance(error, UnknownEncodingError)
            hint = _ENCODINGS_HINT if is_unknown else _HEADERS_HINT
            raise UnreadableError(f"headers cannot be read: {shown(raw)}", hint) from error
        has_null = dialect.empty_as_null and any(value is None for _, value in headers)
        is_printed = dialect.headers_encoding == "python" != dialect.key.encoding  # by a sample of them
        if has_null or is_printed or keeps_no_order(raw):
            self.notes.doubt_headers()
        return headers

    def null_or_empty(self, role: DataRole, form: NullForm, beside: Any = MISSING) -> bytes | None:
        """The key or value that a field of this form ("missing", "empty", ...) stands for.

        ``beside`` is the field with the size in Kafka, if there is one: a size of null settles it.
        """
        if role in self.sized and is_size_of_null(beside):
            return None
        self.count(ComposedName(f"{form}_{role}"))
        return None if form in self.dialect.of(role).nulls else b""

    def is_literal(self, text: bytes, role: str) -> bool:
        """Whether text is a word for null in this dialect; counts it if so."""
        if text not in self._literals or (role == "key" and not self.dialect.literal_keys):
            return False
        self.count(ComposedName(f"literal_{role}"))
        if text != self._literal:
            self.count(ComposedName(f"upper_literal_{role}"))
        return True

    def stored(self, data: bytes, role: DataRole, beside: Any = MISSING) -> bytes | None:
        """The key or value that bytes of a typed format stand for; such formats have a null of their own."""
        if not data:
            if "empty" in self.dialect.of(role).doubtful or role in self.sized:
                return self.null_or_empty(role, "empty", beside)
            return None if "empty" in self.dialect.of(role).nulls else b""
        return None if self.is_literal(data, role) else data

    def refuse_delete(self, flag: Any, value: bytes | None) -> None:
        """Raise UnreadableError where the dialect's ``delete_flag`` is set although the value is not null."""
        if flag is not MISSING and value is not None and str(flag).lower() in FLAGS_SET:
            raise UnreadableError(
                *marked_deletes([str(self.dialect.delete_flag)], str(self.dialect.value.place))
            )

    def refuse_error(self, reason: Any, role: DataRole) -> None:
        """Raise UnreadableError where a field says why the tool did not export the key or value."""
        if reason is not MISSING and says_why(reason):
            field, is_json = self.dialect.of(role).error, self.file.layout in JSON
            raise UnreadableError(*not_exported(str(field), reason, role, is_json=is_json))

    @staticmethod
    def encoding_of(mark: Any, role: str) -> str | None:
        """The encoding that a mark beside a key or value names; None for text. Raises UnreadableError."""
        if mark is MISSING or mark is None:
            return None
        try:
            return marked_encoding(mark)
        except UnknownEncodingError as error:
            raise UnreadableError(
                f"the {role} is in an encoding that kcompact does not read: {shown(mark)}", _ENCODINGS_HINT
            ) from error

    def decoded(self, text: bytes, role: DataRole, encoding: str | None = None) -> bytes:
        """The bytes that text in ``encoding`` stands for (None: the dialect's). Raises UnreadableError."""
        try:
            return (ENCODINGS[encoding] if encoding else self._decoders[role])(text)
        except ValueError as error:
            encoding = encoding or self.dialect.of(role).encoding
            if encoding == "python" and len(text) <= _LONGEST_NULL:
                printed = text.decode("utf-8", "replace")
                raise UnreadableError(
                    f"the {role} {shown(printed)} is not bytes as Python prints them, as others are (b'...')",
                    f"--tombstone {quote(f'literal:{printed}')} if it stands for null; else export as base64",
                ) from error
            raise UnreadableError(
                f"the {role} is not {encoding}, which {self.dialect.tool} writes",
                "if the dump comes from another tool, name its dialect with --dialect"
                " (kcompact inspect --dialects lists them)",
            ) from error

    def check_key(self, key: bytes, offset: int) -> None:
        """Count keys in which some bytes were replaced by U+FFFD: several keys may look alike."""
        if self._counts_keys and REPLACEMENT in key and not self.dialect.byte_exact:
            place = "" if self.dialect.offset is None else f"offset {offset}: "  # it is numbered later
            self.count("lossy_keys", f"{place}{key.decode('utf-8', 'replace')[:60]}")

    def check_numbers(self, key: bytes) -> None:
        """Count JSON keys with numbers that a double may have rounded: several keys may look alike."""
        if _LARGE_NUMBER.search(key):
            self.count("rounded_keys", key.decode("utf-8", "replace")[:60])


def _whole_number(raw: Any, role: str, largest: int) -> int:
    number = whole_number(raw.strip()) if isinstance(raw, str) else raw
    if type(number) is not int:
        raise UnreadableError(f"{shown(raw)} is not {'an' if role == 'offset' else 'a'} {role}", _NUMBER_HINT)
    if not 0 <= number <= largest:
        raise UnreadableError(f"{role} {shown(raw)} is out of range", DAMAGED_HINT)
    return number
