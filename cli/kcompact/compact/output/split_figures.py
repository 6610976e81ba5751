"""Figures of pass 2 by log and split, as columns: ten thousand small files make as many."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from kcompact.compact.output.decided_rows import is_kept
from kcompact.compact.output.gaps import Presence, gap_rows
from kcompact.engine.passes.grouped_rows import is_tombstone_of, record_bytes_of
from kcompact.engine.passes.summaries import LogSummary


@dataclass(frozen=True)
class Splits:
    """Splits of rows in their order: rows ``bounds[i]`` to ``bounds[i + 1]`` are of ``ids[i]``."""

    ids: np.ndarray
    bounds: np.ndarray

    @classmethod
    def of(cls, split_ids: np.ndarray) -> "Splits":
        """From the split of each row; there is at least one."""
        cuts = np.flatnonzero(np.diff(split_ids)) + 1
        bounds = np.concatenate([[0], cuts, [len(split_ids)]])
        return cls(split_ids[bounds[:-1]], bounds)

    @property
    def numbers(self) -> np.ndarray:
        """Of each row, the number of its split, from 0."""
        return np.repeat(np.arange(len(self.ids)), np.diff(self.bounds))

    def sums(self, values: np.ndarray) -> np.ndarray:
        """The sum of the rows' values (int or bool) in each split, exactly."""
        return sums_between(values, self.bounds)


def sums_between(values: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """The sums of values[bounds[i] : bounds[i + 1]]."""
    totals = np.zeros(len(values) + 1, np.int64)
    np.cumsum(values, out=totals[1:])
    sums: np.ndarray = np.diff(totals[bounds])
    return sums


def bounds_of(counts: np.ndarray) -> np.ndarray:
    """Where stretches of so many things begin and end, one after another."""
    return np.concatenate([[0], np.cumsum(counts)])


@dataclass(frozen=True)
class SplitFigures:
    """Of one log, in each split of ``splits``; ``gaps`` are rows of ``gap_rows``, by split.

    ``columns`` are those fields of ReportedLog that are numbers, but for the log's id.
    """

    columns: dict[str, np.ndarray]
    gaps: np.ndarray

    @classmethod
    def of(cls, rows: pa.Table, splits: Splits, logs: list[LogSummary]) -> "SplitFigures":
        """From rows of one log in the order of their splits, and the log's summary in each."""
        location, kept = rows["location"].to_numpy(), is_kept(rows)
        tombstones, removed = is_tombstone_of(location), rows["records_removed"].to_numpy()
        latest = rows["last_offset"].to_numpy()
        runs = np.concatenate([log.runs for log in logs])
        presence = Presence(runs[np.argsort(runs[:, 0], kind="stable")])
        stays = _Kept.of(splits, latest, kept)
        gaps = gap_rows(stays.gap_starts, stays.gap_ends, presence)
        gaps_at = bounds_of(stays.gaps)
        below = presence.count_below(np.array([log.first_offset for log in logs]))
        columns = {
            "split_id": splits.ids,
            "first_offset": np.minimum.reduceat(latest, splits.bounds[:-1]),
            "keys": splits.sums(removed >= 0),
            "kept": stays.records,
            "kept_bytes": splits.sums(record_bytes_of(location) * kept),
            "tombstones_kept": splits.sums(tombstones & kept),
            "tombstones_dropped": splits.sums(~kept),
            "first_kept": stays.first,
            "last_kept": stays.last,
            "records_before": (presence.count_below(stays.first) - below) * (stays.records > 0),
            "records_through": (presence.count_below(stays.last + 1) - below) * (stays.records > 0),
            "removed_keys": splits.sums(removed > 0),
            "gaps": stays.gaps,
            "gap_offsets": sums_between(gaps[:, 1] - gaps[:, 0], gaps_at),
            "gap_missing_before": sums_between(gaps[:, 2], gaps_at),
        }
        return cls(columns, gaps)


@dataclass(frozen=True)
class _Kept:
    """Kept records of each split: their number, first and last offset (-1: none), the gaps between them."""

    records: np.ndarray
    first: np.ndarray
    last: np.ndarray
    gaps: np.ndarray
    gap_starts: np.ndarray  # of all gaps, by split
    gap_ends: np.ndarray

    @classmethod
    def of(cls, splits: Splits, offsets: np.ndarray, kept: np.ndarray) -> "_Kept":
        numbers, offsets, records = splits.numbers[kept], offsets[kept], splits.sums(kept)
        offsets = offsets[np.lexsort((offsets, numbers))]  # numbers ascend as they are
        bounds = bounds_of(records)
        first, last = np.full((2, len(records)), -1)
        filled = np.flatnonzero(records)
        first[filled], last[filled] = offsets[bounds[filled]], offsets[bounds[filled + 1] - 1]
        wide = np.flatnonzero((np.diff(offsets) > 1) & (np.diff(numbers) == 0))
        gaps = np.bincount(numbers[wide], minlength=len(records))
        return cls(records, first, last, gaps, offsets[wide] + 1, offsets[wide + 1])
