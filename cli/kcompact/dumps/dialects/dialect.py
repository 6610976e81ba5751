"""Dialects: how one tool's dump differs from another's, and how its fields are to be read. Data, no code."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from kcompact.dumps.count_names import CountName

ROLES = ("topic", "partition", "offset", "timestamp", "timestamp_type", "key", "value", "headers")
DataRole = Literal["key", "value"]
DATA_ROLES: tuple[DataRole, ...] = ("key", "value")
ERRORS: dict[DataRole, str] = {"key": "key_error", "value": "value_error"}
"""The names under which ``Dialect.judging`` has the fields that may say why a key or value is missing."""
JSON = ("json_lines", "json_objects", "json_array")
TYPED = {"avro", "parquet"}

Quoting = Literal["quoting"]
QUOTING: Quoting = "quoting"
"""Instead of a count: how cells are quoted shows whether the tool tells null from empty (``doubts.py``)."""

NullForm = Literal["missing", "empty", "null", "literal"]
"""How null may be written: no field; a field of length zero; JSON's null, where ``Dialect.empty_as_null``; or
the text ``Dialect.null_literal``.
"""


@dataclass(frozen=True)
class DataField:
    """Where a tool writes keys, or values, and how."""

    place: str | None  # a dotted path; None: the dump never has it
    encoding: str = "text"  # a name in encodings.ENCODINGS
    nulls: frozenset[NullForm] = frozenset({"missing"})  # read as null (but "literal"); others are empty
    doubtful: frozenset[NullForm] = frozenset()  # forms that the tool writes for more than one thing
    # The name of a count (of reading.py) that, if it is not 0, shows that the tool does write null and
    # empty in different ways; or QUOTING.
    settled_by: CountName | Quoting | None = None
    # Names of fields beside the key or value, None where there is none.
    error: str | None = None  # present where the key or value could not be decoded
    marker: str | None = None  # how it is encoded: true or "base64", "hex"
    base64: str | None = None  # stands in for it, as base64, where it is no UTF-8
    size: str | None = None  # tells null (-1) from empty (0)


@dataclass(frozen=True)
class Dialect:
    """One row of the dialect table; as part of a DumpFile, with the user's options worked in.

    ``topic`` to ``headers`` hold the fields of the roles, as dotted paths ("metadata.offset"; None: the dump
    never has it), for keys and values with further rules. ``signature`` holds paths that must occur in the
    file's first records, ``lacking`` paths that must not. ``order`` is the order in which the tool writes its
    fields, which tells it apart from tools that write the same names.
    """

    name: str
    tool: str  # as people call it, with versions and the options that matter
    layouts: tuple[str, ...] = JSON
    signature: frozenset[str] = frozenset()
    lacking: frozenset[str] = frozenset()
    order: tuple[str, ...] = ()
    likely_base64: bool = False  # keys and values must look like it, less surely if fields are in ``order``
    text_timestamps: bool = False  # timestamps must be texts, and their types, if any, numbers
    sure: bool = True  # the signature occurs nowhere else

    topic: str | None = "topic"
    partition: str | None = "partition"
    offset: str | None = "offset"
    timestamp: str | None = "timestamp"
    timestamp_type: str | None = None
    key: DataField = DataField("key")
    value: DataField = DataField("value")
    headers: str | None = "headers"

    headers_encoding: str = "text"  # a name in encodings.ENCODINGS
    header_names_encoding: str = "text"  # in structs of Key and Value, of which the values are base64
    header_separator: str | None = None  # headers are texts of a name, this, and a value
    incomplete_headers: bool = False  # the tool writes their names alone, or not even these
    asked_headers: bool = False  # the tool writes them only where an option asks for it
    named_headers: bool = False  # a header is {NAME: value}, not {"key": NAME, "value": value}
    timestamp_unit: str = "auto"  # "ms", "us", "s", or "auto": by form and size (timestamps.py)
    librdkafka_types: bool = False  # types of timestamps are librdkafka's numbers: 1 is create, 0 is none
    is_zoneless: bool = False  # timestamps are of a column whose type says that no zone is known

    null_literal: str | None = None  # text that stands for null
    literal_keys: bool = True  # it stands for null as a key, too; False: such a key is text
    null_word: bool = False  # a JSON null is the text "null", which kaf embeds as JSON
    empty_as_null: bool = False  # the tool writes empty keys and values as JSON nulls, too
    has_markers: bool = False  # markers of transactions, and what was aborted, are records like any other

    delete_flag: str | None = None  # a field that is false in all first records, and may mark later deletes
    late_names: tuple[tuple[str, str], ...] = ()  # (role, member) that no first record of JSON had
    listed: bool = False  # a record is a JSON array; roles are indexes
    labelled: bool = False  # cells such as ``Partition:0``
    key_fields: tuple[str, ...] = ()  # paths below the value, which make the key (--key-field)
    cdc: str | None = None  # values are change events of this format (change_events.FORMATS)

    byte_exact: bool = False  # keys come out as the bytes they are: U+FFFD is no sign of loss
    doubles: bool = False  # JSON numbers went through a double: large integers were rounded
    canonical_keys: bool = False
    delimiter: str | None = None  # of CSV and text
    quoting: str = "rfc4180"  # of CSV: "rfc4180", "backslash" (Spark) or "none"
    columns: tuple[str, ...] = ()  # of text without a header line
    refused: str | None = None  # why such dumps cannot be compacted
    hint: str | None = None  # with ``refused``: what to do instead
    notes: tuple[str, ...] = field(default=())  # worth knowing whenever such a dump is read

    @property
    def short_tool(self) -> str:
        """The tool's name without the options and remarks after it."""
        return self.tool.partition(" (")[0].partition(",")[0].partition(":")[0]

    def of(self, role: DataRole) -> DataField:
        """The rules for keys, or those for values."""
        return self.key if role == "key" else self.value

    def with_data(self, role: DataRole, data: DataField) -> "Dialect":
        """The dialect with other rules for keys, or for values."""
        return replace(self, key=data) if role == "key" else replace(self, value=data)

    @property
    def places(self) -> dict[str, str | None]:
        """Where a record's parts are, by role."""
        places = (self.topic, self.partition, self.offset, self.timestamp, self.timestamp_type)
        return dict(zip(ROLES, (*places, self.key.place, self.value.place, self.headers), strict=True))

    def with_places(self, places: Mapping[str, str | None]) -> "Dialect":
        """The dialect with other places of parts, by role; the same object where nothing changes."""
        if not places.items() - self.places.items():
            return self
        key = replace(self.key, place=places.get("key", self.key.place))
        value = replace(self.value, place=places.get("value", self.value.place))
        changes: dict[str, Any] = {**places, "key": key, "value": value}
        return replace(self, **changes)

    @property
    def judging(self) -> dict[str, str | None]:
        """The fields that may say that a record is a delete, or why its key or value is missing."""
        errors = {name: self.of(role).error for role, name in ERRORS.items()}
        return {"delete_flag": self.delete_flag, **errors}

    @property
    def is_judged(self) -> bool:
        """Whether the dump has one of the fields in ``judging``."""
        return any(place is not None for place in self.judging.values())

    @property
    def reads_values(self) -> bool:
        """Whether a record's value has to be read to know its key, or whether it is a tombstone."""
        return bool(self.key_fields) or self.cdc is not None

    @property
    def null_words(self) -> tuple[str, ...]:
        """The texts that stand for null; for tools that print lines, also the one in capital letters."""
        if self.null_literal is None:
            return ()
        is_of_lines = "literal" in self.value.doubtful and "csv_lines" in self.layouts
        return (self.null_literal, self.null_literal.upper()) if is_of_lines else (self.null_literal,)

    @property
    def sure_nulls(self) -> frozenset[NullForm]:
        """Forms that always mean null, whatever ``--tombstone`` says, which may be meant for another dump."""
        return self.value.nulls - self.value.doubtful if self.sure else frozenset()

    @property
    def is_event(self) -> bool:
        """Whether a record of the dump is a change event as a whole, without an envelope of its own."""
        return self.cdc is not None and self.value.place == ""

    @property
    def in_order(self) -> bool:
        """Whether a record can only be read with all that come before it in its file.

        Records without offsets are numbered; a tombstone without a key belongs to the delete before it.
        """
        return self.offset is None or (self.cdc is not None and bool(self.key_fields))


# Functions for the rows of the tables of dialects.


def names(text: str) -> frozenset[str]:
    """The names in a text, between blanks, for ``signature`` and ``lacking``."""
    return frozenset(text.split())


def fields(text: str = "", **rules: Any) -> dict[str, Any]:
    """Arguments of a Dialect, from roles whose fields have other names: ``"topic= value=payload Offset"``.

    ``topic=``: there is no such field. A field alone, ``Offset``, has the role of its name in small letters.
    ``rules`` are arguments of a DataField, for keys and values alike.
    """
    named = (word.partition("=") if "=" in word else (word.lower(), "", word) for word in text.split())
    places: dict[str, Any] = {role: field or None for role, _, field in named}
    data = {role: places.get(role, role) for role in DATA_ROLES if rules or role in places}
    return places | {role: DataField(place, **rules) for role, place in data.items()}


def forms(*of_null: NullForm) -> frozenset[NullForm]:
    """A set of forms, for ``nulls`` and ``doubtful``."""
    return frozenset(of_null)


CSV_DOUBTS: dict[str, Any] = {
    "doubtful": forms("missing", "empty"),  # nothing, or "" where a tool quotes every text
    "settled_by": QUOTING,
}
"""Rules for keys and values in CSV with quotes whose tool is not known."""
