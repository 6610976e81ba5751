"""Keys that are in several partitions of one topic: compaction never joins them (R44)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kcompact.broker.log_names import LogName

EXAMPLES = 5


@dataclass
class SharedKeys:
    """How many keys are in more than one partition of their topic, and the first few of them."""

    count: int = 0
    examples: list[tuple[str, bytes]] = field(default_factory=list)  # (topic, key), smallest first


def find_shared_keys(keys: pa.Table, names: Mapping[int, LogName]) -> SharedKeys:
    """The shared keys among ``keys``: rows (log_id, key), one for every log that has the key."""
    topics = {topic: number for number, topic in enumerate(sorted({topic for topic, _ in names.values()}))}
    if len(names) == len(topics) or not keys.num_rows:  # every topic has one partition here
        return SharedKeys()
    numbers = pa.concat_arrays(keys["key"].chunks).dictionary_encode().indices.to_numpy()
    # Most keys stand in one row alone: only the others are looked at topic by topic.
    is_met_again = np.bincount(numbers)[numbers] > 1
    if not is_met_again.any():
        return SharedKeys()
    keys = keys.select(["log_id", "key"]).filter(pa.array(is_met_again))
    topic_of = [topics[names[log_id][0]] for log_id in keys["log_id"].to_pylist()]
    table = pa.table({"topic": pa.array(topic_of, pa.int32()), "key": keys["key"]})
    counts = table.group_by(["topic", "key"], use_threads=False).aggregate([([], "count_all")])
    shared = counts.filter(pc.greater(counts["count_all"], 1)).sort_by([("topic", "ascending")])
    by_number = {number: topic for topic, number in topics.items()}
    rows = sorted(zip(shared["topic"].to_pylist(), shared["key"].to_pylist(), strict=True))[:EXAMPLES]
    return SharedKeys(shared.num_rows, [(by_number[topic], key) for topic, key in rows])


def together(parts: Iterable[SharedKeys]) -> SharedKeys:
    """Add up the shared keys of several shares; each key is in one of them."""
    total = SharedKeys()
    for part in parts:
        total.count += part.count
        total.examples = sorted([*total.examples, *part.examples])[:EXAMPLES]
    return total
