"""The knowledge about each log of a dump from beside it: files, options, a state, a read_committed dump."""

from collections.abc import Mapping
from pathlib import Path

from kcompact.broker.log_context import LogContext
from kcompact.broker.log_names import LogName
from kcompact.compact.context.beside import Beside
from kcompact.compact.context.going_on import goes_on
from kcompact.compact.context.read_committed import with_read_committed
from kcompact.compact.read_dump import ReadDump
from kcompact.compact.whole_logs.record_index import index_records
from kcompact.engine.shuffle import Send


def log_contexts(
    send: Send, index: ReadDump, beside: Beside, folder: Path
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
    committed = index_records(send, beside.committed, folder)
    contexts, more_notes = with_read_committed(contexts, index.summaries, committed.summaries)
    return contexts, [*notes, *more_notes]
