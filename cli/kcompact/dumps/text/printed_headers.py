"""Headers that tools print as one text: names and values, mostly without quotes."""

import ast
from typing import Any

from kcompact.dumps.json.json_text import bytes_of
from kcompact.dumps.records.encodings import ENCODINGS

_Headers = tuple[tuple[str, bytes | None], ...]
_NO_HEADERS = "NO_HEADERS"
_NULLS = ("null", "NULL", "nil", "None", "NaN", "nan", "\\N")  # with no separator, they are no header
_EMPTY_OF_JAVA = tuple(f"RecordHeaders(headers = [], isReadOnly = {flag})" for flag in ("false", "true"))


def is_none(text: str) -> bool:
    """Whether a tool prints this text for a record without headers, such as Go's JSON of nil."""
    return text in {_NO_HEADERS, *_NULLS, *_EMPTY_OF_JAVA}


def is_printed_by_java(raw: Any) -> bool:
    """Whether ``raw`` is the text of Java's RecordHeaders, in which nothing is quoted."""
    return isinstance(raw, str) and raw.startswith("RecordHeaders(")


def likely_separator(text: str) -> str:
    """The sign that most likely stands between name and value."""
    return ":" if ":" in text.partition("=")[0] else "="


def pairs_in(text: str, separator: str) -> list[str]:
    """The pairs of name and value; a piece without a separator belongs to the value before its comma."""
    pairs: list[str] = []
    for piece in text.split(","):
        if pairs and separator not in piece:
            pairs[-1] += f",{piece}"
        else:
            pairs.append(piece)
    return pairs


def may_be_others(raw: Any, separator: str | None = None) -> bool:
    """Whether printed headers may be other headers than those read; ``separator`` is None if unknown.

    A comma or a separator may be a part of a value or name, and the word for null may be text. A second
    colon may belong to another header, as kafka-console-consumer may have any ``headers.separator``.
    """
    if not isinstance(raw, str) or not raw or is_none(raw) or raw[0] in "[{" or raw.endswith(";"):
        return False
    if is_printed_by_java(raw):  # which decode_headers refuses
        return False
    is_mixed = separator is None and "=" in raw and likely_separator(raw) == ":"
    _, sign, value = raw.partition(separator or likely_separator(raw))
    is_mixed |= separator == ":" and ":" in value
    return is_mixed or not sign or "," in raw or value in {"NULL", "null"}


def from_python(text: str) -> _Headers:
    """Headers as Python prints them: ``[('name', b'value')]``, a dict, or dicts of key and value.

    Raises ValueError.
    """
    try:
        raw = ast.literal_eval(text)
        items = raw.items() if isinstance(raw, dict) else raw
        pairs = [(name, value) for name, value in map(_pair_of, items)]
    except (SyntaxError, TypeError, MemoryError, RecursionError) as error:
        raise ValueError("not a list of pairs") from error
    if not all(isinstance(name, str) and isinstance(value, bytes | str | None) for name, value in pairs):
        raise ValueError("not a list of names and bytes")
    return tuple(
        (name, bytes_of(value, "strict") if isinstance(value, str) else value) for name, value in pairs
    )


def _pair_of(item: Any) -> Any:
    """A header's name and value, from a dict of key and value, or a pair. Raises ValueError."""
    if not isinstance(item, dict):
        return item
    if item.keys() != {"key", "value"}:
        raise ValueError("a header without key and value")
    return item["key"], item["value"]


def from_aiven(text: str) -> _Headers:
    """Headers from ``name:value;`` for each one, both in base64. Raises ValueError."""
    pairs = [pair.partition(":") for pair in text[:-1].split(";")]
    decoded = ENCODINGS["base64"]
    return tuple((decoded(name.encode()).decode(), decoded(value.encode())) for name, _, value in pairs)
