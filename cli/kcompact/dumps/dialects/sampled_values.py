"""Values in a sample of records, before anybody knows what they mean."""

from collections.abc import Collection, Iterable, Iterator
from itertools import chain
from typing import Any

from kcompact.dumps.dialects.paths import escaped, path_of

Row = dict[str, Any]
"""One sampled record: its fields in the order of the file; CSV cells are text, or None if null."""


def values_at(sample: list[Row], dotted: str | None) -> Iterator[Any]:
    """The values of the sampled rows at a path; rows without it are left out."""
    if dotted is None:
        return iter(())
    column = [row[dotted] for row in sample if dotted in row]  # a column may have dots in its name
    if column and dotted:
        return iter(column)
    values: list[Any] = [*sample]
    for name in path_of(dotted):
        values = [value[name] for value in values if isinstance(value, dict) and name in value]
    return iter(values)


def texts_among(values: Iterable[Any]) -> Iterator[str]:
    """The values that are text, and not empty."""
    return (value for value in values if isinstance(value, str) and value)


def with_bytes_unread(rows: list[Row], places: Collection[str]) -> list[Row]:
    """The rows with a placeholder for bytes at these places: checks of text only see if they are empty."""
    return [row | {place: _unread(row[place]) for place in places} for row in rows]


def _unread(data: Any) -> Any:
    if data is None:
        return None
    return b"?" if data else ""


def names_far_within(row: Row, above: str = "", level: int = 1) -> Iterator[str]:
    """Dotted paths of members three and four levels deep, for which no dialect has a name."""
    for name, value in row.items():
        dotted = above + escaped(name)
        if level > _LEVELS_OF_NAMES:
            yield dotted
        if isinstance(value, dict) and level < _DEEPEST:
            yield from names_far_within(value, f"{dotted}.", level + 1)


_LEVELS_OF_NAMES = 2  # that dialects name fields by
_DEEPEST = 4


def texts_of_headers(lists: Iterable[Any]) -> Iterator[str]:
    """The values of headers that are text without a declared encoding."""
    for raw in lists:
        items = raw if isinstance(raw, list) else []
        objects = (item.get("value") for item in items if isinstance(item, dict) and "encoding" not in item)
        pairs = (item[1] for item in items if isinstance(item, list) and len(item) == len(("name", "value")))
        yield from texts_among(chain(raw.values() if isinstance(raw, dict) else (), objects, pairs))
