"""Dotted paths to members of JSON objects, and the fields beside the parts of a record."""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from kcompact.dumps.dialects.dialect import Dialect

Path = tuple[str, ...]
NAMES_REMEMBERED = 1 << 12  # a dump may be ten thousand small files with the same names
_BETWEEN = re.compile(r"(?<!\\)\.")
_COMMA = re.compile(r"(?<!\\),")


@lru_cache(NAMES_REMEMBERED)
def path_of(dotted: str) -> Path:
    """The names on a path; "" is the whole record."""
    return tuple(map(unescaped, _BETWEEN.split(dotted))) if dotted else ()


def escaped(name: str) -> str:
    """A name as it is written in a path, and between the commas of an option."""
    return name.replace(".", r"\.").replace(",", r"\,")


def unescaped(name: str) -> str:
    """The name that is written like this in a path, or between the commas of an option."""
    return name.replace(r"\.", ".").replace(r"\,", ",")


def between_commas(text: str) -> list[str]:
    """The pieces of an option between its commas."""
    return [piece.strip() for piece in _COMMA.split(text)]


Places = dict[str, "Places | None"]
"""Members that are read, by name: None for one that is read as a whole, else those within it."""


@lru_cache(NAMES_REMEMBERED)
def fields_read(dialect: Dialect) -> tuple[str, ...]:
    """The dotted paths of all fields that make up a record; "" for the record as a whole."""
    # --key-field, unless --cdc is given, replaces the record's own key.
    is_replaced = bool(dialect.key_fields) and dialect.cdc is None
    places = [place for role, place in dialect.places.items() if role != "key" or not is_replaced]
    for part in (dialect.key, dialect.value):
        places += part.marker, part.base64, part.size
    return tuple(place for place in places if place is not None)


def places_of(paths: Iterable[tuple[str, ...]]) -> Places | None:
    """The members at these paths; None if one of them is the whole record."""
    places: Places = {}
    for path in paths:
        if not path:
            return None
        at: Places | None = places
        for name in path[:-1]:
            at = None if at is None else at.setdefault(name, {})
        if at is not None:
            at[path[-1]] = None
    return places


def members_beside(row: Mapping[str, Any], read: Places | None, above: str = "") -> Iterator[str]:
    """Dotted paths of an object's members that are not read, and not null."""
    if read is None:
        return
    for name, value in row.items():
        if name not in read:
            if value is not None:
                yield above + escaped(name)
        elif isinstance(value, dict):
            yield from members_beside(value, read[name], f"{above}{escaped(name)}.")


def columns_beside(names: Iterable[str], dialect: Dialect) -> list[str]:
    """The columns of a schema that are not read; ``names`` are dotted paths, the outer ones first."""
    read, beside = fields_read(dialect), dict[str, None]()
    for name in names:
        outer = (name[:at] for at, letter in enumerate(name) if letter == ".")
        within = any(above in read or above in beside for above in outer)
        holds = any(place.startswith(f"{name}.") for place in read)
        if "" not in read and name not in read and not within and not holds:
            beside[name] = None
    return list(beside)
