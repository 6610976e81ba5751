"""Dialects: how one tool's dump differs from another's, and how its fields are to be read. Data, no code."""

from dataclasses import dataclass, field
from typing import Any, Literal

from kcompact.dumps.count_names import CountName

ROLES = ("topic", "partition", "offset", "timestamp", "timestamp_type", "key", "value", "headers")
JUDGING = ("delete_flag", "key_error", "value_error")
"""Fields that may say that a record cannot be taken as it stands."""
JSON = ("json_lines", "json_objects", "json_array")
TYPED = {"avro", "parquet"}

Quoting = Literal["quoting"]
QUOTING: Quoting = "quoting"
"""Instead of a count: how cells are quoted shows whether the tool tells null from empty (``doubts.py``)."""


@dataclass(frozen=True)
class Dialect:
    """One row of the dialect table; as part of a DumpFile, with the user's options worked in.

    Roles name the fields as dotted paths ("metadata.offset"); None: the dump never has it. ``signature``
    holds paths that must occur in the file's first records, ``lacking`` paths that must not. ``order`` is the
    order in which the tool writes its fields: it tells apart tools that write the same names.
    """

    name: str
    tool: str  # as people call it, with versions and the options that matter
    layouts: tuple[str, ...] = JSON
    signature: frozenset[str] = frozenset()
    lacking: frozenset[str] = frozenset()
    order: tuple[str, ...] = ()
    likely_base64: bool = False  # keys and values must look like it; the order of fields is a sign more
    text_timestamps: bool = False  # timestamps must be texts, and their types, if any, numbers
    sure: bool = True  # the signature occurs nowhere else

    topic: str | None = "topic"
    partition: str | None = "partition"
    offset: str | None = "offset"
    timestamp: str | None = "timestamp"
    timestamp_type: str | None = None
    key: str | None = "key"
    value: str | None = "value"
    headers: str | None = "headers"

    key_encoding: str = "text"  # a name in encodings.ENCODINGS
    value_encoding: str = "text"
    headers_encoding: str = "text"
    header_names_encoding: str = "text"  # in structs of Key and Value, of which the values are base64
    header_separator: str | None = None  # headers are texts of a name, this, and a value
    incomplete_headers: bool = False  # the tool writes their names alone, or not even these
    named_headers: bool = False  # a header is {NAME: value}, not {"key": NAME, "value": value}
    timestamp_unit: str = "auto"  # "ms", "us", "s", or "auto": by form and size (timestamps.py)
    librdkafka_types: bool = False  # types of timestamps are librdkafka's numbers: 1 is create, 0 is none
    is_zoneless: bool = False  # timestamps are of a column whose type says that no zone is known
    key_error: str | None = None  # where this field is present, the key could not be decoded
    value_error: str | None = None

    # What a missing field and a zero-length one stand for: "null" or "empty".
    missing_key: str = "null"
    empty_key: str = "empty"
    missing_value: str = "null"
    empty_value: str = "empty"
    null_literal: str | None = None  # text that stands for null
    literal_keys: bool = True  # ... as a key, too, and not for itself
    # Forms ("missing", "empty", "literal") that the tool writes for more than one thing.
    doubtful_key: frozenset[str] = frozenset()
    doubtful_value: frozenset[str] = frozenset()
    # A count (of reading.py) that, where it is not 0, shows that the tool tells them apart after all;
    # or QUOTING.
    key_settled_by: CountName | Quoting | None = None
    value_settled_by: CountName | Quoting | None = None
    null_word: bool = False  # a JSON null is the text "null", which kaf embeds as JSON

    key_marker: str | None = None  # a field that says how the key is encoded: true or "base64", "hex"
    value_marker: str | None = None
    key_base64: str | None = None  # a field that stands in for the key, as base64, where it is no UTF-8
    value_base64: str | None = None
    delete_flag: str | None = None  # a field that is false in all first records, and may tell of deletes
    late_names: tuple[tuple[str, str], ...] = ()  # (role, member): JSON in which no first record had it
    key_size: str | None = None  # a field that tells null (-1) from empty (0)
    value_size: str | None = None
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

    @property
    def is_judged(self) -> bool:
        """Whether fields beside its key and value may say that a record cannot be taken as it stands."""
        return any(getattr(self, role) is not None for role in JUDGING)

    @property
    def reads_values(self) -> bool:
        """Whether only a record's value tells its key, or whether it is a tombstone."""
        return bool(self.key_fields) or self.cdc is not None

    @property
    def null_words(self) -> tuple[str, ...]:
        """The texts that stand for null: those of tools that print lines in either case."""
        if self.null_literal is None:
            return ()
        is_of_lines = "literal" in self.doubtful_value and "csv_lines" in self.layouts
        return (self.null_literal, self.null_literal.upper()) if is_of_lines else (self.null_literal,)

    @property
    def is_event(self) -> bool:
        """Whether a record of the dump is a change event as a whole, without an envelope of its own."""
        return self.cdc is not None and self.value == ""

    @property
    def in_order(self) -> bool:
        """Whether a record can only be read with all that come before it in its file.

        Without offsets they are numbered; a tombstone without a key is that of the delete before it.
        """
        return self.offset is None or (self.cdc is not None and bool(self.key_fields))


# What rows of the tables are written with.

BASE64: dict[str, Any] = {"key_encoding": "base64", "value_encoding": "base64"}


def names(text: str) -> frozenset[str]:
    """Fields, for ``signature`` and ``lacking``."""
    return frozenset(text.split())


def fields(text: str) -> dict[str, Any]:
    """Roles that have other fields than their own name, or none: ``"topic= value=payload Offset"``.

    A field alone has the role that its name is in small letters.
    """
    named = (word.partition("=") if "=" in word else (word.lower(), "", word) for word in text.split())
    return {role: field or None for role, _, field in named}


def doubtful(forms: str) -> dict[str, Any]:
    """Forms that the tool writes for more than one thing, as a key and as a value."""
    return {"doubtful_key": names(forms), "doubtful_value": names(forms)}


CSV_DOUBTS: dict[str, Any] = {
    **doubtful("missing empty"),  # nothing, or "" where a tool quotes every text
    "key_settled_by": QUOTING,
    "value_settled_by": QUOTING,
}
"""Of CSV with quotes whose tool is not known."""
