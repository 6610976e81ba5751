"""The plain envelope as CSV (RFC 4180): null is nothing, empty is ``""``, base64 where bytes are no text."""

from collections.abc import Iterable, Iterator

import orjson

from kcompact.dumps.records.record import Record
from kcompact.dumps.writers.json_writer import as_text, header
from kcompact.dumps.writers.writer import Writer, in_chunks

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
    """A header line, then a line each. Keys and values are always quoted, so that null and empty differ."""

    suffix = ".csv"

    def begin(self) -> bytes:
        """The header line."""
        return ",".join(COLUMNS).encode() + b"\n"

    def encode(self, records: Iterable[Record]) -> Iterator[bytes]:
        """A row each; values with line ends make rows of several lines."""
        return in_chunks(map(_row, records))


def _row(record: Record) -> bytes:
    key, key_encoding = as_text(record.key)
    value, value_encoding = as_text(record.value)
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
