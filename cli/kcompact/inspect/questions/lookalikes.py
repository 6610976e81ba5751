"""Which keys differ only by a schema id, by the spelling of JSON, or by blanks?

To people such keys are the same, to brokers they differ. A folded key is the key without these accidents.
Folding removes Confluent's five bytes (a zero and a schema id), blanks at the ends, and the spelling of a
JSON object or array (order of fields, blanks). Compaction goes by bytes; this is only a hint.
"""

import enum
from collections.abc import Mapping

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from kcompact.arrays import Flags
from kcompact.inspect.questions.keys import Keys, first_of_topics

MOST_EXAMPLES = 5
MOST_KEYS_SHOWN = 3
_SCHEMA_BYTES = 5
_LONG_BYTES = 8
_BLANKS = b" \t\n\r\f"


def lookalikes(keys: Keys) -> Mapping[str, pa.Table]:
    """Tables: a row for each group of keys that fold alike, and a few "examples" of each topic."""
    forms = pc.coalesce(keys.rows["folded"], keys.rows["key"])
    suspects = pc.unique(keys.rows["folded"]).drop_null()
    near = pc.is_in(forms, suspects).to_numpy() if len(suspects) else np.zeros(len(forms), bool)
    table = pa.table(
        {
            "topic": keys.topic_names,
            "form": forms,
            "key": keys.rows["key"],
            "accidents": keys.rows["accidents"],
        }
    ).filter(pa.array(near))
    # The same key in several partitions is one key here.
    table = table.group_by(["topic", "form", "key", "accidents"], use_threads=False).aggregate([])
    groups = table.group_by(["topic", "form"], use_threads=False).aggregate(
        [("key", "list"), ("key", "min"), ("accidents", "list")]
    )
    groups = groups.filter(pc.greater(pc.list_value_length(groups["key_list"]), 1))
    counts = pc.list_value_length(groups["key_list"]).cast(pa.int64())
    groups_of_topics = {"topic": groups["topic"], "accidents": _accidents(groups), "keys": counts}
    return {"lookalikes": pa.table(groups_of_topics), "lookalike_examples": _examples(groups)}


def _examples(groups: pa.Table) -> pa.Table:
    """For each topic, the groups with the smallest keys, whatever the order of rows."""
    firsts = groups.take(pa.array(first_of_topics(groups, MOST_EXAMPLES, ["key_min"])))
    shown = [sorted(keys)[:MOST_KEYS_SHOWN] for keys in firsts["key_list"].to_pylist()]
    return pa.table(
        {
            "topic": firsts["topic"],
            "accidents": _accidents(firsts),
            "keys": pa.array(shown, pa.list_(pa.binary())),
        }
    )


def _accidents(groups: pa.Table) -> pa.Array:
    """The accidents in each group of keys: the bits of all its keys together."""
    lists = groups["accidents_list"].combine_chunks()
    starts = lists.offsets.to_numpy()[:-1]
    if not len(starts):
        return pa.array([], pa.int64())
    bits = lists.values.to_numpy().astype(np.int64)
    return pa.array(np.bitwise_or.reduceat(bits, starts))


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


def _are_foldable(keys: pa.Array) -> Flags:
    """Per key whether its first or last byte is one of a key that could fold to something else."""
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
