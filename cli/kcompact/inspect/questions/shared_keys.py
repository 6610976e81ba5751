"""Which keys are in several partitions of their topic, and which of these holds the newest record?

A broker compacts each partition by itself: a key that moved keeps one record in each, and a tombstone in one
does not delete the record in another. Offsets of two partitions cannot be compared, so timestamps decide.
"""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kcompact.inspect.questions.keys import Keys, Longs, first_of_topics

MOST_EXAMPLES = 5
COUNTS = ("shared_keys", "severe_keys")
EXAMPLE_COLUMNS = [
    "key",
    "first_offset",
    "last_offset",
    "last_timestamp_ms",
    "records",
]


def find_shared_rows(keys: Keys) -> tuple[Longs, Longs]:
    """Rows whose key is in several partitions of its topic: their positions, and a number per key."""
    if len(keys.spans) == len(keys.topics):  # every topic has one partition here
        return np.empty(0, np.int64), np.empty(0, np.int64)
    table = pa.table({"topic": keys.topic_numbers, "key": keys.rows["key"]})
    table = table.append_column("row", pa.array(np.arange(table.num_rows)))
    grouped = table.group_by(["topic", "key"], use_threads=False).aggregate([("row", "list")])
    lists = grouped["row_list"].combine_chunks()
    lengths = np.diff(lists.offsets.to_numpy())
    number = np.repeat(np.arange(len(lengths)), lengths)
    shared = np.repeat(lengths > 1, lengths)
    rows = lists.flatten().to_numpy()[shared]
    return rows, np.unique(number[shared], return_inverse=True)[1]


def shared_keys(keys: Keys) -> Mapping[str, pa.Table]:
    """Tables: "counts" by topic, "newest" by topic and partition, "examples" of each topic, severe first."""
    rows, numbers = find_shared_rows(keys)
    topics, partitions = keys.topic_numbers[rows], keys.partitions[rows]
    topic = pa.array(np.array(keys.topics, dtype=object)[topics], pa.string())
    deleted, last_ms = keys.is_deleted[rows], keys.column("last_timestamp_ms")[rows]
    newest, severe = _newest(numbers, last_ms), _severe(numbers, last_ms, deleted)
    places = keys.rows.take(pa.array(rows)).select(EXAMPLE_COLUMNS)
    for name, column in {
        "topic": topic,
        "partition": pa.array(partitions),
        "is_tombstone": pa.array(deleted),
        "is_newest": pa.array(newest),
        "is_severe": pa.array(severe),
    }.items():
        places = places.append_column(name, column)
    return {
        "counts": sum_counts(_one_each(places, numbers)),
        "newest": sum_newest(_every_place(places)),
        "examples": places.take(pa.array(_chosen(places, numbers))),
    }


def _one_each(places: pa.Table, numbers: Longs) -> pa.Table:
    """One row per key."""
    firsts = places.take(pa.array(np.unique(numbers, return_index=True)[1]))
    counts, severe = np.ones(firsts.num_rows, np.int64), firsts["is_severe"].cast(pa.int64())
    return pa.table({"topic": firsts["topic"], "shared_keys": counts, "severe_keys": severe})


def _every_place(places: pa.Table) -> pa.Table:
    """One row per key and partition."""
    return pa.table(
        {
            "topic": places["topic"],
            "partition": places["partition"],
            "shared_keys": np.ones(places.num_rows, np.int64),
            "newest_here": places["is_newest"].cast(pa.int64()),
        }
    )


def sum_counts(rows: pa.Table) -> pa.Table:
    """Counts of several tasks, added up by topic."""
    summed = rows.group_by("topic", use_threads=False).aggregate([(name, "sum") for name in COUNTS])
    return summed.rename_columns(["topic", *COUNTS])


def sum_newest(rows: pa.Table) -> pa.Table:
    """Newest counts of several tasks, added up by topic and partition."""
    names = ["topic", "partition", "shared_keys", "newest_here"]
    grouped = rows.group_by(names[:2], use_threads=False)
    return grouped.aggregate([(name, "sum") for name in names[2:]]).rename_columns(names)


def _newest(numbers: Longs, timestamps_ms: Longs) -> NDArray[np.bool_]:
    """Per row whether it is the newest of its key; none is if the latest timestamp occurs twice."""
    best = _max_per_key(numbers, timestamps_ms)
    is_best = (timestamps_ms == best[numbers]) & (timestamps_ms >= 0)
    return is_best & (np.bincount(numbers, is_best, minlength=len(best)) == 1)[numbers]


def _severe(numbers: Longs, timestamps_ms: Longs, is_deleted: NDArray[np.bool_]) -> NDArray[np.bool_]:
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
