"""The plain envelope as text: JSON lines, CSV, and lines for kcat."""

import base64
from collections.abc import Iterable, Iterator
from typing import Any

import orjson

from kcompact.dumps.detect.likely_encodings import PYTHON_BYTES, may_be_misread
from kcompact.dumps.records.record import Record
from kcompact.dumps.records.timestamps import spelt_in_ms
from kcompact.dumps.writers.writer import Writer, in_chunks, where
from kcompact.errors import OutputError

_REPLACEMENT = "\ufffd"  # readers take it for a sign of lost bytes


class JsonLinesWriter(Writer):
    """Writes ``{"topic", "partition", "offset", "timestamp", "key", "value"}``, and other parts if present.

    ``"key_encoding"`` and ``"value_encoding"`` are ``"base64"`` beside a key or value that is not text, and
    ``"text"`` beside text that looks like base64, or like bytes as programs print them. A header has
    ``"encoding"`` beside its value. A timestamp that others would take for microseconds is written as text,
    ``CreateTime:1700000000000000``.
    """

    suffix = ".jsonl"

    def encode(self, records: Iterable[Record]) -> Iterator[bytes]:
        """A line each."""
        return in_chunks(orjson.dumps(envelope(record)) + b"\n" for record in records)


def envelope(record: Record) -> dict[str, Any]:
    """The record as an object for JSON."""
    fields: dict[str, Any] = {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "timestamp": spelt_in_ms(record.timestamp_ms, record.timestamp_type),
    }
    if record.timestamp_type is not None or isinstance(fields["timestamp"], str):
        fields["timestampType"] = record.timestamp_type
    for role, data in (("key", record.key), ("value", record.value)):
        fields[role], encoding = _as_marked_text(data)
        if encoding is not None:
            fields[f"{role}_encoding"] = encoding
    if record.headers:
        fields["headers"] = [header(name, value) for name, value in record.headers]
    return fields


def _as_marked_text(data: bytes | None) -> tuple[str | None, str | None]:
    """A key or value as text, and the encoding where a reader might guess another one."""
    text, encoding = as_text(data)
    if text is not None and encoding is None and may_be_misread(text):
        return text, "text"
    return text, encoding


def as_text(data: bytes | None) -> tuple[str | None, str | None]:
    """Bytes as text, and the encoding where that is not plain UTF-8."""
    if data is None:
        return None, None
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = _REPLACEMENT
    if _REPLACEMENT in text:
        return base64.b64encode(data).decode("ascii"), "base64"
    return text, None


def header(name: str, value: bytes | None) -> dict[str, str | None]:
    """One header. Raises OutputError for a name that is no UTF-8."""
    try:
        name.encode()
    except UnicodeEncodeError as error:
        raise OutputError(
            f"the header name {name!r} is no UTF-8, which this format needs",
            hint="convert to Avro: -o NAME.avro",
        ) from error
    text, encoding = as_text(value)
    if text is not None and PYTHON_BYTES.fullmatch(text):
        encoding = "text"
    return {"key": name, "value": text} | ({} if encoding is None else {"encoding": encoding})


COLUMNS = (
    "topic",
    "partition",
    "offset",
    "timestamp",
    "timestampType",
    "key",
    "value",
    "headers",
    "key_encoding",
    "value_encoding",
)


class CsvWriter(Writer):
    """Writes a header line, then a row each. Keys and values are always quoted: null and empty differ."""

    suffix = ".csv"

    def begin(self) -> bytes:
        """The header line."""
        return ",".join(COLUMNS).encode() + b"\n"

    def encode(self, records: Iterable[Record]) -> Iterator[bytes]:
        """A row each; values with line ends make rows of several lines."""
        return in_chunks(map(_row, records))


def _row(record: Record) -> bytes:
    key, key_encoding = _as_marked_text(record.key)
    value, value_encoding = _as_marked_text(record.value)
    headers = orjson.dumps([header(*pair) for pair in record.headers]).decode() if record.headers else None
    cells = [
        _quoted(record.topic),
        str(record.partition),
        str(record.offset),
        str(record.timestamp_ms),
        record.timestamp_type or "",
        _quoted(key),
        _quoted(value),
        _quoted(headers),
        key_encoding or "",
        value_encoding or "",
    ]
    return ",".join(cells).encode() + b"\n"


def _quoted(text: str | None) -> str:
    return "" if text is None else '"' + text.replace('"', '""') + '"'


_HINT = "samples/replay.py replays any dump without loss"


class KcatWriter(Writer):
    """Writes lines of key, TAB and value for ``kcat -Z``, of one log."""

    suffix = ".txt"
    losses = ("offsets", "timestamps", "headers")
    one_log = True

    def encode(self, records: Iterable[Record]) -> Iterator[bytes]:
        """A line each. Raises OutputError where kcat would read something else back."""
        return in_chunks(map(_line, records))


def _line(record: Record) -> bytes:
    for role, data, delimiters in (("key", record.key, b"\t\n\0"), ("value", record.value, b"\n")):
        if data == b"":
            raise OutputError(
                f"{where(record)}: an empty {role}, which kcat -Z would send as null", hint=_HINT
            )
        sign = next((byte for byte in delimiters if byte in (data or b"")), None)
        if sign is not None:
            raise OutputError(
                f"{where(record)}: the {role} contains {_NAMES[sign]}, which kcat would split at", hint=_HINT
            )
    return (record.key or b"") + b"\t" + (record.value or b"") + b"\n"


_NAMES = {0x09: "a TAB", 0x0A: "a line end", 0x00: "a zero byte"}
