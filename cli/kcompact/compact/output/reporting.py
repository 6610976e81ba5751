"""Writes the removed keys and gaps of decided rows, and counts their figures, batch by batch."""

import itertools
from typing import BinaryIO, NamedTuple

import numpy as np
import pyarrow as pa

from kcompact.broker.log_names import LogName
from kcompact.cleaner.shares import slices_by_log
from kcompact.compact.output.compact_job import CompactJob
from kcompact.compact.output.csv_parts import render_gaps, render_removed_keys
from kcompact.compact.output.decided_rows import removed_rows
from kcompact.compact.output.split_figures import Splits, are_on_one_axis, bounds_of, split_figures
from kcompact.engine.passes.summaries import LogSummary


class ReportedLog(NamedTuple):
    """Figures of one log in one split or share, and where its lines lie in the files of the task.

    Ranges are byte ranges in the files ``removed`` and ``gaps``. The splits or shares of a log do not overlap
    in offsets.
    """

    split_id: int
    log_id: int
    task: str
    first_offset: int  # of the decided rows
    keys: int
    kept: int
    kept_bytes: int
    tombstones_kept: int
    first_kept: int
    last_kept: int
    records_before: int  # of this log in the split, below the first kept record
    records_through: int  # of this log in the split, up to and with the last kept record
    removed_keys: int
    removed_range: tuple[int, int]
    gaps: int
    gap_offsets: int
    gap_missing_before: int
    gaps_range: tuple[int, int]


class Reporter:
    """One task's parts of removed-keys.csv and of gaps.csv. ``summaries`` (with runs) are of its splits."""

    def __init__(self, job: CompactJob, name: str, summaries: list[LogSummary]) -> None:
        self._name = name
        self._summaries: dict[int, dict[int, LogSummary]] = {}  # split_id -> log_id -> summary
        for log in summaries:
            self._summaries.setdefault(log.split_id, {})[log.log_id] = log
        self._removed = job.workplace.create(f"removed-{name}")
        self._gaps = job.workplace.create(f"gaps-{name}")
        self._logs: list[ReportedLog] = []

    def add(self, rows: pa.Table) -> None:
        """Report the next rows (DECIDED_SCHEMA, split_id), in the order of splits, and of offsets in them."""
        log_ids = rows["log_id"].to_numpy()
        if np.any(np.diff(log_ids) < 0):
            rows = rows.take(pa.array(np.argsort(log_ids, kind="stable"))).combine_chunks()
        self._report(rows)

    def finish(self) -> list[ReportedLog]:
        """Close the files, and return all reported logs in the order of splits."""
        for file in (self._removed, self._gaps):
            file.close()
        return sorted(self._logs, key=lambda log: log.split_id)

    def _report(self, rows: pa.Table) -> None:
        """Report removed keys and gaps of rows in the order of logs, and what each split leaves."""
        if not len(rows):
            return
        splits = Splits.of(rows["split_id"].to_numpy(), rows["log_id"].to_numpy())
        log_ids = rows["log_id"].to_numpy()[splits.bounds[:-1]]
        pairs = zip(splits.ids.tolist(), log_ids.tolist(), strict=True)
        summaries = [self._summaries[split_id][log_id] for split_id, log_id in pairs]
        whole, gaps = _figures(rows, splits, summaries)
        starts = np.flatnonzero(np.concatenate([[True], log_ids[1:] != log_ids[:-1]]))
        names = [LogName(summaries[at].topic, summaries[at].partition) for at in starts.tolist()]
        removed_counts, gap_counts = (
            np.add.reduceat(whole[name], starts).tolist() for name in ("removed_keys", "gaps")
        )
        removed = render_removed_keys(names, removed_counts, removed_rows(rows))
        gap_lines = render_gaps(names, gap_counts, gaps)
        removed_ranges = _append(self._removed, removed, whole["removed_keys"])
        gaps_ranges = _append(self._gaps, gap_lines, whole["gaps"])
        numbers = zip(*(column.tolist() for column in whole.values()), strict=True)
        stretches = zip(log_ids.tolist(), numbers, removed_ranges, gaps_ranges, strict=True)
        for log_id, row, removed_range, gaps_range in stretches:
            self._logs.append(
                ReportedLog(
                    log_id=log_id,
                    task=self._name,
                    removed_range=removed_range,
                    gaps_range=gaps_range,
                    **dict(zip(whole, row, strict=True)),
                )
            )


def _figures(
    rows: pa.Table, splits: Splits, summaries: list[LogSummary]
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """``split_figures`` of all logs at once or, where offsets are too large for that, log by log."""
    if are_on_one_axis(summaries):
        return split_figures(rows, splits, summaries)
    figures, at = list[tuple[dict[str, np.ndarray], np.ndarray]](), 0
    for _, of_log in slices_by_log(rows):
        of_one = Splits.of(of_log["split_id"].to_numpy())
        figures.append(split_figures(of_log, of_one, summaries[at : at + len(of_one.ids)]))
        at += len(of_one.ids)
    whole = {name: np.concatenate([columns[name] for columns, _ in figures]) for name in figures[0][0]}
    return whole, np.concatenate([gaps for _, gaps in figures])


def _append(file: BinaryIO, text: bytes, lines: np.ndarray) -> list[tuple[int, int]]:
    """Append text to a file, and return the byte range of each split's lines in it.

    ``lines`` has the number of lines of each split.
    """
    start = file.tell()
    file.write(text)
    ends = np.flatnonzero(np.frombuffer(text, np.uint8) == ord("\n")) + 1
    bounds = start + np.concatenate([[0], ends])[bounds_of(lines)]
    return list(itertools.pairwise(bounds.tolist()))
