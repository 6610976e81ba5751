"""Records that earlier rounds left in a state's output, and that a read_committed dump may lack."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from kcompact.broker.log_context import LogContext
from kcompact.broker.log_names import LogName
from kcompact.compact.context.read_committed import named_as_aborted
from kcompact.engine.passes.offset_runs import lacking, runs_from
from kcompact.engine.passes.summaries import LogSummary, runs_by_log
from kcompact.errors import InputError

if TYPE_CHECKING:  # as in beside.py
    from kcompact.broker.state.cleaner_state import CleanerState


def left_by_rounds(
    output: list[LogSummary],
    state: "CleanerState | None",
    contexts: Mapping[int, LogContext],
    committed: list[LogSummary],
) -> list[LogSummary]:
    """The records of the state's ``output`` that its rounds have cleaned, below the read_committed dump.

    That dump may begin later than the log. These records were committed: rounds drop aborted data, and end
    before undecided data (R17, R37). Raises InputError if decided records follow that neither the
    read_committed dump nor batches nor aborted ranges cover.
    """
    if state is None or state.files is None:
        return []
    begins = {log_id: int(runs[0, 0]) for log_id, runs in runs_by_log(committed).items()}
    without_batches = [part for part in committed if contexts[part.log_id].batches is None]
    _refuse_new_alone({part.log: begins[part.log_id] for part in without_batches}, output, state)
    left = []
    for part in output:
        cleaned_end = state.checkpoint.get(part.log, 0)
        log = contexts[part.log_id]
        begin = begins.get(part.log_id, max(log.last_stable_offset or 0, cleaned_end))
        end = min(cleaned_end, begin)
        left.append(replace(part, runs=np.minimum(part.runs[part.runs[:, 0] < end], end)))
        decided_end = min(begin, state.undecided_from.get(part.log, begin))
        between = lacking(runs_from(part.runs, cleaned_end), named_as_aborted(log), decided_end)
        if log.batches is None and between:
            raise InputError(
                f"{part.log}: the state's rounds ended at offset {cleaned_end}, and the read_committed dump"
                f" says nothing below offset {begin}: nobody can tell which records in between were aborted",
                hint="give a read_committed dump of the log from its beginning, or --batches",
            )
    return left


def _refuse_new_alone(begins: Mapping[LogName, int], output: list[LogSummary], state: "CleanerState") -> None:
    """Raise InputError for a full dump, without the state's ``output``, if only new committed data are given.

    All records below these data would count as aborted, even those that the state knows as committed.
    """
    for log in begins.keys() - {part.log for part in output}:
        end = min(begins[log], state.checkpoint.get(log, 0))
        kept = [record.offset for record in state.records.get(log, ()) if record.is_kept]
        if kept and min(kept) < end:
            raise InputError(
                f"{log}: the read_committed dump begins with offset {begins[log]}, and lacks offset"
                f" {min(kept)}, which the state knows as committed: it does not go with a full dump",
                hint="give a read_committed dump of the log from its beginning, or the last run's output and"
                " the new records in place of the full dump",
            )
