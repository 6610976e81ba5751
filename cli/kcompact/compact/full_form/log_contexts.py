"""The knowledge about each log of a dump from beside it: files, options, a state, a read_committed dump."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kcompact.broker.log_context import DumpContext, LogContext
from kcompact.broker.log_names import LogName
from kcompact.broker.state.state_of_dump import StateOfDump
from kcompact.compact.full_form.full import full_index
from kcompact.compact.full_form.going_on import IndexedDump, goes_on
from kcompact.compact.full_form.read_committed import with_read_committed
from kcompact.dumps.dump import Dump
from kcompact.engine.shuffle import Send


@dataclass(frozen=True)
class Beside:
    """All that is known beside a dump. ``state`` None: no state is given."""

    context: DumpContext
    state: StateOfDump | None = None
    committed: Dump | None = None  # the read_committed dump of the same topics


def log_contexts(
    send: Send, index: IndexedDump, beside: Beside, folder: Path
) -> tuple[Mapping[int, LogContext], list[str]]:
    """By log id, and notes on what was assumed. Raises InputError for a dump of another state."""
    names = {log_id: LogName(*name) for log_id, name in index.names.items()}
    by_name = beside.context.for_logs(names.values())
    contexts: Mapping[int, LogContext] = {log_id: by_name[name] for log_id, name in names.items()}
    notes = beside.context.silences(names.values())
    if beside.state is not None:
        contexts, more_notes = goes_on(beside.state, index, contexts)
        notes += more_notes
    if beside.committed is None:
        return contexts, notes
    committed = full_index(send, beside.committed, folder)
    contexts, more_notes = with_read_committed(contexts, index.summaries, committed.summaries)
    return contexts, [*notes, *more_notes]
