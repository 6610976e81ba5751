"""The key rows of one task, as the questions look at them."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kcompact.arrays import Flags, Longs, aggregated
from kcompact.engine.passes.summaries import LogSummary


@dataclass(frozen=True)
class Keys:
    """Rows of FOLDED_KEY_ROW, one per (log, key): all rows of a key, and of all keys that fold alike.

    ``tasks`` share the keys of the dump, by hash.
    """

    rows: pa.Table
    logs: Mapping[int, LogSummary]  # by log id
    tasks: int = 1

    @cached_property
    def shared(self) -> tuple[Longs, Longs]:
        """Rows whose key is in several partitions of its topic: their positions, and a number per key."""
        if len(self.logs) == len(self.topics):  # every topic has one partition here
            return np.empty(0, np.int64), np.empty(0, np.int64)
        table = pa.table({"topic": self.topic_numbers, "key": self.rows["key"]})
        table = table.append_column("row", pa.array(np.arange(table.num_rows)))
        grouped = table.group_by(["topic", "key"], use_threads=False).aggregate([("row", "list")])
        lists = grouped["row_list"].combine_chunks()
        lengths = np.diff(lists.offsets.to_numpy())
        number = np.repeat(np.arange(len(lengths)), lengths)
        is_shared = np.repeat(lengths > 1, lengths)
        rows = lists.flatten().to_numpy()[is_shared]
        return rows, np.unique(number[is_shared], return_inverse=True)[1]

    def column(self, name: str) -> Longs:
        """A column of numbers."""
        return self.rows[name].to_numpy()

    @cached_property
    def topics(self) -> list[str]:
        """The topics of the dump; ``topic_numbers`` are positions in this list."""
        return sorted({log.topic for log in self.logs.values()})

    @cached_property
    def topic_numbers(self) -> Longs:
        """Per row the number of its topic."""
        numbers = {topic: number for number, topic in enumerate(self.topics)}
        return self._per_log({log_id: numbers[log.topic] for log_id, log in self.logs.items()})

    @property
    def topic_names(self) -> pa.Array:
        """Per row its topic."""
        return pa.array(np.array(self.topics, dtype=object)[self.topic_numbers], pa.string())

    @cached_property
    def partitions(self) -> Longs:
        """Per row the partition of its log."""
        return self._per_log({log_id: log.partition for log_id, log in self.logs.items()})

    @property
    def is_deleted(self) -> Flags:
        """Per row whether the latest record is a tombstone."""
        return (self.column("latest") & 1).astype(bool)

    def _per_log(self, values: Mapping[int, int]) -> Longs:
        log_ids, where = np.unique(self.column("log_id"), return_inverse=True)
        return np.array([values[int(log_id)] for log_id in log_ids], np.int64)[where]


def summed(rows: pa.Table, names: list[str]) -> pa.Table:
    """Rows merged where the columns ``names``, which come first, are equal; other columns are added up."""
    return aggregated(rows, names, dict.fromkeys(rows.column_names[len(names) :], "sum"))


def first_of_topics(rows: pa.Table, most: int, columns: list[str]) -> Longs:
    """The positions of the first ``most`` rows of each "topic", as these columns order them, ascending."""
    if not rows.num_rows:
        return np.empty(0, np.int64)
    topics = rows["topic"].combine_chunks().dictionary_encode().indices
    table = rows.select(columns).append_column("topic", topics)
    ordered = pc.sort_indices(table, [(name, "ascending") for name in ("topic", *columns)]).to_numpy()
    counts = np.bincount(topics.to_numpy())
    ranks = np.arange(len(ordered)) - np.repeat(np.cumsum(counts) - counts, counts)
    return ordered[ranks < most].astype(np.int64)
