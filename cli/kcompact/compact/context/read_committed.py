"""Aborted data, known from a read_committed dump of the same topic: records that it lacks were aborted."""

from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np

from kcompact.broker.aborted import AbortedRange
from kcompact.broker.log_context import LogContext
from kcompact.broker.log_names import LogName, few
from kcompact.counted import counted
from kcompact.engine.passes.summaries import LogSummary, runs_by_log
from kcompact.errors import InputError


def with_read_committed(
    contexts: Mapping[int, LogContext], all_records: list[LogSummary], committed: list[LogSummary]
) -> tuple[dict[int, LogContext], list[str]]:
    """``contexts`` with the aborted ranges of each log, and notes on what was assumed. Raises InputError.

    A record below the last stable offset that the read_committed dump lacks is aborted. Where the last
    stable offset is not known, it is the first record after the read_committed dump: what follows counts
    as open, and stays.
    """
    present, visible = runs_by_log(all_records), runs_by_log(committed)
    names = {part.log_id: part.log for part in all_records}
    _refuse_other_topics(names.values(), {part.log for part in committed})
    completed, notes = dict(contexts), []
    for log_id, runs in present.items():
        log, seen = contexts[log_id], visible.get(log_id, np.empty((0, 2), np.int64))
        stable = decided_end = log.last_stable_offset
        undecided: tuple[AbortedRange, ...] = ()
        if decided_end is None:
            decided_end = int(seen[-1, 1]) if len(seen) else 0
            behind = _from(runs, decided_end)
            if len(behind):
                stable = int(behind[0, 0])
                undecided = (AbortedRange(stable, int(runs[-1, 1]) - 1),)
                notes += [_note(names[log_id], behind)] if len(seen) else []
        if not len(seen):
            notes.append(_unseen_note(names[log_id], log, runs))
        aborted = [AbortedRange(start, end - 1) for start, end in _lacking(runs, seen, decided_end)]
        if len(seen) and aborted and aborted[0].first_offset < seen[0, 0]:
            notes.append(_head_note(names[log_id], runs[runs[:, 0] < seen[0, 0]], int(seen[0, 0])))
        together = sorted([*log.aborted, *aborted], key=lambda run: run.first_offset)
        completed[log_id] = replace(
            log, aborted=tuple(together), last_stable_offset=stable, undecided=undecided
        )
    return completed, notes


def refuse_later_dump(all_records: list[LogSummary], committed: list[LogSummary]) -> None:
    """Raise InputError where the read_committed dump lacks the beginning of a log without any gap.

    Where no offset is missing, there is none for the marker of an aborted transaction, unless one goes on
    from the first record to the last: more likely, the log had lost its beginning when that dump was made.
    """
    visible = runs_by_log(committed)
    names = {part.log_id: part.log for part in all_records}
    for log_id, runs in runs_by_log(all_records).items():
        seen = visible.get(log_id)
        if len(runs) == 1 and seen is not None and len(seen) and runs[0, 0] < seen[0, 0] < runs[0, 1]:
            raise InputError(
                f"{names[log_id]}: the read_committed dump begins at offset {seen[0, 0]}, this one at"
                f" {runs[0, 0]}, and no offset is missing where an abort marker could be",
                hint="export both at the same time, from the beginning; or tell aborted data with --aborted",
            )


def _refuse_other_topics(logs: Collection[LogName], committed: Collection[LogName]) -> None:
    """Raise InputError where a topic is missing: all of its records would seem to be aborted or open."""
    lacking = {log.topic for log in logs} - {log.topic for log in committed}
    if lacking:
        raise InputError(
            f"--read-committed is about {few(committed) or 'no log'}; the dump holds"
            f" {few([log for log in logs if log.topic in lacking])}",
            hint="give a read_committed dump of the same topics, or leave the option out",
        )


def _note(log: LogName, behind: np.ndarray) -> str:
    """On the records that count as open, which are ``behind`` all that the read_committed dump holds."""
    start, end = int(behind[0, 0]), int(behind[-1, 1])
    return (
        f"{log}: {_records(behind)} from offset {start} on, behind the read_committed dump: counted as an"
        f" open transaction, so kept (if it was aborted: --last-stable-offset {log}={end})"
    )


def _head_note(log: LogName, before: np.ndarray, first_offset: int) -> str:
    """On aborted records below the first that the read_committed dump holds: it may begin later."""
    records = _records(np.minimum(before, first_offset))
    return (
        f"{log}: {records} below offset {first_offset}, with which the read_committed dump begins: counted as"
        " aborted, if they were still in the log when it was exported"
    )


def _unseen_note(name: LogName, log: LogContext, runs: np.ndarray) -> str:
    """On a log of which the read_committed dump holds nothing: perhaps it was not exported."""
    stable = log.last_stable_offset
    counted_as = "an open transaction, so kept" if stable is None else f"aborted below offset {stable}"
    return f"{name}: the read_committed dump holds none of its {_records(runs)}: counted as {counted_as}"


def _records(runs: np.ndarray) -> str:
    return counted(int((runs[:, 1] - runs[:, 0]).sum()), "record")


def _from(runs: np.ndarray, offset: int) -> np.ndarray:
    """The part of ``runs`` at and above an offset."""
    reaching = runs[runs[:, 1] > offset]
    return np.stack([np.maximum(reaching[:, 0], offset), reaching[:, 1]], axis=1)


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
