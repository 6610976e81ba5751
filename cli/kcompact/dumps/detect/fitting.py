"""Finds the dialects of the table that fit a sample: by its fields, their order, and whether it decodes.

A dump may be ten thousand small files. Results that follow from names of fields alone are worked out once for
all files with the same names; those that follow from content, for every file.
"""

from collections.abc import Iterable
from functools import lru_cache
from itertools import chain

from kcompact.dumps.detect.likely_encodings import likely_base64, likely_hex
from kcompact.dumps.dialects.dialect import Dialect
from kcompact.dumps.dialects.dialect_table import DIALECTS
from kcompact.dumps.dialects.paths import escaped
from kcompact.dumps.dialects.sampled_values import Row, texts_among, values_at
from kcompact.dumps.records.encodings import ENCODINGS
from kcompact.dumps.records.headers import has_members

Form = tuple[tuple[str, ...], tuple[tuple[str, tuple[str, ...]], ...]]
"""The names in a row, in order, and those within the objects among its fields."""

FORMS_REMEMBERED = 256
A_FEW = 2  # enough signs for likely_base64 where fields are in the tool's order
_MANY = 16  # enough where they are not


def forms_of(sample: list[Row]) -> frozenset[Form]:
    """The forms that the rows of a sample have."""
    if dict not in map(type, chain.from_iterable(map(dict.values, sample))):
        return frozenset((names, ()) for names in set(map(tuple, sample)))
    return frozenset(map(_form_of, sample))


def _form_of(row: Row) -> Form:
    return tuple(row), tuple((name, tuple(value)) for name, value in row.items() if isinstance(value, dict))


@lru_cache(FORMS_REMEMBERED)
def names_in(forms: frozenset[Form]) -> frozenset[str]:
    """Dotted paths of all fields, two levels deep."""
    outer = {escaped(name) for names, _ in forms for name in names}
    inner = {
        f"{escaped(name)}.{escaped(inner)}"
        for _, nested in forms
        for name, within in nested
        for inner in within
    }
    return frozenset(outer | inner)


@lru_cache(FORMS_REMEMBERED)
def dialects_fitting(layout: str, forms: frozenset[Form]) -> tuple[Dialect, ...]:
    """The dialects that records with these fields, in this order, can be of, if they decode."""
    names = names_in(forms)
    return tuple(
        dialect for dialect in DIALECTS if layout in dialect.layouts and _fits(dialect, names, forms)
    )


def _fits(dialect: Dialect, field_names: frozenset[str], forms: Iterable[Form]) -> bool:
    """Whether names and order of fields fit a dialect. The user has to name one without a signature."""
    if not dialect.signature or not dialect.signature <= field_names or dialect.lacking & field_names:
        return False
    return dialect.likely_base64 or all(in_order(dialect, names) for names, _ in forms)


def in_order(dialect: Dialect, names: Iterable[str]) -> bool:
    """Whether the names that occur in the dialect's ``order`` come in that order."""
    rank = {name: index for index, name in enumerate(dialect.order)}
    ranks = [rank[name] for name in names if name in rank]
    return ranks == sorted(ranks)


def decodes(dialect: Dialect, sample: list[Row]) -> bool:
    """Whether keys and values are encoded, and other parts are written, as the dialect says."""
    parts = (dialect.key, dialect.value)
    is_encoded = all(all_in(part.encoding, sample, part.place) for part in parts)
    if not is_encoded or not _is_of_tool(dialect, sample):
        return False
    if dialect.key.encoding == "hex":
        return likely_hex(texts_among(values_at(sample, dialect.key.place)))
    if dialect.key.encoding == "spark-hex":
        return any(any(texts_among(values_at(sample, part.place))) for part in parts)
    if not dialect.likely_base64:
        return True
    texts = [list(texts_among(values_at(sample, part.place))) for part in parts]
    enough = A_FEW if all(in_order(dialect, row) for row in sample) else _MANY
    return any(texts) and all(likely_base64(of_role, enough) for of_role in texts if of_role)


def _is_of_tool(dialect: Dialect, sample: list[Row]) -> bool:
    """Whether timestamps, headers and nulls are of the kinds that the dialect's tool writes."""
    writes_no_null = "empty" in dialect.value.nulls and not dialect.null_word  # it writes an empty text
    if writes_no_null and None in values_at(sample, dialect.value.place):
        return False
    are_named = dialect.named_headers and dialect.headers_encoding == "base64"
    if are_named and any(map(has_members, header_values(sample, dialect))):
        return False
    return not dialect.text_timestamps or (
        _all_of(str, sample, dialect.timestamp)
        and (dialect.timestamp_type is None or _all_of(int, sample, dialect.timestamp_type))
        and all_in(dialect.headers_encoding, header_values(sample, dialect), "value")
    )


def header_values(sample: list[Row], dialect: Dialect) -> list[Row]:
    """The headers of the sampled rows, where each is an object."""
    lists = (headers for headers in values_at(sample, dialect.headers) if isinstance(headers, list))
    return [header for header in chain.from_iterable(lists) if isinstance(header, dict)]


def _all_of(kind: type, sample: list[Row], dotted: str | None) -> bool:
    """Whether there are values at a path, and all are of a type."""
    return set(map(type, values_at(sample, dotted))) == {kind}


def all_in(encoding: str, sample: list[Row], dotted: str | None) -> bool:
    """Whether all texts at a path are in the encoding."""
    if encoding in {"text", "json"}:
        return True
    values = values_at(sample, dotted)
    try:
        for value in values:
            if isinstance(value, str):
                ENCODINGS[encoding](value.encode())
    except ValueError:
        return False
    return True
