"""Kafka's log cleaner on tracked rows: from rows to verdicts, rounds and the state that they leave.

The stages are few, and without batches their number does not depend on that of the rounds: one stage surveys
the logs, one tallies records. Only where asked for, further stages roll segments, find full maps, read logs
whose batches are known, and expire records.
"""

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kcompact.broker.log_context import LogContext
from kcompact.cleaner.batch_shares import StretchFigures, parts_of
from kcompact.cleaner.batched_log import BatchedLog, OpenedLog
from kcompact.cleaner.by_batches import ByBatches, open_logs
from kcompact.cleaner.by_tallies import played
from kcompact.cleaner.expiry import expire_records, expired_records
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
from kcompact.cleaner.round_loop import plan_of, play_rounds
from kcompact.cleaner.shares import Shares, slices_by_log
from kcompact.cleaner.survey import Records, RecordsBySegment, known_segments, survey, without_records
from kcompact.cleaner.tracked import Tracked, track
from kcompact.cleaner.verdict_tallies import tally
from kcompact.engine.shuffle import Stage
from kcompact.errors import InputError
from kcompact.rules.cleaned_log import LogCleaning
from kcompact.rules.decisions import Plan
from kcompact.rules.files.segment_roller import with_rolled_segments
from kcompact.rules.files.segments import SegmentState, is_rolled
from kcompact.rules.lookups import lookup_for
from kcompact.rules.policy import Policy
from kcompact.rules.ratio import tie_notes, turn_of
from kcompact.rules.verdicts import Verdict


@dataclass(frozen=True)
class Cleaning:
    """The decisions of a run: for each log its outcome, and its ``Plan``, by which workers make verdicts."""

    logs: Mapping[int, LogCleaning]
    plans: Mapping[int, Plan]
    tracked: Tracked


def clean(
    keyed: Stage,
    shares: Shares,
    contexts: Mapping[int, LogContext],
    policies: Mapping[int, Policy],
    names: Mapping[int, str],
) -> Cleaning:
    """Clean every log under its policy, with the facts that its context holds.

    All mappings are by log id. ``keyed`` holds the index rows by key, as ``send_index`` sends them;
    ``shares`` says which task gets which offsets; ``names`` are for messages. Raises InputError where the
    facts given contradict the records.
    """
    contexts = {
        i: with_rolled_segments(contexts.get(i, LogContext()), policy, shares.first_offset(i))
        for i, policy in policies.items()
    }
    batches = {i: context.batches for i, context in contexts.items() if context.batches is not None}
    shares = shares.starting_at({i: of_log.start_of for i, of_log in batches.items()})
    lookups = {i: lookup_for(contexts[i], policy) for i, policy in policies.items()}
    tracked = track(keyed, shares, lookups)
    parts = parts_of(tracked.shares, batches)
    opened = open_logs(tracked, parts, contexts, policies)
    cases = _checked_cases(tracked, contexts, policies, opened, names)
    ratios = {i: case.dirty_ratio for i, case in cases.items() if case.is_taken}
    turn = turn_of(ratios, names, max((policies[i].log_cleaner_threads for i in ratios), default=1))
    # Retention runs on the logs of later turns before they are cleaned (R52).
    later = {i: after_retention(case) if turn.is_later(i) else case for i, case in cases.items()}
    deleted = {i for i in cases if later[i] is not cases[i]}
    cleaned, plans = _without_batches(tracked, {i: case for i, case in later.items() if i not in opened})
    if opened:
        rounds = ByBatches(tracked, parts, {i: BatchedLog(later[i], of_log) for i, of_log in opened.items()})
        play_rounds(rounds.logs, rounds.next_spans, rounds.rewrite)
        of_batches = rounds.cleanings()
        cleaned, plans = cleaned | of_batches[0], plans | of_batches[1]
        tracked = rounds.tracked
    for i, note in tie_notes(turn, names, deleted).items():
        if i in cleaned:
            cleaned[i] = replace(cleaned[i], notes=(*cleaned[i].notes, note))
    return Cleaning(cleaned, plans, tracked)


def _checked_cases(
    tracked: Tracked,
    contexts: Mapping[int, LogContext],
    policies: Mapping[int, Policy],
    opened: Mapping[int, OpenedLog],
    names: Mapping[int, str],
) -> dict[int, LogCase]:
    """Each log before its rounds. Raises InputError where the facts given contradict the records."""
    records, by_segment = survey(tracked)
    for i, of_log in records.items():
        _refuse_misfits(names[i], contexts[i], of_log.first_offset, of_log.last_offset)
        if i in opened:
            _refuse_overfull_batch(names[i], opened[i].figures)
    for i in opened.keys() - records.keys():
        records[i] = without_records(opened[i].segments[0].base_offset)
    segments = {i: log.with_active(records[i], contexts[i]) for i, log in opened.items()}
    return surveyed_cases(tracked, records, by_segment, contexts, policies, of_batches=segments)


def _refuse_misfits(name: str, context: LogContext, first_offset: int, last_offset: int) -> None:
    """Raise InputError if segments, batches or log end contradict the offsets of the records."""
    start_offset = max(first_offset, context.log_start_offset or 0)  # records below are no part of the log
    if context.segments and start_offset < context.segments[0].base_offset:
        base_offset = context.segments[0].base_offset
        start = shlex.quote(f"{name}={base_offset}")
        raise InputError(
            f"{name}: the first segment given starts at {base_offset}, but the dump holds offset"
            f" {first_offset}",
            hint="the segments are those of another log, or were listed later than the dump was made; if the"
            f" log starts there now, --log-start-offset {start} says so, and what lies below goes",
        )
    decided_end = max(start_offset, context.checkpoint_offset or 0)  # below it, earlier rounds have decided
    if context.batches is not None and decided_end < context.batches.first_offsets[0]:
        raise InputError(
            f"{name}: the first batch given starts at {context.batches.first_offsets[0]}, but the dump holds"
            f" offset {first_offset}, and nobody can tell whether its transaction was aborted",
            hint="give --batches once for each segment file of the log, printed when the dump was made",
        )
    if context.log_end_offset is not None and last_offset >= context.log_end_offset:
        raise InputError(
            f"{name}: by --log-end-offset the log ends at {context.log_end_offset}, but the dump holds"
            f" offset {last_offset}",
            hint="a log ends after its last record: --log-end-offset is the next offset to be written",
        )


def _refuse_overfull_batch(name: str, figures: Iterable[StretchFigures]) -> None:
    """Raise InputError if the dump holds more records of a batch than its header counts."""
    for of_stretch in figures:
        batch = of_stretch.opening.overfull
        if batch is not None:
            raise InputError(
                f"{name}: by --batches the batch at offset {batch.base_offset} holds {batch.record_count}"
                f" records, but the dump holds {batch.records_held} at its offsets",
                hint="the batches are those of another log, or were printed later than the dump was made",
            )


Cleaned = tuple[dict[int, LogCleaning], dict[int, Plan]]
"""The outcome and the plan of each log."""


def _without_batches(tracked: Tracked, cases: Mapping[int, LogCase]) -> Cleaned:
    if not cases:
        return {}, {}
    scans = scan_maps(tracked, {i: scan_limits(case) for i, case in cases.items() if needs_scan(case)})
    spans = {i: spans_of_case(case, scans.get(i)) for i, case in cases.items()}
    tallies = tally(tracked, {i: plan_of(case, spans[i], 0) for i, case in cases.items()})
    logs = played(cases, spans, tallies)
    without_segments = {i: case for i, case in cases.items() if case.segments is None}
    starts = {i: log.bounds.log_start_offset for i, log in logs.items()}
    starts |= expire_records(tracked, {i: log.plan(0) for i, log in logs.items()}, without_segments)
    cleaned = {i: log.cleaning(starts[i]) for i, log in logs.items()}
    plans = {i: log.plan(starts[i]) for i, log in logs.items()}
    has_expired = {i: starts[i] > case.records.first_offset for i, case in cases.items()}
    expired = expired_records(tracked, {i: plan for i, plan in plans.items() if has_expired[i]})
    for i, records in expired.items():
        cleaned[i] = replace(cleaned[i], removed={**cleaned[i].removed, Verdict.EXPIRED: records})
    return cleaned, plans


def surveyed_cases(
    tracked: Tracked,
    records: Mapping[int, Records],
    by_segment: RecordsBySegment,
    contexts: Mapping[int, LogContext],
    policies: Mapping[int, Policy],
    *,
    of_batches: Mapping[int, tuple[SegmentState, ...]] = MappingProxyType({}),
) -> dict[int, LogCase]:
    """Each log before its rounds: its segments (given, known from batches, or rolled), range and ratio."""
    known = {i: known_segments(contexts[i], by_segment.get(i, {}), policies[i]) for i in records}
    states = known | dict(of_batches)
    to_roll = {i: policies[i] for i in records if states[i] is None and is_rolled(policies[i])}
    rolled = roll_segments(tracked, to_roll)
    segments: dict[int, tuple[SegmentState, ...] | None] = {
        i: rolled.get(i) if states[i] is None else states[i] for i in records
    }
    cases = {i: case_of(contexts[i], policies[i], records[i], segments[i]) for i in records}
    return cases | _measured(tracked, {i: case for i, case in cases.items() if bound_cuts_bytes(case)})


def bound_cuts_bytes(case: LogCase) -> bool:
    """Whether the ratio of an unsegmented log has to be measured once its range is known.

    The survey counted all bytes from the assumed first dirty offset to the log end as cleanable.
    """
    is_bounded = case.range.bounded_by != "log end" or case.range.checkpoint_reset
    return case.segments is None and is_bounded


def _measured(tracked: Tracked, cases: Mapping[int, LogCase]) -> dict[int, LogCase]:
    """The cases of unsegmented logs with the measured bytes of their cleanable ranges. Takes one stage."""
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
