"""A sample of keys with the partitions that hold them, for finding out who placed them there."""

import zlib
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kcompact.arrays import Longs
from kcompact.inspect.questions.keys import Keys

MOST_ROWS = 20_000  # per topic, and as many again of keys in several partitions
LONGEST_KEY_BYTES = 512
_COLUMNS = ["key", "first_offset", "last_offset"]
_TOPIC = len(_COLUMNS)


def sample_keys(keys: Keys) -> pa.Table:
    """A sample as rows (topic, partition, key, first_offset, last_offset, is_shared, order).

    It consists of the rows with the smallest hashes of keys: whatever the number of tasks, it has the same
    keys, and all rows of a key.
    """
    is_shared = np.zeros(keys.rows.num_rows, bool)
    is_shared[keys.shared[0]] = True
    rows = keys.rows.select(_COLUMNS)
    for name, column in {
        "topic": pa.DictionaryArray.from_arrays(
            pa.array(keys.topic_numbers), pa.array(keys.topics, pa.string())
        ),
        "partition": pa.array(keys.partitions),
        "is_shared": pa.array(is_shared),
        "order": pa.array(_order(keys)),
    }.items():
        rows = rows.append_column(name, column)
    short = pc.less_equal(pc.binary_length(rows["key"]), LONGEST_KEY_BYTES)
    sampled = smallest(rows.filter(short), _most_of_task(keys))
    return sampled.set_column(_TOPIC, "topic", sampled["topic"].cast(pa.string()))


def _most_of_task(keys: Keys) -> int:
    """An upper bound, all but certain, of a task's rows among the MOST_ROWS of all tasks.

    On average a task has MOST_ROWS / ``keys.tasks`` of them; all rows of a key are in the same task.
    """
    rows_of_key = int(keys.partitions.max(initial=0)) + 1
    return min(MOST_ROWS, 4 * MOST_ROWS // keys.tasks + 50 * rows_of_key)


def smallest(rows: pa.Table, most: int = MOST_ROWS) -> pa.Table:
    """The sample of several tasks' samples: of each topic ``most`` rows, and as many of shared keys."""
    topics = pc.dictionary_encode(rows["topic"].combine_chunks()).indices.to_numpy()
    kinds = 2 * topics + rows["is_shared"].to_numpy()
    order, is_kept = rows["order"].to_numpy(), np.ones(len(kinds), np.bool_)
    for kind in np.flatnonzero(np.bincount(kinds) > most):
        at = np.flatnonzero(kinds == kind)
        is_kept[at] = order[at] < np.partition(order[at], most)[most]
    return rows.filter(pa.array(is_kept))


def by_topic(rows: pa.Table) -> Iterator[tuple[str, pa.Table]]:
    """The rows of each topic, in their order."""
    topics = rows["topic"].dictionary_encode().combine_chunks()
    codes = topics.indices.to_numpy()
    ordered = rows if len(topics.dictionary) == 1 else rows.take(pa.array(np.argsort(codes, kind="stable")))
    start = 0
    for topic, count in zip(topics.dictionary.to_pylist(), np.bincount(codes).tolist(), strict=True):
        yield topic, ordered.slice(start, count)
        start += count


def _order(keys: Keys) -> Longs:
    """A hash per key that is independent of the order of CRC-32 itself, as keys may be placed by CRC-32."""
    checksums = np.fromiter(map(zlib.crc32, keys.rows["key"].to_pylist()), np.uint64, keys.rows.num_rows)
    return (checksums * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(1)).astype(np.int64)
