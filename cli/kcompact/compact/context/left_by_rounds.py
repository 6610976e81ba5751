"""Records that earlier rounds left in a state's output, of which a read_committed dump may say nothing."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from kcompact.broker.log_context import LogContext
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
    """Records that rounds left in their ``output`` below the read_committed dump, which may begin later.

    Rounds drop aborted data, and end before what is undecided (R17, R37). Raises InputError where nothing
    tells of decided records behind them: neither that dump nor batches nor aborted ranges.
    """
    if state is None or state.files is None:
        return []
    begins = {log_id: int(runs[0, 0]) for log_id, runs in runs_by_log(committed).items()}
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
