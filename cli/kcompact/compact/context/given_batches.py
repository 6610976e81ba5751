"""The batches given for a log: its open transactions, and records that no batch holds.

Batches must be given for the whole log: it is not known whether a record that is in no batch was aborted.
From the first data of an open transaction on, nothing is cleaned (R5).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from kcompact.broker.aborted import AbortedRange
from kcompact.broker.batches import PackedBatches
from kcompact.broker.log_context import LogContext
from kcompact.broker.log_names import LogName
from kcompact.counted import counted
from kcompact.engine.passes.offset_runs import NO_RUNS, runs_from, union_of
from kcompact.engine.passes.summaries import LogSummary, runs_by_log
from kcompact.errors import InputError
from kcompact.rules.transactions import transaction_data


def offsets_of(batches: PackedBatches) -> np.ndarray:
    """The offsets that a log's batches hold, as runs (offset_runs.py)."""
    runs = [union_of(np.stack([part.base_offset, part.last_offset + 1], axis=1)) for part in batches.parts()]
    return union_of(np.concatenate([NO_RUNS, *runs]))


def refuse_holes(contexts: Mapping[int, LogContext], summaries: Iterable[LogSummary]) -> None:
    """Raise InputError where the dump holds a record between two given batches that is in no batch.

    Either a segment file was not given, or the log was cleaned before its batches were printed. Records below
    the checkpoint are all right, as earlier rounds have decided on them.
    """
    for log_id, name, batches, runs in _logs_with_batches(contexts, summaries):
        offset = _first_in_none(batches, runs_from(runs, contexts[log_id].checkpoint_offset or 0))
        if offset is not None:
            raise InputError(
                f"{name}: no batch given holds offset {offset}, which the dump holds, though later ones are"
                " given, and nobody can tell whether its transaction was aborted",
                hint="give --batches once for each segment file of the log, printed when the dump was made",
            )


def _first_in_none(batches: PackedBatches, runs: np.ndarray) -> int | None:
    """The first offset of ``runs`` between the first and the last batch that no batch holds, or None.

    Batches are looked at block by block, as there may be many.
    """
    ends = (*batches.first_offsets[1:], batches.last_offset + 1)
    for part, start_offset, end_offset in zip(batches.parts(), batches.first_offsets, ends, strict=True):
        known = union_of(np.stack([part.base_offset, part.last_offset + 1], axis=1))
        near = runs_from(runs[: np.searchsorted(runs[:, 0], end_offset)], start_offset)
        known_end = known[np.searchsorted(known[:, 0], near[:, 0], side="right") - 1, 1]
        outside = np.flatnonzero(known_end < np.minimum(near[:, 1], end_offset))
        if len(outside):
            return int(max(near[outside[0], 0], known_end[outside[0]]))
    return None


def with_open_transactions(
    contexts: Mapping[int, LogContext], names: Mapping[int, LogName]
) -> tuple[dict[int, LogContext], list[str]]:
    """``contexts`` with the last stable offsets that follow from batches, and notes.

    A last stable offset that was given counts if it is not above the one of the batches: the high watermark
    may have held the broker back. Raises InputError if it is above, as it is not known then whether the data
    in between were committed.
    """
    completed, notes = dict(contexts), []
    for log_id, log in contexts.items():
        undecided = () if log.batches is None else tuple(transaction_data(log.batches.parts()).undecided)
        if not undecided:
            continue
        first_offset, name = undecided[0].first_offset, names[log_id]
        if log.last_stable_offset is None:
            completed[log_id] = replace(log, last_stable_offset=first_offset, undecided=undecided)
            notes.append(
                f"{name}: by its batches the transaction at offset {first_offset} is open; a broker cleans"
                " nothing from there on (if it has ended since: give newer --batches)"
            )
        elif log.last_stable_offset > first_offset:
            raise InputError(
                f"--last-stable-offset {name}={log.last_stable_offset}: by its batches the transaction at"
                f" offset {first_offset} is open",
                hint="give --batches printed after the transaction had ended,"
                " or leave --last-stable-offset out",
            )
    return completed, notes


def with_records_behind(
    contexts: Mapping[int, LogContext], summaries: Iterable[LogSummary]
) -> tuple[dict[int, LogContext], list[str]]:
    """``contexts`` in which records after the last given batch are undecided, and notes.

    ``contexts`` already have the last stable offsets of batches (``with_open_transactions``). A log with a
    last stable offset stays as it is.
    """
    completed, notes = dict(contexts), []
    for log_id, name, batches, runs in _logs_with_batches(contexts, summaries):
        log = contexts[log_id]
        behind = runs_from(runs, batches.last_offset + 1)
        if len(behind) and log.last_stable_offset is None:
            ranges = tuple(AbortedRange(start, end - 1) for start, end in behind.tolist())
            completed[log_id] = replace(log, undecided=ranges)
            records = counted(int((behind[:, 1] - behind[:, 0]).sum()), "record")
            notes.append(
                f"{name}: {records} from offset {behind[0, 0]} on, after the last batch given: nobody knows"
                " whether they were aborted"
            )
    return completed, notes


def _logs_with_batches(
    contexts: Mapping[int, LogContext], summaries: Iterable[LogSummary]
) -> Iterator[tuple[int, LogName, PackedBatches, np.ndarray]]:
    """Id, name and batches of each log with given batches, and the offsets of its records as runs."""
    parts: Sequence[LogSummary] = list(summaries)
    names = {part.log_id: part.log for part in parts}
    for log_id, runs in runs_by_log(parts).items():
        batches = contexts[log_id].batches
        if batches is not None and len(runs):
            yield log_id, names[log_id], batches, runs
