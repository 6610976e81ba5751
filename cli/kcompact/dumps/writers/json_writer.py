"""The plain envelope as JSON lines; bytes that are no UTF-8 as base64, with a field that says so."""

import base64
from collections.abc import Iterable, Iterator
from typing import Any

import orjson

from kcompact.dumps.records.record import Record
from kcompact.dumps.writers.writer import Writer, in_chunks
from kcompact.errors import OutputError

_REPLACEMENT = "\ufffd"  # readers take it for a sign of lost bytes


class JsonLinesWriter(Writer):
    """``{"topic", "partition", "offset", "timestamp", "key", "value"}``, and what else the record has.

    ``"key_encoding": "base64"`` and ``"value_encoding": "base64"`` are beside a key or value that is not
    text; ``"encoding": "base64"`` in a header beside its value.
    """

    suffix = ".jsonl"

    def encode(self, records: Iterable[Record]) -> Iterator[bytes]:
        """A line each."""
        return in_chunks(orjson.dumps(envelope(record)) + b"\n" for record in records)


def envelope(record: Record) -> dict[str, Any]:
    """The record as JSON can hold it."""
    fields: dict[str, Any] = {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "timestamp": record.timestamp_ms,
    }
    if record.timestamp_type is not None:
        fields["timestampType"] = record.timestamp_type
    for role, data in (("key", record.key), ("value", record.value)):
        fields[role], encoding = as_text(data)
        if encoding is not None:
            fields[f"{role}_encoding"] = encoding
    if record.headers:
        fields["headers"] = [header(name, value) for name, value in record.headers]
    return fields


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
    return {"key": name, "value": text} | ({} if encoding is None else {"encoding": encoding})
