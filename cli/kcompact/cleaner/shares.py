"""Shares: stretches of logs' offsets, small enough that one task can hold all records of a share."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from operator import attrgetter

import numpy as np
import pyarrow as pa

from kcompact.arrays import Longs
from kcompact.digits import LONG_MAX
from kcompact.engine.passes.summaries import LogSummary
from kcompact.rules.lookups import rows_of_logs


@dataclass(frozen=True)
class Shares:
    """Which share holds which offsets of which log. Several small logs share one, a large log has several.

    Arrays have one element per stretch, ordered by log id and offset: ``log_ids``, ``start_offsets``
    (inclusive), and ``numbers``, those of the stretches' shares, which ascend within a log.
    """

    log_ids: Longs
    start_offsets: Longs
    numbers: Longs

    @property
    def count(self) -> int:
        """How many shares there are."""
        return int(self.numbers.max()) + 1

    def of(self, log_ids: Longs, offsets: Longs) -> Longs:
        """The share of each record."""
        shares = np.empty(len(log_ids), np.int64)
        for log_id, at in rows_of_logs(log_ids):
            first = np.searchsorted(self.log_ids, log_id, side="left")
            end = np.searchsorted(self.log_ids, log_id, side="right")
            stretch = np.searchsorted(self.start_offsets[first:end], offsets[at], side="right") - 1
            shares[at] = self.numbers[first + np.maximum(stretch, 0)]
        return shares

    def first_offset(self, log_id: int) -> int:
        """The offset of the first record of a log, or LONG_MAX if it has none."""
        return int(self.start_offsets[self.log_ids == log_id].min(initial=LONG_MAX))

    def stretches(self, log_id: int) -> list[tuple[int, int, int]]:
        """Share, start and end offset of each stretch of a log.

        The first stretch starts at 0, and the last one ends at LONG_MAX: batches may lie around the records.
        """
        at = np.flatnonzero(self.log_ids == log_id)
        if not len(at):  # batches without records
            return [(0, 0, LONG_MAX)]
        starts = self.start_offsets[at].tolist()
        return list(zip(self.numbers[at].tolist(), [0, *starts[1:]], [*starts[1:], LONG_MAX], strict=True))

    def starting_at(self, start_of: Mapping[int, Callable[[int], int]]) -> "Shares":
        """A copy in which stretches of the logs in ``start_of`` start where its function puts their start.

        That is the base of the batch that holds the start, so that no batch lies in two shares.
        """
        starts = [
            start_of[log_id](start) if log_id in start_of else start
            for log_id, start in zip(self.log_ids.tolist(), self.start_offsets.tolist(), strict=True)
        ]
        return Shares(self.log_ids, np.array(starts, np.int64), self.numbers)

    def waves(self) -> Iterator[list[int]]:
        """Groups of shares that can be worked on at once. A share of a log comes after those below it."""
        wave_of: dict[int, int] = {}
        place: dict[int, int] = defaultdict(int)
        for log_id, number in zip(self.log_ids.tolist(), self.numbers.tolist(), strict=True):
            wave_of[number] = max(wave_of.get(number, 0), place[log_id])
            place[log_id] += 1
        waves: dict[int, list[int]] = defaultdict(list)
        for number, wave in wave_of.items():
            waves[wave].append(number)
        yield from (sorted(waves[wave]) for wave in sorted(waves))


def plan_shares(summaries: Iterable[LogSummary], most_records: int) -> Shares:
    """Cut large logs where splits begin, and put small logs together, in the order of log ids.

    A share has at most ``most_records`` records, unless a single split has more.
    """
    parts: dict[int, list[LogSummary]] = defaultdict(list)
    for part in summaries:
        parts[part.log_id].append(part)
    rows: list[tuple[int, int, int]] = []
    share, room = -1, 0
    for log_id in sorted(parts):
        records = sum(part.records for part in parts[log_id])
        if records > room:
            share, room = share + 1, most_records
        room -= records
        count = 0
        for part in sorted(parts[log_id], key=attrgetter("first_offset")):
            if count and count + part.records > most_records and part.first_offset > rows[-1][1]:
                share, count = share + 1, 0
            if not count:
                rows.append((log_id, part.first_offset, share))
            count += part.records
    columns = np.array(rows, np.int64).reshape(-1, 3)
    return Shares(*(columns[:, i].copy() for i in range(3)))


def slices_by_log(rows: pa.Table) -> Iterator[tuple[int, pa.Table]]:
    """The rows of each log in a table that is in the order of log ids, without copying them."""
    log_ids = rows["log_id"].to_numpy()
    cuts = [0, *(np.flatnonzero(np.diff(log_ids)) + 1).tolist(), len(log_ids)]
    for start, end in pairwise(cuts):
        if start < end:
            yield int(log_ids[start]), rows.slice(start, end - start)
