"""Which keys are in several partitions of their topic, and which of these holds the newest record?

A broker compacts each partition by itself: a key that moved keeps one record in each, and a tombstone in one
does not delete the record in another. Offsets of two partitions cannot be compared, so timestamps decide.
"""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kcompact.arrays import Flags, Longs
from kcompact.inspect.questions.keys import Keys, first_of_topics

MOST_EXAMPLES = 5
_EXAMPLE_COLUMNS = ["key", "first_offset", "last_offset", "last_timestamp_ms", "records"]


def shared_keys(keys: Keys) -> Mapping[str, pa.Table]:
    """Tables of keys in several partitions: a row for each key, one for each of its places, and examples."""
    rows, numbers = keys.shared
    deleted, last_ms = keys.is_deleted[rows], keys.column("last_timestamp_ms")[rows]
    newest, severe = _newest(numbers, last_ms), _severe(numbers, last_ms, deleted)
    topic, partition = keys.topic_names.take(pa.array(rows)), pa.array(keys.partitions[rows])
    places = keys.rows.take(pa.array(rows)).select(_EXAMPLE_COLUMNS)
    for name, column in {
        "topic": topic,
        "partition": partition,
        "is_tombstone": pa.array(deleted),
        "is_newest": pa.array(newest),
        "is_severe": pa.array(severe),
    }.items():
        places = places.append_column(name, column)
    firsts = np.unique(numbers, return_index=True)[1]
    topics_of_keys, counts = topic.take(pa.array(firsts)), np.ones(len(firsts), np.int64)
    severe_keys = severe[firsts].astype(np.int64)
    return {
        "shared_keys": pa.table({"topic": topics_of_keys, "shared_keys": counts, "severe_keys": severe_keys}),
        "newest_places": pa.table(
            {"topic": topic, "partition": partition, "newest_here": newest.astype(np.int64)}
        ),
        "shared_key_examples": places.take(pa.array(_chosen(places, numbers))),
    }


def _newest(numbers: Longs, timestamps_ms: Longs) -> Flags:
    """Per row whether it is the newest of its key; none is if the latest timestamp occurs twice."""
    best = _max_per_key(numbers, timestamps_ms)
    is_best = (timestamps_ms == best[numbers]) & (timestamps_ms >= 0)
    return is_best & (np.bincount(numbers, is_best, minlength=len(best)) == 1)[numbers]


def _severe(numbers: Longs, timestamps_ms: Longs, is_deleted: Flags) -> Flags:
    """Per row whether its key was deleted in one partition and lives on in another that is not newer."""
    deleted = _max_per_key(numbers, np.where(is_deleted, timestamps_ms, -2))
    alive = _max_per_key(numbers, np.where(is_deleted, -2, timestamps_ms))
    return ((deleted > -2) & (alive > -2) & (deleted >= alive))[numbers]  # noqa: PLR2004  -2: none


def _max_per_key(numbers: Longs, values: Longs) -> Longs:
    best = np.full(int(numbers.max(initial=-1)) + 1, -2, np.int64)
    np.maximum.at(best, numbers, values)
    return best


def _chosen(places: pa.Table, numbers: Longs) -> Longs:
    """The rows of a few keys of each topic: severe ones first, then the smallest, in any order of rows."""
    firsts = np.unique(numbers, return_index=True)[1]
    keys = places.take(pa.array(firsts)).select(["topic", "key"])
    keys = keys.append_column("mild", pc.invert(places["is_severe"].take(pa.array(firsts))).cast(pa.int8()))
    return np.flatnonzero(np.isin(numbers, first_of_topics(keys, MOST_EXAMPLES, ["mild", "key"])))
