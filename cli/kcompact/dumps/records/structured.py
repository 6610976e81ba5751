"""Values of formats that have types of their own, Avro and Parquet: told as text, as JSON, as headers."""

import math
from typing import Any

import orjson

from kcompact.dumps.records.headers import Headers, decode_headers
from kcompact.dumps.records.layout import UnreadableError
from kcompact.dumps.records.reading import DAMAGED_HINT, MISSING
from kcompact.dumps.records.shown import shown


def as_text(found: Any) -> Any:
    """Bytes as text, which they can be made of again; what is no bytes as it is."""
    return found.decode("utf-8", "surrogateescape") if isinstance(found, bytes) else found


def headers_of(found: Any) -> Headers:
    """Headers from a map, a record with one field per header, a list of records or pairs, or text as in CSV.

    Raises UnreadableError.
    """
    try:
        return _headers_of(found)
    except (ValueError, KeyError, TypeError) as error:
        raise UnreadableError(f"headers cannot be read: {shown(found)}", DAMAGED_HINT) from error


def _headers_of(found: Any) -> Headers:
    if found is MISSING or found is None:
        return ()
    if isinstance(found, bytes | str):
        return decode_headers(as_text(found), errors="surrogateescape")
    if isinstance(found, dict):
        return tuple((name, _header_bytes(value)) for name, value in found.items())
    pairs = [_pair(item) if isinstance(item, dict) else item for item in found]
    return tuple((as_text(name), _header_bytes(value)) for name, value in pairs)


def _pair(header: dict[str, Any]) -> tuple[Any, ...]:
    """Name and value of a header that is a record, in whatever order its fields stand, or a map of one."""
    if len(header) == 1:
        return next(iter(header.items()))
    fields = {name.lower(): value for name, value in header.items()}
    name = next((fields[name] for name in ("key", "name") if name in fields), MISSING)
    return tuple(header.values()) if name is MISSING or "value" not in fields else (name, fields["value"])


def _header_bytes(value: Any) -> bytes | None:
    return value if value is None or isinstance(value, bytes) else as_json(value)


def as_json(value: Any) -> bytes:
    """JSON, with bytes spelt as Avro's own JSON encoding does: a character each; NaN and infinity as text."""
    found = _dumped(value)
    return _dumped(_finite(value)) if b"null" in found else found  # which orjson writes for NaN as well


def _dumped(value: Any) -> bytes:
    return orjson.dumps(value, default=_latin1, option=orjson.OPT_NON_STR_KEYS)


def _finite(value: Any) -> Any:
    """The value with text for floats that are no number."""
    if isinstance(value, dict):
        return {name: _finite(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_finite(one) for one in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _latin1(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode("latin-1")
    raise TypeError(type(value).__name__)
