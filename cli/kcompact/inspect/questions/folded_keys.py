"""Keys that are the same to people but differ to brokers: a folded key is the key without its accidents.

Folding removes Confluent's five bytes (a zero and a schema id), blanks at the ends, and the spelling of a
JSON object or array (order of fields, blanks). Compaction goes by bytes; this is only a hint.
"""

import enum

import numpy as np
import orjson
import pyarrow as pa
from numpy.typing import NDArray

_SCHEMA_BYTES = 5
_LONG_BYTES = 8
_BLANKS = b" \t\n\r\f"


class Accident(enum.IntFlag):
    """Parts of a key that folding removes, as bits."""

    SCHEMA_ID = 1
    BLANKS = 2
    JSON_SPELLING = 4

    @property
    def words(self) -> str:
        """The removed parts, in words: keys of one folded form differ in them."""
        names = {1: "a schema id", 2: "blanks at the ends", 4: "JSON field order or blanks"}
        return " and ".join(text for bit, text in names.items() if self & bit)


def fold(key: bytes) -> tuple[bytes, Accident]:
    """The folded key, and what was taken off."""
    accidents = Accident(0)
    # Eight bytes are a number of Java's LongSerializer, and schema ids are small.
    if len(key) > _SCHEMA_BYTES and key[:2] == b"\0\0" and len(key) != _LONG_BYTES and any(key[2:5]):
        key, accidents = key[_SCHEMA_BYTES:], accidents | Accident.SCHEMA_ID
    stripped = key.strip()
    if stripped != key and stripped:
        key, accidents = stripped, accidents | Accident.BLANKS
    if key[:1] in {b"{", b"["}:
        respelt = _respelt(key)
        if respelt != key:
            key, accidents = respelt, accidents | Accident.JSON_SPELLING
    return key, accidents


def fold_keys(keys: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Per key (binary): its folded form, null where that is the key itself; and its accidents (int8)."""
    foldable = np.flatnonzero(_are_foldable(keys))
    folded: list[bytes | None] = [None] * len(keys)
    accidents = np.zeros(len(keys), np.int8)
    for at in foldable:
        form, key_accidents = fold(keys[int(at)].as_py())
        if key_accidents:
            folded[at], accidents[at] = form, int(key_accidents)
    if not accidents.any():
        return pa.nulls(len(keys), pa.binary()), pa.array(accidents)
    return pa.array(folded, pa.binary()), pa.array(accidents)


def _are_foldable(keys: pa.Array) -> NDArray[np.bool_]:
    """Per key whether it starts or ends as one that could fold to something else."""
    starts, ends = (np.isin(np.arange(256), list(signs)) for signs in (_BLANKS + b"\0{[", _BLANKS))
    if not len(keys):
        return np.zeros(0, np.bool_)
    _, offsets, data = keys.buffers()
    bounds = np.frombuffer(offsets, np.int32)[keys.offset : keys.offset + len(keys) + 1]
    is_there = np.diff(bounds) > 0
    foldable = np.zeros(len(keys), np.bool_)
    content = np.frombuffer(data or b"", np.uint8)
    foldable[is_there] = starts[content[bounds[:-1][is_there]]] | ends[content[bounds[1:][is_there] - 1]]
    return foldable


def _respelt(key: bytes) -> bytes:
    try:
        return orjson.dumps(orjson.loads(key), option=orjson.OPT_SORT_KEYS)
    except (orjson.JSONDecodeError, orjson.JSONEncodeError):  # no JSON; nested more than 254 deep
        return key
