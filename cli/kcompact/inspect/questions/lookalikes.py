"""Which keys differ only by a schema id, by the spelling of JSON, or by blanks?"""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kcompact.inspect.questions.keys import Keys, first_of_topics

MOST_EXAMPLES = 5
MOST_KEYS_SHOWN = 3


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
    """Of each topic the groups with the smallest keys, in any order of rows."""
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
