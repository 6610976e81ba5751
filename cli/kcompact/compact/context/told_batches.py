"""The batches that are told of a log must be all of it: of records in none, nobody knows what was aborted."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from kcompact.broker.aborted import AbortedRange
from kcompact.broker.batches import PackedBatches
from kcompact.broker.log_context import LogContext
from kcompact.broker.log_names import LogName
from kcompact.counted import counted
from kcompact.engine.passes.offset_runs import NO_RUNS, lacking, union_of
from kcompact.engine.passes.summaries import LogSummary, runs_by_log
from kcompact.errors import InputError


def offsets_of(batches: PackedBatches) -> np.ndarray:
    """The offsets that a log's batches hold, as runs (offset_runs.py)."""
    runs = [union_of(np.stack([part.base_offset, part.last_offset + 1], axis=1)) for part in batches.parts()]
    return union_of(np.concatenate([NO_RUNS, *runs]))


def refuse_holes(contexts: Mapping[int, LogContext], summaries: Iterable[LogSummary]) -> None:
    """Raise InputError where the dump holds a record between two batches told, and none of them holds it.

    A segment file was not given, or the log was cleaned before its batches were told. Below the checkpoint,
    earlier rounds have decided.
    """
    for log_id, name, batches, runs in _logs_with_batches(contexts, summaries):
        decided_end = max(batches.first_offsets[0], contexts[log_id].checkpoint_offset or 0)
        known = union_of(np.concatenate([[(0, decided_end)], offsets_of(batches)]))
        holes = lacking(runs, known, batches.last_offset + 1)
        if holes:
            raise InputError(
                f"{name}: no batch told holds offset {holes[0][0]}, which the dump holds, though others go on"
                " behind it, and nobody can tell whether its transaction was aborted",
                hint="give --batches once for each segment file of the log, from the moment of the dump",
            )


def with_records_behind(
    contexts: Mapping[int, LogContext], summaries: Iterable[LogSummary]
) -> tuple[dict[int, LogContext], list[str]]:
    """``contexts`` in which records behind the last batch told are undecided, and notes.

    ``contexts`` have the last stable offsets of batches already: behind one, nothing else is undecided.
    """
    completed, notes = dict(contexts), []
    for log_id, name, batches, runs in _logs_with_batches(contexts, summaries):
        log = contexts[log_id]
        behind = lacking(runs, np.array([(0, batches.last_offset + 1)]), int(runs[-1, 1]))
        if behind and log.last_stable_offset is None:
            ranges = tuple(AbortedRange(start, end - 1) for start, end in behind)
            completed[log_id] = replace(log, undecided=ranges)
            records = counted(sum(end - start for start, end in behind), "record")
            notes.append(
                f"{name}: {records} from offset {behind[0][0]} on, behind the last batch told: nobody knows"
                " whether they were aborted"
            )
    return completed, notes


def _logs_with_batches(
    contexts: Mapping[int, LogContext], summaries: Iterable[LogSummary]
) -> Iterator[tuple[int, LogName, PackedBatches, np.ndarray]]:
    """Each log of which batches are told: its id and name, and the offsets that the dump holds, as runs."""
    parts: Sequence[LogSummary] = list(summaries)
    names = {part.log_id: part.log for part in parts}
    for log_id, runs in runs_by_log(parts).items():
        batches = contexts[log_id].batches
        if batches is not None and len(runs):
            yield log_id, names[log_id], batches, runs
