"""Which dialect a sample of records is written in."""

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from kcompact.dumps.dialect import Dialect
from kcompact.dumps.dialects import DIALECTS
from kcompact.dumps.encodings import ENCODINGS
from kcompact.dumps.envelope import guess_envelope
from kcompact.dumps.options import ReadOptions
from kcompact.dumps.overrides import forced, with_options
from kcompact.dumps.recognition import refuse
from kcompact.errors import InputError

Row = dict[str, Any]
"""One sampled record: its fields in the order of the file; CSV cells are text, or None if null."""


def choose_dialect(path: str, layout: str, sample: list[Row], options: ReadOptions) -> Dialect:
    """The dialect of a sample, with the user's options worked in. Raises InputError."""
    seen = {name for row in sample for name in names_of(row)}
    if options.dialect is not None:
        dialect = forced(options.dialect)
    else:
        fitting = (one for one in DIALECTS if layout in one.layouts and fits(one, seen, sample))
        dialect = next(fitting, None) or guess_envelope(path, layout, seen, options)
    refuse(dialect, path)
    dialect = with_options(dialect, options)
    absent: dict[str, Any] = {role: None for role in _PLACES if getattr(dialect, role) not in seen}
    dialect = replace(dialect, **absent)
    return replace(
        dialect,
        key_encoding=_encoding_of(path, "key", dialect.key_encoding, values_at(sample, dialect.key)),
        value_encoding=_encoding_of(path, "value", dialect.value_encoding, values_at(sample, dialect.value)),
    )


def _encoding_of(path: str, role: str, declared: str, sample: list[Any]) -> str:
    """The encoding of keys or values, where the dialect leaves it to the tool's user. Raises InputError."""
    if declared != "text":
        return declared
    texts = [value for value in sample if isinstance(value, str) and value]
    if texts and all(_JAVA_ADDRESS.fullmatch(text) for text in texts):
        raise InputError(
            f"{path}: {role}s such as {texts[0]} are addresses of Java objects: the data were not exported",
            hint="cast to strings or base64 before writing CSV (Spark: CAST(key AS STRING), base64(key))",
        )
    if texts and all(_PYTHON_BYTES.fullmatch(text) for text in texts):
        return "python"
    return "json" if role == "key" and any(map(_is_json, sample)) else declared


_JAVA_ADDRESS = re.compile(r"\[B@[0-9a-f]+")
_PYTHON_BYTES = re.compile(r"b'.*'|b\".*\"", re.DOTALL)


_PLACES = ("topic", "partition", "offset")


def names_of(row: Row) -> list[str]:
    """Dotted paths of a row's fields, two levels deep."""
    nested = [(outer, value) for outer, value in row.items() if isinstance(value, dict)]
    return list(row) + [f"{outer}.{inner}" for outer, value in nested for inner in value]


def fits(dialect: Dialect, seen: set[str], sample: list[Row]) -> bool:
    """Whether records with these fields, in this order, so encoded, can be of the dialect.

    A dialect without a signature is never found, only named.
    """
    if not dialect.signature or not dialect.signature <= seen or dialect.lacking & seen:
        return False
    rank = {name: index for index, name in enumerate(dialect.order)}
    for row in sample:
        ranks = [rank[name] for name in row if name in rank]
        if ranks != sorted(ranks):
            return False
    return _decodes(values_at(sample, dialect.key), dialect.key_encoding) and _decodes(
        values_at(sample, dialect.value), dialect.value_encoding
    )


def _decodes(values: Iterable[Any], encoding: str) -> bool:
    """Whether all texts are in the encoding."""
    if encoding in {"text", "json"}:
        return True
    try:
        for value in values:
            if isinstance(value, str):
                ENCODINGS[encoding](value.encode())
    except ValueError:
        return False
    return True


def values_at(sample: list[Row], dotted: str | None) -> list[Any]:
    """What the sampled rows hold at a path; rows without it are left out."""
    if dotted is None:
        return []
    values: list[Any] = list(sample)
    for name in dotted.split(".") if dotted else []:
        values = [value[name] for value in values if isinstance(value, dict) and name in value]
    return values


def _is_json(key: Any) -> bool:
    """Whether a key is a JSON value other than a string, or an object that stands for bytes."""
    if isinstance(key, dict):
        if "isPayloadNull" in key:
            return not key["isPayloadNull"] and not isinstance(key.get("payload"), str)
        return not (key.get("type") == "Buffer" and "data" in key)
    return key is not None and not isinstance(key, str)
