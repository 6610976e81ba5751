"""Transactions that a state knows, but that today's options do not mention."""

import shlex
from collections.abc import Iterable, Mapping

from kcompact.broker.log_context import LogContext
from kcompact.broker.log_names import LogName
from kcompact.broker.state.state_of_dump import StateOfDump
from kcompact.engine.passes.summaries import LogSummary
from kcompact.errors import InputError


def refuse_undecided(
    state: StateOfDump, names: Mapping[int, LogName], contexts: Mapping[int, LogContext]
) -> None:
    """Raise InputError for a log whose state has undecided transactions, if nothing tells how they ended."""
    for log_id, name in names.items():
        offset, log = state.state.undecided_from.get(name), contexts[log_id]
        if offset is not None and log.batches is None and log.last_stable_offset is None:
            raise InputError(
                f"{state.place}: transactions of {name} were undecided from offset {offset} on when this"
                " state was written, and nothing says how they ended",
                hint="give --batches or --read-committed of today, or"
                f" --last-stable-offset {shlex.quote(f'{name}={offset}')} while they are undecided",
            )


def refuse_removed_aborts(
    state: StateOfDump, parts: Iterable[LogSummary], contexts: Mapping[int, LogContext]
) -> None:
    """Raise InputError for a log dumped again, if nothing tells which of its records were aborted.

    Earlier runs knew them, and removed them; now they would come back, and supersede committed records.
    ``parts`` are those parts of the dump that are not in the state's output.
    """
    for part in parts:
        log, before = contexts[part.log_id], state.state.aborted.get(part.log, ())
        is_told = log.batches is not None or not set(log.aborted) <= set(before)
        if part.first_offset < log.removed_aborts_end_offset and not is_told:
            raise InputError(
                f"{state.place}: earlier runs removed aborted data of {part.log} below offset"
                f" {log.removed_aborts_end_offset}, and nothing says which records of this dump they were",
                hint="give --batches, --aborted or --read-committed of the whole log, or the last run's"
                " output and the new records in place of the full dump",
            )
