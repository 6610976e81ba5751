"""Typed values of Avro and Parquet as text, as JSON, and as headers."""

import json
import math
from typing import Any

import orjson

from kcompact.dumps.dialects.dialect import Dialect
from kcompact.dumps.json.json_text import refuse_nan
from kcompact.dumps.records.headers import Headers, decode_headers, keeps_no_order
from kcompact.dumps.records.layout import SplitNotes
from kcompact.dumps.records.reading import DAMAGED_HINT, MISSING
from kcompact.dumps.records.shown import shown
from kcompact.errors import UnreadableError


def as_text(value: Any) -> Any:
    """Bytes as text with surrogate escapes, which loses nothing; any other value as it is."""
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else value


def headers_of(value: Any, notes: SplitNotes | None = None) -> Headers:
    """Headers from a typed value. Raises UnreadableError.

    It may be a map, a record with one field per header, a list of records or pairs, or text as in CSV.
    """
    if notes is not None and keeps_no_order(value):
        notes.doubt_headers()
    try:
        return _headers_of(value)
    except (ValueError, KeyError, TypeError) as error:
        raise UnreadableError(f"headers cannot be read: {shown(value)}", DAMAGED_HINT) from error


def _headers_of(headers: Any) -> Headers:
    if headers is MISSING or headers is None:
        return ()
    if isinstance(headers, bytes | str):
        return decode_headers(as_text(headers), errors="surrogateescape")
    texts = _as_texts(headers)
    if isinstance(texts, list):
        texts = [_named_alike(item) if isinstance(item, dict) else item for item in texts]
    return decode_headers(texts, errors="surrogateescape")


def _as_texts(value: Any) -> Any:
    """The value with text for bytes at every depth, as ``as_text`` makes it, and lists for tuples."""
    if isinstance(value, dict):
        return {name: _as_texts(item) for name, item in value.items()}
    return [_as_texts(item) for item in value] if isinstance(value, list | tuple) else as_text(value)


def _named_alike(header: dict[str, Any]) -> Any:
    """A header that is a record, with its field names in lower case; or as a pair of name and value.

    In lower case, "Key" and "Value" are not taken for Go's struct in JSON, whose value is base64.
    """
    if len(header) == 1:
        return [*next(iter(header.items()))]
    fields = {name.lower(): value for name, value in header.items()}
    return fields if {"key", "name"} & fields.keys() else [*header.values()]


def as_json(value: Any) -> bytes:
    """The value as JSON: each byte is a character, as in Avro's own JSON encoding; NaN and infinity are text.

    Raises UnreadableError for a value that is nested too deeply, or has text that is no UTF-8.
    """
    encoded = _dumped(value)
    return _dumped(_finite(value)) if b"null" in encoded else encoded  # orjson writes null for NaN, too


def _dumped(value: Any) -> bytes:
    try:
        return orjson.dumps(value, default=_latin1, option=orjson.OPT_NON_STR_KEYS)
    except orjson.JSONEncodeError:  # nested more than 254 deep
        return _dumped_deeply(value)


def _dumped_deeply(value: Any) -> bytes:
    try:
        return json.dumps(
            _finite(value),
            default=lambda leaf: orjson.loads(_dumped(leaf)),  # a date or a UUID, as orjson spells it
            ensure_ascii=False,
            separators=(",", ":"),
        ).encode()
    except RecursionError as error:
        raise UnreadableError("the value is nested too deeply", _TOO_DEEP_HINT) from error
    except UnicodeEncodeError as error:
        raise UnreadableError(*NO_UTF8) from error


_TOO_DEEP_HINT = "export it as JSON lines, with the value as the text or the bytes that Kafka has"
NO_UTF8 = (
    "text inside a structured key or value is no UTF-8: JSON cannot hold it",
    "export it with keys and values as the bytes that Kafka has",
)
"""Reason and hint. Spark casts any bytes to text, and writes such text to Avro and Parquet unchanged."""


def _finite(value: Any) -> Any:
    """The value with text in place of NaN, infinity and all keys of maps."""
    if isinstance(value, dict):
        return {_member_name(name): _finite(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _member_name(key: Any) -> str:
    """A map's key as orjson spells it; json.dumps refuses dates and UUIDs, and spells numbers otherwise."""
    return key if isinstance(key, str) else next(iter(orjson.loads(_dumped({key: None}))))


def _latin1(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode("latin-1")
    raise TypeError(type(value).__name__)


def refuse_rounded(key: float, dialect: Dialect) -> None:
    """Raise UnreadableError for a key that is NaN, or may be a whole number that was rounded to a double."""
    if dialect.doubles:
        refuse_nan(key, "key")
    if dialect.doubles and abs(key) >= INEXACT:
        raise rounded(key, f"; if these are the keys, --dialect {dialect.name} reads them as they are")


INEXACT = 2**53


def rounded(key: float, otherwise: str = "") -> UnreadableError:
    """The error for a number that may have been rounded; ``otherwise`` ends its hint."""
    return UnreadableError(
        f"the key is a double, {key!r}: whole numbers as large look alike where they differ",
        "write keys as whole numbers or text (in pandas: .astype('Int64') before they are written)"
        + otherwise,
    )
