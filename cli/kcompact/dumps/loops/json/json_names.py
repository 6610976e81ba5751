"""The names that the JSON loop looks for: a flat table made of a dialect's dotted paths."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from kcompact.dumps.dialects.dialect import Dialect
from kcompact.dumps.dialects.paths import path_of

# Rows of the table: the parts of a record; markers, flags and errors, by which a record is refused where they
# are set; prefixes of paths; and last ``Dialect.late_names``, by which a record is refused, too.
TOPIC, PARTITION, OFFSET, TIMESTAMP, TIMESTAMP_TYPE, KEY, VALUE, HEADERS = range(8)  # as in dialect.ROLES
MARKERS, DELETE_FLAG, ERRORS, PREFIXES = 8, 10, 11, 15
# Columns of the table.
LENGTH, PARENT = range(2)
TOP = NONE = -1
_REMEMBERED = 64  # dialects: ten thousand small files have few
_LONGEST_NAME = 64
_WORD = 8


class JsonNames(NamedTuple):
    """Rows of ``table`` are (length in bytes, row of the name above or TOP); no name matches the length NONE.

    ``words`` are the first eight bytes of each name (zeros behind a shorter one), ``texts`` all its bytes.
    """

    table: np.ndarray  # int64 of shape (names, 2)
    words: np.ndarray  # uint64
    texts: np.ndarray  # uint8 of shape (names, _LONGEST_NAME)


@lru_cache(_REMEMBERED)
def json_names(dialect: Dialect) -> JsonNames | None:
    """The table for a dialect; None if the loop cannot look for its names, or one path is within another."""
    key, value = dialect.key, dialect.value
    markers = (key.marker, value.marker, dialect.delete_flag)  # null and false say nothing
    errors = (key.error, value.error, key.base64, value.base64)  # null says nothing
    paths = [_path(place) for place in (*dialect.places.values(), *markers, *errors)]
    named = [path for path in paths if path is not None]
    nested = any(outer != inner and inner[: len(outer)] == outer for outer in named for inner in named)
    if nested or len(set(named)) < len(named) or any(_is_odd(name) for path in named for name in path):
        return None
    prefixes = sorted({path[:length] for path in named for length in range(1, len(path))})
    late = [(name,) for _, name in dialect.late_names]
    rows: list[tuple[str, ...] | None] = [*paths, *prefixes, *late]
    above = {path: PREFIXES + number for number, path in enumerate(prefixes)}
    names = ["" if path is None else path[-1] for path in rows]
    lengths = [NONE if path is None else len(path[-1].encode()) for path in rows]
    parents = [TOP if path is None else above.get(path[:-1], TOP) for path in rows]
    texts = np.array([list(name.encode().ljust(_LONGEST_NAME, b"\0")) for name in names], np.uint8)
    words = texts[:, :_WORD].copy().view(np.uint64).reshape(-1)
    return JsonNames(np.array([lengths, parents], np.int64).T.copy(), words, texts)


def _path(dotted: str | None) -> tuple[str, ...] | None:
    return None if dotted is None else path_of(dotted) or ("",)


def _is_odd(name: str) -> bool:
    return not name or len(name.encode("utf-8", "replace")) > _LONGEST_NAME or not name.isprintable()
