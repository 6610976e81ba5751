"""The facts known about each log beside its dump: from files, options, a state, and a read_committed dump.

The cleaner goes on at a state's checkpoint if the inputs are the state's output and newer records. If another
file holds records below the end of that output, superseded records are back, which a map of the dirty section
alone would not remove; so such a log is cleaned from its start. Delete horizons hold in either case (R26). A
log that is not in the state's output must be given in full, which is checked by the records that the state
knows.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import replace
from operator import attrgetter
from pathlib import Path

from kcompact.broker.log_context import LogContext
from kcompact.broker.log_names import LogName
from kcompact.broker.state.known_records import KnownRecord, disagreement, explains_absence
from kcompact.broker.state.state_of_dump import StateOfDump
from kcompact.compact.context.beside import Beside
from kcompact.compact.context.given_batches import refuse_holes, with_open_transactions
from kcompact.compact.context.left_by_rounds import left_by_rounds
from kcompact.compact.context.read_committed import notes_on_missing_markers, with_read_committed
from kcompact.compact.context.remembering import KnownByLog
from kcompact.compact.context.transactions_before import refuse_removed_aborts, refuse_undecided
from kcompact.compact.read_dump import ReadDump
from kcompact.compact.whole_logs.record_index import index_records
from kcompact.engine.passes.summaries import LogSummary, merged
from kcompact.engine.shuffle import Send
from kcompact.errors import InputError

LogContexts = Mapping[int, LogContext]
_LOGS_NAMED = 3
_OFFSETS_OF_A_MARKER = 1
_BY_STATE = "after the last that the state knows"


def log_contexts(
    send: Send, index: ReadDump, beside: Beside, folder: Path
) -> tuple[Mapping[int, LogContext], list[str]]:
    """The context of each log, by id, and notes on assumptions. Raises InputError if a dump does not fit."""
    names = index.names
    by_name = beside.context.for_logs(names.values())
    contexts: Mapping[int, LogContext] = {log_id: by_name[name] for log_id, name in names.items()}
    _refuse_starts_behind(index, contexts)
    notes = beside.context.silences(names.values())
    if beside.state is not None:
        contexts, more_notes = continued(beside.state, index, contexts)
        notes += more_notes
    if beside.committed is None and beside.state is not None:
        others = [part for part in index.summaries if _path(index, part) not in beside.state.output_paths]
        refuse_undecided(beside.state, names, contexts)
        refuse_removed_aborts(beside.state, others, contexts)
    refuse_holes(contexts, index.summaries)
    contexts, more_notes = with_open_transactions(contexts, names)
    notes += more_notes
    if beside.committed is not None:
        committed = index_records(send, beside.committed, folder)
        left = _left_by_state(beside.state, index, contexts, committed.summaries)
        notes += notes_on_missing_markers(contexts, index.summaries, [*committed.summaries, *left])
        contexts, more_notes = with_read_committed(contexts, index.summaries, committed.summaries, left)
        notes += more_notes
    return contexts, notes


def _left_by_state(
    state: StateOfDump | None, index: ReadDump, contexts: LogContexts, committed: list[LogSummary]
) -> list[LogSummary]:
    """The records that the state's rounds left in its output (see ``left_by_rounds``). Raises InputError."""
    if state is None:
        return []
    output = [part for part in index.summaries if _path(index, part) in state.output_paths]
    return left_by_rounds(output, state.state, contexts, committed)


def _refuse_starts_behind(index: ReadDump, contexts: LogContexts) -> None:
    """Raise InputError if a given log start lies behind all records, and the end of the log is not known."""
    for log_id, whole in merged(index.summaries).items():
        log = contexts[log_id]
        start = log.log_start_offset
        is_end_given = log.log_end_offset is not None or log.segments or log.batches
        if start is not None and start > whole.last_offset + 1 and not is_end_given:
            raise InputError(
                f"{whole.log}: the log is said to start at {start}, but the dump ends with offset"
                f" {whole.last_offset}: no record would be left",
                hint="is it the offset of another log (--log-start-offset orders-0=303)? if the log really"
                " continues after the dump, give its end with --log-end-offset",
            )


def continued(state: StateOfDump, index: ReadDump, context: LogContexts) -> tuple[LogContexts, list[str]]:
    """The contexts as the dump and the state determine them together, and notes.

    A state that knows no output is taken as it is. Otherwise the dump either contains that output
    (``missing`` is None), perhaps with all of a log that the last run left out, or it holds every log in full
    again. In both cases a log whose earlier records are there again is cleaned from its start. Raises
    InputError if it is neither.
    """
    state.check_logs({whole.log: whole.last_offset for whole in merged(index.summaries).values()})
    if state.state.files is None:
        return context, state.notes
    again = _dumped_again(index, context, state)
    if state.missing is not None and (state.changed or not again or not any(state.state.records.values())):
        raise state.lacks(state.missing)
    if state.missing is None:
        _refuse_parts_of_earlier_dumps(index, state)
    context = _compared(state, index, context)
    again |= {log_id for log_id, log in index.names.items() if log in state.logs_given_anew}
    from_start = {log_id: replace(context[log_id], checkpoint_offset=None) for log_id in again}
    notes = [_note(index, again)] if again else []
    return {**context, **from_start}, notes + _notes_on_holes(index, state)


def _dumped_again(index: ReadDump, context: LogContexts, state: StateOfDump) -> set[int]:
    """The ids of logs with records from before the state in a file that is not the state's output."""
    again = set()
    for part in index.summaries:
        checkpoint_offset = context[part.log_id].checkpoint_offset or 0
        output_end_offset = state.state.last_offsets.get(part.log, -1) + 1
        is_own = _path(index, part) in state.output_paths
        if not is_own and part.first_offset < max(checkpoint_offset, output_end_offset):
            again.add(part.log_id)
    return again


def _notes_on_holes(index: ReadDump, state: StateOfDump) -> list[str]:
    """Notes on logs that lack more offsets than a marker takes after the state's last one, or between files.

    A file that was left out looks the same as records that a broker removed.
    """
    reached: dict[int, tuple[int, str]] = {}  # by log: the last offset so far, and the file that holds it
    holes: dict[str, list[str]] = defaultdict(list)
    for part in sorted(index.summaries, key=attrgetter("first_offset")):
        path, known = _path(index, part), state.last_known(part.log)
        if path in state.output_paths:
            continue
        begin = (known, _BY_STATE) if 0 <= known < part.first_offset else (part.last_offset, path)
        last, place = reached.get(part.log_id, begin)
        if path != place and part.first_offset - last - 1 > _OFFSETS_OF_A_MARKER:
            where = _BY_STATE if place == _BY_STATE else "between its files"
            holes[where].append(f"{part.log} offsets {last + 1} to {part.first_offset - 1}")
        reached[part.log_id] = max((last, place), (part.last_offset, path))
    question = "were they cleaned before the export, or was a file left out?"
    return [f"no record of {_some_of(offsets)}, {where}: {question}" for where, offsets in holes.items()]


def _refuse_parts_of_earlier_dumps(index: ReadDump, state: StateOfDump) -> None:
    """Raise InputError for files beside the state's output that hold a part of the records before the state.

    The output holds all that is left of these records. A file that goes back there has to hold everything
    from its first offset on, as a full dump or an overlapping one does: otherwise its records may have been
    superseded or deleted by records that are not there, or by a tombstone that has expired since. This is
    checked by the records that the state knows.
    """
    ranges: dict[LogName, dict[str, tuple[int, int]]] = defaultdict(dict)
    own: dict[LogName, list[LogSummary]] = defaultdict(list)
    for part in index.summaries:
        path = _path(index, part)
        if path in state.output_paths:
            own[part.log].append(part)
        elif part.first_offset <= state.state.last_offsets.get(part.log, -1):
            first, last = ranges[part.log].get(path, (part.first_offset, part.last_offset))
            ranges[part.log][path] = min(first, part.first_offset), max(last, part.last_offset)
    gaps = {
        log: _known_outside(
            state,
            log,
            [*by_path.values(), *_all_that_follow(own[log], by_path, state.state.last_offsets.get(log, -1))],
        )
        for log, by_path in ranges.items()
    }
    ids = {name: log_id for log_id, name in index.names.items()}
    digests = {
        ids[log]: {record.key_sha256 for record in records} for log, records in gaps.items() if records
    }
    later = index.last_offsets(digests) if digests else {}
    for log, records in gaps.items():
        for record in records:
            last_offset = later.get((ids[log], record.key_sha256))
            if not record.is_kept or not explains_absence(record, last_offset):
                path = min(ranges[log], key=lambda path: ranges[log][path])
                needed = {part.log for part in index.summaries if _path(index, part) == path}
                raise state.holds_a_part(path, log, record.offset, sorted(needed & state.logs_given_anew))


def _all_that_follow(
    own: Collection[LogSummary], by_path: Mapping[str, tuple[int, int]], last_offset: int
) -> list[tuple[int, int]]:
    """Ranges of a log in which the state's output (``own``) holds every offset, so that no record is missing.

    Such an output may as well be the dump of a day from which nothing was removed. Empty unless the ranges
    begin where the files before them (``by_path``) end, and reach ``last_offset``, the last one that the
    state knows.
    """
    ranges, reached = list[tuple[int, int]](), -1
    ahead = sorted(by_path.values(), reverse=True)
    for part in sorted(own, key=attrgetter("first_offset")):
        while ahead and ahead[-1][0] <= part.first_offset:
            reached = max(reached, ahead.pop()[1])
        is_whole = part.ascending and part.records == part.last_offset - part.first_offset + 1
        if is_whole and part.first_offset == reached + 1:
            ranges.append((part.first_offset, part.last_offset))
            reached = part.last_offset
    return ranges if ranges and ranges[-1][1] >= last_offset else []


def _known_outside(
    state: StateOfDump, log: LogName, ranges: Collection[tuple[int, int]]
) -> list[KnownRecord]:
    """The known records of a log from the start of the first range on that are in none of the ranges.

    The last record that was read is always known, even if it was removed: it, or one before it, may have been
    a tombstone.
    """
    begin = min(first for first, _ in ranges)
    return [
        record
        for record in state.state.records.get(log, ())
        if record.offset >= begin and not any(first <= record.offset <= last for first, last in ranges)
    ]


def _path(index: ReadDump, part: LogSummary) -> str:
    """The path of the file that holds a part of a log."""
    return index.plan.file_of(index.plan.split(part.split_id)).path


def _note(index: ReadDump, again: Collection[int]) -> str:
    names = [str(index.names[log_id]) for log_id in again]
    return f"{_some_of(names)}: a full dump again, so cleaned from the start; delete horizons are kept"


def _some_of(texts: Collection[str]) -> str:
    """The first few texts, with dots if there are more."""
    return ", ".join(sorted(texts)[:_LOGS_NAMED]) + (", ..." if len(texts) > _LOGS_NAMED else "")


def _compared(state: StateOfDump, index: ReadDump, context: LogContexts) -> LogContexts:
    """``context`` without what is remembered of logs that are given anew, and hold none of the known records.

    Raises InputError if the records of a log contradict those known. Logs that this run leaves out may be
    absent.
    """
    ids = {name: log_id for log_id, name in index.names.items()}
    is_wanted = index.plan.files[0].wants  # the same for every file: the run's filters
    known_logs = {
        log: state.state.records.get(log, ()) for log in sorted(state.logs_given_anew) if is_wanted(*log)
    }
    for log, known in known_logs.items():
        is_alive = any(record.is_kept and not record.is_tombstone for record in known)
        if state.missing is not None and log not in ids and is_alive:
            raise state.lacks_log(log)
    wanted = {ids[log]: known for log, known in known_logs.items() if log in ids}
    if not wanted:
        return context
    present = index.records_at(wanted)
    absent = _absent(state, index, wanted, present)
    digests = {log_id: {record.key_sha256 for record in known} for log_id, known in absent.items()}
    later = index.last_offsets(digests) if digests else {}
    for log_id, records in absent.items():
        name, start_offset = index.names[log_id], context[log_id].log_start_offset or 0
        for record in records:
            is_explained = explains_absence(record, later.get((log_id, record.key_sha256)))
            if record.offset >= start_offset and not is_explained:
                raise state.differs(
                    name,
                    f"it lacks {name} offset {record.offset}, which the state knows as the latest of its key,"
                    " and has no later one of that key; unless its tombstone has come and gone since, or the"
                    " log starts after it now (--log-start-offset), this is no full dump",
                )
    unknown = wanted.keys() - {log_id for log_id, _ in [*present, *later]}
    before = {i: state.state.aborted.get(index.names[i], ()) for i in unknown}
    return {i: log.without_memory(before[i]) if i in unknown else log for i, log in context.items()}


def _absent(
    state: StateOfDump,
    index: ReadDump,
    wanted: KnownByLog,
    present: Mapping[tuple[int, int], KnownRecord],
) -> dict[int, list[KnownRecord]]:
    """The known records that the dump lacks. Raises InputError if it has another record in place of one."""
    absent: dict[int, list[KnownRecord]] = defaultdict(list)
    for log_id, records in wanted.items():
        for known in records:
            record = present.get((log_id, known.offset))
            if record is None:
                absent[log_id].append(known)
                continue
            difference = disagreement(known, record)
            if difference is not None:
                name = index.names[log_id]
                raise state.differs(name, f"at {name} offset {known.offset} the state knows {difference}")
    return absent
