"""The key rows of one task, as the questions look at them."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Longs = NDArray[np.int64]


class LogSpan(NamedTuple):
    """One log of the dump and the offsets it has there; ``end_offset`` is exclusive."""

    topic: str
    partition: int
    first_offset: int
    end_offset: int


@dataclass(frozen=True)
class Keys:
    """Rows of FOLDED_KEY_ROW, one per (log, key); a key's rows, and those that fold alike, are all here."""

    rows: pa.Table
    spans: Mapping[int, LogSpan]  # by log id

    def column(self, name: str) -> Longs:
        """A column of numbers."""
        return self.rows[name].to_numpy()

    @cached_property
    def topics(self) -> list[str]:
        """The topics of the dump; ``topic_numbers`` counts through them."""
        return sorted({span.topic for span in self.spans.values()})

    @cached_property
    def topic_numbers(self) -> Longs:
        """Per row the number of its topic."""
        numbers = {topic: number for number, topic in enumerate(self.topics)}
        return self._per_log({log_id: numbers[span.topic] for log_id, span in self.spans.items()})

    @cached_property
    def partitions(self) -> Longs:
        """Per row the partition of its log."""
        return self._per_log({log_id: span.partition for log_id, span in self.spans.items()})

    @property
    def is_deleted(self) -> NDArray[np.bool_]:
        """Per row whether the latest record is a tombstone."""
        return (self.column("latest") & 1).astype(bool)

    def _per_log(self, values: Mapping[int, int]) -> Longs:
        log_ids, where = np.unique(self.column("log_id"), return_inverse=True)
        return np.array([values[int(log_id)] for log_id in log_ids], np.int64)[where]


def read_spans(folder: Path) -> dict[int, LogSpan]:
    """The spans of all logs, from what the index tasks left in ``folder``."""
    spans: dict[int, LogSpan] = {}
    names = ["log_id", "topic", "partition", "first_offset", "last_offset"]
    for path in sorted(folder.glob("index-*.arrow")):
        with pa.OSFile(str(path), "rb") as source:
            table = pa.ipc.open_file(source).read_all()
        rows = zip(*(table[name].to_pylist() for name in names), strict=True)
        for log_id, topic, partition, first, last in rows:
            known = spans.get(log_id, LogSpan(topic, partition, first, last + 1))
            spans[log_id] = known._replace(
                first_offset=min(first, known.first_offset), end_offset=max(last + 1, known.end_offset)
            )
    return spans
