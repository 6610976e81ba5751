"""Aborted data, known from a read_committed dump of the same topic: records that it lacks were aborted."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from kcompact.broker.aborted import AbortedRange
from kcompact.broker.log_context import LogContext
from kcompact.engine.passes.offset_runs import union_of
from kcompact.engine.passes.summaries import LogSummary


def with_read_committed(
    contexts: Mapping[int, LogContext], all_records: list[LogSummary], committed: list[LogSummary]
) -> tuple[dict[int, LogContext], list[str]]:
    """``contexts`` with the aborted ranges of each log, and notes on what was assumed.

    A record below the last stable offset that the read_committed dump lacks is aborted. Where the last
    stable offset is not known, it is the first record after the read_committed dump: what follows counts
    as open, and stays.
    """
    present, visible = _runs(all_records), _runs(committed)
    names = {part.log_id: f"{part.topic}-{part.partition}" for part in all_records}
    completed, notes = dict(contexts), []
    for log_id, runs in present.items():
        log, seen = contexts[log_id], visible.get(log_id, np.empty((0, 2), np.int64))
        stable = log.last_stable_offset
        decided_end = stable
        if stable is None:
            decided_end = int(seen[-1, 1]) if len(seen) else 0
            undecided = _from(runs, decided_end)
            if len(undecided):
                stable = int(undecided[0, 0])
                records = int((undecided[:, 1] - undecided[:, 0]).sum())
                notes.append(
                    f"{names[log_id]}: {records:,} records from offset {stable} on are behind the"
                    " read_committed dump; they count as an open transaction and stay (if it was aborted:"
                    f" --last-stable-offset {names[log_id]}={int(runs[-1, 1])})"
                )
        aborted = [AbortedRange(start, end - 1) for start, end in _lacking(runs, seen, decided_end or 0)]
        together = sorted([*log.aborted, *aborted], key=lambda run: run.first_offset)
        completed[log_id] = replace(log, aborted=tuple(together), last_stable_offset=stable)
    return completed, notes


def _from(runs: np.ndarray, offset: int) -> np.ndarray:
    """The part of ``runs`` at and above an offset."""
    reaching = runs[runs[:, 1] > offset]
    return np.stack([np.maximum(reaching[:, 0], offset), reaching[:, 1]], axis=1)


def _runs(summaries: list[LogSummary]) -> dict[int, np.ndarray]:
    """Runs [start, end) of the offsets of each log, ascending and apart."""
    parts: defaultdict[int, list[np.ndarray]] = defaultdict(list)
    for summary in summaries:
        parts[summary.log_id].append(summary.runs)
    return {log_id: union_of(np.concatenate(runs)) for log_id, runs in parts.items()}


def _lacking(runs: np.ndarray, seen: np.ndarray, end_offset: int) -> list[tuple[int, int]]:
    """Ranges [start, end) that are in ``runs`` and below ``end_offset``, but not in ``seen``."""
    holes = list(zip([0, *seen[:, 1].tolist()], [*seen[:, 0].tolist(), end_offset], strict=True))
    ranges: list[tuple[int, int]] = []
    at = 0
    for start, end in runs.tolist():
        while at < len(holes) and holes[at][1] <= start:
            at += 1
        for hole_start, hole_end in holes[at:]:
            if hole_start >= end:
                break
            low, high = max(start, hole_start), min(end, hole_end, end_offset)
            if low < high:
                ranges.append((low, high))
    return ranges
