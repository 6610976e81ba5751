"""Figures of pass 2 by log and split, computed as columns: ten thousand small files make as many splits."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from kcompact.compact.output.decided_rows import is_kept
from kcompact.engine.passes.grouped_rows import is_tombstone_of, record_bytes_of
from kcompact.engine.passes.offset_runs import count_below
from kcompact.engine.passes.summaries import LogSummary


@dataclass(frozen=True)
class Splits:
    """The splits of rows in their order: rows ``bounds[i]`` to ``bounds[i + 1]`` (exclusive) are of one.

    Its id is ``ids[i]``.

    Where rows are in the order of logs, a split occurs once for each log that it holds.
    """

    ids: np.ndarray
    bounds: np.ndarray

    @classmethod
    def of(cls, split_ids: np.ndarray, log_ids: np.ndarray | None = None) -> "Splits":
        """The splits of at least one row, from the split and, where logs matter, the log of each row."""
        opens = split_ids[1:] != split_ids[:-1]
        if log_ids is not None:
            opens |= log_ids[1:] != log_ids[:-1]
        cuts = np.flatnonzero(opens) + 1
        bounds = np.concatenate([[0], cuts, [len(split_ids)]])
        return cls(split_ids[bounds[:-1]], bounds)

    @property
    def numbers(self) -> np.ndarray:
        """For each row the index of its split in ``ids``."""
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
    """The bounds of consecutive stretches with so many elements each: one more than there are stretches."""
    return np.concatenate([[0], np.cumsum(counts)])


def split_figures(
    rows: pa.Table, splits: Splits, summaries: list[LogSummary]
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """The figures of each log in each split, and their gaps as ``gap_rows`` returns them, by log and split.

    The figures are those fields of ReportedLog that are numbers, without log_id. ``rows`` are in the order of
    logs, and of splits within a log; ``summaries`` has one for each log in each split. Several logs are
    handled at once, as quickly as one with as many records; ``are_on_one_axis`` has to hold for them.
    """
    location, kept = rows["location"].to_numpy(), is_kept(rows)
    tombstones, removed = is_tombstone_of(location), rows["records_removed"].to_numpy()
    shifts = _shifts(summaries)
    latest = rows["last_offset"].to_numpy() + shifts[splits.numbers]
    runs = _runs(summaries, shifts)
    numbers, offsets, records = splits.numbers[kept], latest[kept], splits.sums(kept)
    offsets = offsets[np.lexsort((offsets, numbers))]  # numbers themselves ascend already
    first, last = _first_and_last(offsets, records)
    wide = np.flatnonzero((np.diff(offsets) > 1) & (np.diff(numbers) == 0))
    gaps = gap_rows(offsets[wide] + 1, offsets[wide + 1], runs)
    gap_counts = np.bincount(numbers[wide], minlength=len(records))
    gaps_at = bounds_of(gap_counts)
    below = count_below(runs, np.array([log.first_offset for log in summaries]) + shifts)
    columns = {
        "split_id": splits.ids,
        "first_offset": np.minimum.reduceat(latest, splits.bounds[:-1]) - shifts,
        "keys": splits.sums(removed >= 0),
        "kept": records,
        "kept_bytes": splits.sums(record_bytes_of(location) * kept),
        "tombstones_kept": splits.sums(tombstones & kept),
        "first_kept": np.where(records > 0, first - shifts, -1),
        "last_kept": np.where(records > 0, last - shifts, -1),
        "records_before": (count_below(runs, first) - below) * (records > 0),
        "records_through": (count_below(runs, last + 1) - below) * (records > 0),
        "removed_keys": splits.sums(removed > 0),
        "gaps": gap_counts,
        "gap_offsets": sums_between(gaps[:, 1] - gaps[:, 0], gaps_at),
        "gap_missing_before": sums_between(gaps[:, 2], gaps_at),
    }
    gaps[:, :2] -= shifts[numbers[wide]][:, None]
    return columns, gaps


def are_on_one_axis(summaries: list[LogSummary]) -> bool:
    """Whether the offsets of all logs, one log after the other, fit into 64 bits."""
    logs = len({log.log_id for log in summaries})
    return logs == 1 or logs * _span(summaries) < _LARGEST_AXIS


def _shifts(summaries: list[LogSummary]) -> np.ndarray:
    """For each log in each split, where the log begins on the common axis of all logs."""
    log_ids = np.array([log.log_id for log in summaries])
    numbers = np.cumsum(np.concatenate([[False], log_ids[1:] != log_ids[:-1]]))
    return numbers * _span(summaries) if numbers[-1] else numbers


def _runs(summaries: list[LogSummary], shifts: np.ndarray) -> np.ndarray:
    """The runs of offsets of all logs in all splits, in their order on the common axis of all logs."""
    runs = np.concatenate([log.runs for log in summaries])
    runs = runs + np.repeat(shifts, [len(log.runs) for log in summaries])[:, None]
    ordered: np.ndarray = runs[np.argsort(runs[:, 0], kind="stable")]
    return ordered


def _span(summaries: list[LogSummary]) -> int:
    """The length that each log gets on the common axis: more than any log has offsets."""
    return max(log.last_offset for log in summaries) + 2


_LARGEST_AXIS = 1 << 62


def _first_and_last(offsets: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The first and the last offset of each stretch of ``counts[i]`` offsets, -1 for an empty one."""
    bounds, filled = bounds_of(counts), np.flatnonzero(counts)
    first, last = np.full((2, len(counts)), -1)
    first[filled], last[filled] = offsets[bounds[filled]], offsets[bounds[filled + 1] - 1]
    return first, last


def gap_rows(starts: np.ndarray, ends: np.ndarray, runs: np.ndarray) -> np.ndarray:
    """Rows of gaps from ``starts`` to ``ends`` (exclusive) between neighbouring kept offsets; int64, (n, 3).

    The columns: first missing offset, end offset (exclusive), and how many of the gap's offsets were missing
    before this run already. ``runs`` are the offsets that were there before it.
    """
    present = count_below(runs, ends) - count_below(runs, starts)
    return np.stack([starts, ends, ends - starts - present], axis=1)
