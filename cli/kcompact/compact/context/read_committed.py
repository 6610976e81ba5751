"""Aborted data, known from a read_committed dump of the same topic: records that it lacks were aborted."""

import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from kcompact.broker.aborted import AbortedRange
from kcompact.broker.batches import ABORT
from kcompact.broker.log_context import LogContext
from kcompact.broker.log_names import LogName, few
from kcompact.compact.context.given_batches import offsets_of
from kcompact.counted import counted
from kcompact.engine.passes.offset_runs import NO_RUNS, lacking, runs_from, union_of
from kcompact.engine.passes.summaries import LogSummary, runs_by_log
from kcompact.errors import InputError
from kcompact.rules.transactions import aborted_ranges

MOST_AT_AN_END = 1_000
"""Up to so many records before or after all committed ones count as aborted; more point to missing data."""


def with_read_committed(
    contexts: Mapping[int, LogContext],
    all_records: list[LogSummary],
    committed: list[LogSummary],
    left: Iterable[LogSummary] = (),
) -> tuple[dict[int, LogContext], list[str]]:
    """``contexts`` with the aborted ranges of each log, and notes on assumptions. Raises InputError.

    ``left`` holds records that earlier rounds left, so that they count as committed, too
    (``left_by_rounds``). A record below the last stable offset that the read_committed dump lacks is aborted,
    unless a batch holds it: then batches tell. If the last stable offset is not known, it is taken to be the
    first record behind both the read_committed dump and the batches; records from there on count as open, and
    stay. ``contexts`` already have the last stable offsets of batches (``with_open_transactions``).
    """
    present, visible = runs_by_log(all_records), runs_by_log([*committed, *left])
    names = {part.log_id: part.log for part in all_records}
    _refuse_other_topics(names.values(), {part.log for part in committed})
    completed, notes = dict(contexts), []
    for log_id, runs in present.items():
        log_pair = _LogPair(names[log_id], contexts[log_id], runs, visible.get(log_id, NO_RUNS))
        completed[log_id] = log_pair.context
        notes += log_pair.notes
    return completed, notes


@dataclass(frozen=True)
class _LogPair:
    """One log with the offsets of its records in the dump, and in the read_committed dump, both as runs."""

    name: LogName
    log: LogContext
    runs: np.ndarray  # in the dump
    seen: np.ndarray  # in the read_committed dump, or left by earlier rounds

    @property
    def context(self) -> LogContext:
        """The log's context with aborted and open data as they follow from the two dumps."""
        aborted = [AbortedRange(start, end - 1) for start, end in self.aborted]
        together = sorted([*self.log.aborted, *aborted], key=lambda run: run.first_offset)
        log = replace(self.log, aborted=tuple(together))
        if not len(self.behind):
            return log
        first_offset, end_offset = int(self.behind[0, 0]), int(self.behind[-1, 1])
        undecided = (AbortedRange(first_offset, end_offset - 1),)
        return replace(log, last_stable_offset=first_offset, undecided=undecided)

    @property
    def notes(self) -> list[str]:
        """Notes on all assumptions about the log."""
        seen, notes = self.seen, []
        if len(self.behind) and (len(seen) or self.log.batches is not None):
            notes.append(_note(self.name, self.behind))
        if not len(seen):
            notes.append(_unseen_note(self.name, self.log, self.runs))
        notes += self.end_notes
        if len(seen) and self.disputed_count:
            notes.append(_disputed_note(self.name, self.disputed_count))
        return notes

    @property
    def end_notes(self) -> list[str]:
        """Notes on aborted records before and after all that the read_committed dump holds.

        Raises InputError if they are many, and no option or state names them as aborted.
        """
        begin, end = (int(self.seen[0, 0]), _end(self.seen)) if len(self.seen) else (0, 0)
        head = [run for run in self.aborted if run[0] < begin]
        tail = self._unnamed([run for run in self.aborted if run[0] >= end])
        if _count(self._unnamed(head)) > MOST_AT_AN_END:
            place = f"below offset {begin}, with which the read_committed dump begins"
            raise _many_at_an_end(f"{self.name}: {_records(head)} {place}")
        if _count(tail) > MOST_AT_AN_END:
            place = f"from offset {tail[0][0]} on, after all that the read_committed dump holds"
            raise _many_at_an_end(f"{self.name}: {_records(tail)} {place}")
        notes = [_head_note(self.name, head, begin)] if head else []
        if tail and end:
            notes.append(_tail_note(self.name, tail))
        return notes

    def _unnamed(self, runs: list[tuple[int, int]]) -> list[tuple[int, int]]:
        """The part of ascending runs that no option or state names as aborted."""
        end_offset = runs[-1][1] if runs else 0
        return lacking(np.array(runs, np.int64).reshape(-1, 2), named_as_aborted(self.log), end_offset)

    @cached_property
    def behind(self) -> np.ndarray:
        """Runs of records that may belong to open transactions: nothing tells how these ended."""
        if self.log.last_stable_offset is not None:
            return NO_RUNS
        return runs_from(self.runs, max(_end(self.seen), _end(self._in_batches)))

    @cached_property
    def aborted(self) -> list[tuple[int, int]]:
        """Runs of records that were aborted, as the two dumps and the batches' offsets show."""
        return lacking(self.runs, union_of(np.concatenate([self.seen, self._in_batches])), self._decided_end)

    @cached_property
    def disputed_count(self) -> int:
        """How many records the read_committed dump lacks, though the batches show that they committed."""
        if self.log.batches is None:
            return 0
        ranges = aborted_ranges(self.log.batches.parts())
        in_batches = np.array([(run.first_offset, run.last_offset + 1) for run in ranges], np.int64)
        explained = union_of(np.concatenate([self.seen, in_batches.reshape(-1, 2)]))
        return _count(lacking(self.runs, explained, self._decided_end)) - _count(self.aborted)

    @property
    def _decided_end(self) -> int:
        """The offset below which the read_committed dump holds all committed records.

        A last stable offset that follows from batches may lie behind the end of that dump.
        """
        stable = self.log.last_stable_offset
        if stable is None:
            return _end(self.seen)
        return min(stable, _end(self.seen)) if self.log.undecided else stable

    @cached_property
    def _in_batches(self) -> np.ndarray:
        return NO_RUNS if self.log.batches is None else offsets_of(self.log.batches)


def notes_on_ends(
    contexts: Mapping[int, LogContext], all_records: list[LogSummary], committed: list[LogSummary]
) -> list[str]:
    """Notes on records before and after all those of the read_committed dump, which may be incomplete."""
    visible, notes = runs_by_log(committed), []
    names = {part.log_id: part.log for part in all_records}
    for log_id, runs in runs_by_log(all_records).items():
        log_pair = _LogPair(names[log_id], contexts[log_id], runs, visible.get(log_id, NO_RUNS))
        notes += log_pair.end_notes
    return notes


def notes_on_missing_markers(
    contexts: Mapping[int, LogContext], all_records: list[LogSummary], committed: list[LogSummary]
) -> list[str]:
    """Notes on records that only an abort marker after the end of both dumps can have aborted.

    After these records the dump lacks no offset at which a marker could be, while the read_committed dump has
    later records. It is more likely that the read_committed dump is incomplete: its beginning or one of its
    files was lost. So InputError is raised if the log is known to end there, or if the dump lacks no offset
    at all.
    """
    visible = runs_by_log(committed)
    names = {part.log_id: part.log for part in all_records}
    notes = []
    for log_id, runs in runs_by_log(all_records).items():
        seen, end_offset = visible.get(log_id, NO_RUNS), int(runs[-1, 1])
        lacked = lacking(runs[-1:], seen, _end(seen))
        if not lacked or _end(seen) > end_offset or _may_have_marker(contexts[log_id], end_offset):
            continue
        records, first_offset = counted(_count(lacked), "record"), lacked[0][0]
        if len(runs) == 1 or contexts[log_id].log_end_offset is not None:
            raise InputError(
                f"{names[log_id]}: the read_committed dump lacks {records} from offset {first_offset} on,"
                " but has later ones, and no offset is missing after them where an abort marker could be",
                hint="export both at the same time, from the beginning; or name aborted data with --batches"
                " or --aborted; or, if the log continues after the dump, give its end with --log-end-offset",
            )
        notes.append(
            f"{names[log_id]}: {records} from offset {first_offset} on count as aborted, as the"
            " read_committed dump lacks them, though no offset is missing after them where an abort marker"
            " could be: is that dump complete? (the log's end, --log-end-offset, shows whether a marker can"
            " be there)"
        )
    return notes


def _may_have_marker(log: LogContext, end_offset: int) -> bool:
    """Whether batches show an abort marker, or the log goes on after all records, and may have one there."""
    if log.log_end_offset is not None and log.log_end_offset > end_offset:
        return True
    return log.batches is not None and any(np.any(part.marker == ABORT) for part in log.batches.parts())


def _refuse_other_topics(logs: Collection[LogName], committed: Collection[LogName]) -> None:
    """Raise InputError if a topic has no committed records: all its records would seem aborted or open."""
    lacking = {log.topic for log in logs} - {log.topic for log in committed}
    if lacking:
        raise InputError(
            f"--read-committed is about {few(committed) or 'no log'}; the dump holds"
            f" {few([log for log in logs if log.topic in lacking])}",
            hint="give a read_committed dump of the same topics, or leave the option out; where nothing of a"
            " topic was committed, give --batches with the output of kafka-dump-log instead",
        )


def _note(log: LogName, behind: np.ndarray) -> str:
    """A note on records that count as open, as they come after all that the read_committed dump holds."""
    start, end = int(behind[0, 0]), int(behind[-1, 1])
    also = " with --aborted" if _count(behind) > MOST_AT_AN_END else ""
    return (
        f"{log}: {_records(behind)} from offset {start} on, after the end of the read_committed dump: counted"
        " as an open transaction, so kept (if it was aborted: --last-stable-offset"
        f" {shlex.quote(f'{log}={end}')}{also})"
    )


def _head_note(log: LogName, before: Collection[tuple[int, int]], first_offset: int) -> str:
    """A note on aborted records below the first one in the read_committed dump, which may begin later."""
    return (
        f"{log}: {_records(before)} below offset {first_offset}, with which the read_committed dump begins:"
        " counted as aborted, if they were still in the log when it was exported; if it holds new records"
        " alone, give one of the whole log"
    )


def _tail_note(log: LogName, behind: Sequence[tuple[int, int]]) -> str:
    """A note on aborted records after the last one in the read_committed dump, which may end too early."""
    return (
        f"{log}: {_records(behind)} from offset {behind[0][0]} on, below the last stable offset, but after"
        " the end of the read_committed dump: counted as aborted, if that dump was exported when the offset"
        " was read"
    )


def _many_at_an_end(records: str) -> InputError:
    return InputError(
        f"{records}: were they aborted, or is that dump incomplete?",
        hint="give a read_committed dump of the whole log, exported with the other, and no later last stable"
        " offset; if they were aborted, --aborted FILE says so: 'topic partition first_offset last_offset'",
    )


def _disputed_note(log: LogName, count: int) -> str:
    """A note on records that the read_committed dump lacks, though batches hold them and show no abort."""
    return (
        f"{log}: the read_committed dump lacks {counted(count, 'record')} of which the batches show no abort:"
        " counted as committed (were both exported at the same time?)"
    )


def _unseen_note(name: LogName, log: LogContext, runs: np.ndarray) -> str:
    """A note on a log of which the read_committed dump holds nothing: perhaps it was not exported."""
    stable = log.last_stable_offset
    counted_as = "an open transaction, so kept" if stable is None else f"aborted below offset {stable}"
    counted_as = counted_as if log.batches is None else "its batches say"
    return f"{name}: the read_committed dump holds none of its {_records(runs)}: counted as {counted_as}"


def _records(runs: Iterable[Sequence[int]] | np.ndarray) -> str:
    return counted(int(_count(runs)), "record")


def _count(runs: Iterable[Sequence[int]] | np.ndarray) -> int:
    return sum(end - start for start, end in runs)


def named_as_aborted(log: LogContext) -> np.ndarray:
    """The offsets that options or a state name as aborted, as runs."""
    named = [(run.first_offset, run.last_offset + 1) for run in log.aborted]
    return union_of(np.array(named, np.int64).reshape(-1, 2))


def _end(runs: np.ndarray) -> int:
    """The end (exclusive) of ascending runs, 0 if there are none."""
    return int(runs[-1, 1]) if len(runs) else 0
