"""Kafka's log cleaner on tracked rows: from rows to verdicts, rounds and the state that they leave.

The stages are few and do not depend on the number of rounds: one surveys the logs, one counts fates, and,
only where asked for, some roll segments, find full maps, read logs whose batches are known, and expire
records.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kcompact.broker.log_context import LogContext
from kcompact.cleaner.batched import (
    BatchedLog,
    clean_batched,
    dirty_ratio_if_due,
    open_batched,
    retain_before_rounds,
)
from kcompact.cleaner.expiry import expire_records, expired_records
from kcompact.cleaner.fitting import refuse_misfits, refuse_misfitting_batches
from kcompact.cleaner.log_case import (
    LogCase,
    after_retention,
    case_of,
    needs_scan,
    scan_limits,
    spans_of_case,
    with_cleanable_bytes,
)
from kcompact.cleaner.ordered_scans import roll_segments, scan_maps
from kcompact.cleaner.shares import slices_by_log
from kcompact.cleaner.survey import Survey, known_segments, survey
from kcompact.cleaner.tracked import Tracked
from kcompact.cleaner.unbatched import (
    Played,
    outcome_of,
    plan_of,
    play_rounds,
    retained_segments,
    with_expired,
)
from kcompact.cleaner.verdict_tallies import Tally, tally
from kcompact.rules.cleaned_log import LogCleaning
from kcompact.rules.decisions import Plan
from kcompact.rules.files.segments import SegmentState, is_rolled
from kcompact.rules.policy import Policy
from kcompact.rules.ratio import Turn, tie_note, turn_of
from kcompact.rules.rewriting import ROW_COLUMNS, log_rows

EMPTY_CONTEXT = LogContext()


@dataclass(frozen=True)
class Cleaning:
    """The decisions of a run: per log its outcome and its ``Plan``, from which the workers make verdicts."""

    logs: Mapping[int, LogCleaning]
    plans: Mapping[int, Plan]
    tracked: Tracked


def clean(
    tracked: Tracked,
    contexts: Mapping[int, LogContext],
    policies: Mapping[int, Policy],
    names: Mapping[int, str] | None = None,
) -> Cleaning:
    """Clean every log under its policy, knowing what is given about it.

    ``names`` are for messages. Raises InputError where what is given does not fit the records.
    """
    called = {i: str(i) for i in policies} | dict(names or {})
    with_batches = {i for i in policies if contexts.get(i, EMPTY_CONTEXT).batches is not None}
    batched = _open_batched(tracked, {i: called[i] for i in sorted(with_batches)}, contexts, policies)
    cases: dict[int, LogCase] = {}
    if len(with_batches) < len(policies):
        surveys = {i: surveyed for i, surveyed in survey(tracked).items() if i not in with_batches}
        for i, surveyed in surveys.items():
            whole = surveyed.whole
            refuse_misfits(called[i], contexts.get(i, EMPTY_CONTEXT), whole.first_offset, whole.last_offset)
        cases = surveyed_cases(tracked, surveys, contexts, policies)
    turn = _turn(batched, cases, called, policies)
    cases, deleted = _in_turn(turn, batched, cases)
    logs, plans = _unbatched(tracked, cases) if cases else ({}, {})
    for i, log in batched.items():
        logs[i], plans[i] = clean_batched(log)
    for i in set(logs) & set(turn.tied):
        logs[i] = replace(logs[i], notes=(*logs[i].notes, *tie_note(turn, i, called, deleted)))
    return Cleaning(logs, plans, tracked)


def _turn(
    batched: Mapping[int, BatchedLog],
    cases: Mapping[int, LogCase],
    names: Mapping[int, str],
    policies: Mapping[int, Policy],
) -> Turn:
    """Which of the logs that are due a broker cleans first."""
    ratios = {i: case.dirty_ratio for i, case in cases.items() if case.is_taken}
    for i, log in batched.items():
        ratio = dirty_ratio_if_due(log)
        if ratio is not None:
            ratios[i] = ratio
    return turn_of(ratios, names, max((policies[i].log_cleaner_threads for i in ratios), default=1))


def _in_turn(
    turn: Turn, batched: Mapping[int, BatchedLog], cases: Mapping[int, LogCase]
) -> tuple[dict[int, LogCase], set[int]]:
    """Retention on all logs but the first (R52): the cases then, and the logs that it took something from."""
    later = {i: after_retention(case) if turn.is_later(i) else case for i, case in cases.items()}
    deleted = {i for i in cases if later[i] is not cases[i]}
    for i, log in batched.items():
        if turn.is_later(i):
            retain_before_rounds(log)
            if log.deleted_before_offset:
                deleted.add(i)
    return later, deleted


Cleaned = tuple[dict[int, LogCleaning], dict[int, Plan]]
"""By log: what was done, and what the workers need to decide on its records."""


def _unbatched(tracked: Tracked, cases: Mapping[int, LogCase]) -> Cleaned:
    scans = scan_maps(tracked, {i: scan_limits(case) for i, case in cases.items() if needs_scan(case)})
    spans = {i: spans_of_case(case, scans.get(i)) for i, case in cases.items()}
    plans = {i: plan_of(case, spans[i], 0) for i, case in cases.items()}
    tallies = tally(tracked, plans)
    played = {i: play_rounds(case, spans[i], tallies.get(i, [])) for i, case in cases.items()}
    plans = {i: plan_of(case, played[i].spans, 0) for i, case in cases.items()}
    logs = _after_retention(tracked, cases, played, plans, tallies)
    plans = {i: plan_of(cases[i], played[i].spans, log.log_start_offset) for i, log in logs.items()}
    has_expired = {i: log.log_start_offset > cases[i].survey.whole.first_offset for i, log in logs.items()}
    expired = expired_records(tracked, {i: plan for i, plan in plans.items() if has_expired[i]})
    return {i: with_expired(log, expired[i]) for i, log in logs.items()}, plans


def _open_batched(
    tracked: Tracked,
    names: Mapping[int, str],
    contexts: Mapping[int, LogContext],
    policies: Mapping[int, Policy],
) -> dict[int, BatchedLog]:
    """The logs whose batches are known, read into this process, in one stage."""
    if not names:
        return {}
    log_ids = pa.array(list(names), pa.int64())
    parts = tracked.each(lambda rows: rows.filter(pc.is_in(rows["log_id"], log_ids)).select(ROW_COLUMNS))
    # Shares come in the order of logs, and a log's shares in the order of offsets.
    rows = dict(slices_by_log(pa.concat_tables(parts)))
    logs: dict[int, BatchedLog] = {}
    for log_id, name in names.items():
        records = log_rows(rows.get(log_id, parts[0].slice(0, 0)))
        if len(records.rows):
            offsets = records.rows.offset
            refuse_misfits(name, contexts[log_id], int(offsets[0]), int(offsets[-1]))
        refuse_misfitting_batches(name, contexts[log_id], records)
        logs[log_id] = open_batched(contexts[log_id], policies[log_id], records)
    return logs


def surveyed_cases(
    tracked: Tracked,
    surveys: Mapping[int, Survey],
    contexts: Mapping[int, LogContext],
    policies: Mapping[int, Policy],
) -> dict[int, LogCase]:
    """Each log before its rounds: segments as known or rolled, range, ratio."""
    states = {i: known_segments(contexts.get(i, EMPTY_CONTEXT), surveys[i], policies[i]) for i in surveys}
    to_roll = {i: policies[i] for i in surveys if states[i] is None and is_rolled(policies[i])}
    rolled = roll_segments(tracked, to_roll)
    segments: dict[int, tuple[SegmentState, ...] | None] = {
        i: rolled.get(i) if states[i] is None else states[i] for i in surveys
    }
    cases = {
        i: case_of(contexts.get(i, EMPTY_CONTEXT), policies[i], surveys[i], segments[i]) for i in surveys
    }
    return cases | _measured(tracked, {i: case for i, case in cases.items() if bound_cuts_bytes(case)})


def bound_cuts_bytes(case: LogCase) -> bool:
    """Whether the ratio of an unsegmented log needs another look at its records."""
    is_bounded = case.range.bounded_by != "log end" or case.range.checkpoint_reset
    return case.segments is None and is_bounded


def _measured(tracked: Tracked, cases: Mapping[int, LogCase]) -> dict[int, LogCase]:
    """The bytes between first dirty and first uncleanable offset of unsegmented logs, in one stage."""
    if not cases:
        return {}
    ranges = {
        i: (case.range.first_dirty_offset, case.range.first_uncleanable_offset) for i, case in cases.items()
    }

    def measure(rows: pa.Table) -> dict[int, int]:
        rows = rows.filter(pc.invert(rows["is_repeated"]))
        return {i: _bytes_between(part, *ranges[i]) for i, part in slices_by_log(rows) if i in ranges}

    sums = dict.fromkeys(cases, 0)
    for share in tracked.each(measure):
        for log_id, log_bytes in share.items():
            sums[log_id] += log_bytes
    return {i: with_cleanable_bytes(case, sums[i]) for i, case in cases.items()}


def _bytes_between(rows: pa.Table, first_offset: int, end_offset: int) -> int:
    first, end = np.searchsorted(rows["offset"].to_numpy(), [first_offset, end_offset])
    return int(rows["log_bytes"].to_numpy()[first:end].sum(dtype=np.int64))


def _after_retention(
    tracked: Tracked,
    cases: Mapping[int, LogCase],
    played: Mapping[int, Played],
    plans: Mapping[int, Plan],
    tallies: Mapping[int, list[Tally]],
) -> dict[int, LogCleaning]:
    retained = {i: retained_segments(case, played[i]) for i, case in cases.items()}
    by_record = {i: cases[i] for i, segments in retained.items() if segments is None}
    expired = expire_records(tracked, plans, by_record)
    return {
        i: outcome_of(case, played[i], tallies.get(i, []), retained[i] or expired[i])
        for i, case in cases.items()
    }
