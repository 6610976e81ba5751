"""A sample of keys with the partitions they stand in, for finding out who placed them there."""

import zlib
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kcompact.inspect.questions.keys import Keys, Longs
from kcompact.inspect.questions.shared_keys import find_shared_rows

MOST_ROWS = 20_000  # per topic, and as many again of keys in several partitions
LONGEST_KEY_BYTES = 512
_COLUMNS = ["key", "first_offset", "last_offset"]


def sample_keys(keys: Keys) -> pa.Table:
    """Rows (topic, partition, key, first_offset, last_offset, is_shared, order).

    Those with the smallest hash: the same keys whatever the number of tasks, and all rows of a key.
    """
    is_shared = np.zeros(keys.rows.num_rows, bool)
    is_shared[find_shared_rows(keys)[0]] = True
    names = np.array(keys.topics, dtype=object)
    rows = keys.rows.select(_COLUMNS)
    for name, column in {
        "topic": pa.array(names[keys.topic_numbers], pa.string()),
        "partition": pa.array(keys.partitions),
        "is_shared": pa.array(is_shared),
        "order": pa.array(_order(keys)),
    }.items():
        rows = rows.append_column(name, column)
    short = pc.less_equal(pc.binary_length(rows["key"]), LONGEST_KEY_BYTES)
    return smallest(rows.filter(short))


def smallest(rows: pa.Table) -> pa.Table:
    """The sample of several tasks' samples."""
    kept = [rows.slice(0, 0)]
    for _, of_topic in by_topic(rows):
        for shared in (False, True):
            part = of_topic.filter(pc.equal(of_topic["is_shared"], shared))
            if part.num_rows > MOST_ROWS:
                limit = np.partition(part["order"].to_numpy(), MOST_ROWS)[MOST_ROWS]
                part = part.filter(pc.less(part["order"], pa.scalar(limit)))
            kept.append(part)
    return pa.concat_tables(kept)


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
    """A hash per key that has nothing to do with the order of CRC-32 itself, which may place keys."""
    found = np.fromiter(map(zlib.crc32, keys.rows["key"].to_pylist()), np.uint64, keys.rows.num_rows)
    return (found * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(1)).astype(np.int64)
