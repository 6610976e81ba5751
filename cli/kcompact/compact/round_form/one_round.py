"""Rounds through the plain form's two passes, for a state, a checkpoint, a minimum lag, an offset map's size.

What one task merges by key it takes to be dirty, by all that is known before reading: the checkpoint, and its
own first record that is too young. Where the whole dump says otherwise it is read once more, with the bounds.
Several rounds leave what one leaves that ends where the last of them does: what is asked more where maps get
full is where they end, and what went in which.
"""

import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import pyarrow as pa

from kcompact.broker.log_context import LogContext
from kcompact.broker.log_names import LogName
from kcompact.cleaner.cleaning import bound_cuts_bytes
from kcompact.cleaner.log_case import (
    LogCase,
    case_of,
    needs_scan,
    scan_limits,
    spans_of_case,
    with_cleanable_bytes,
)
from kcompact.cleaner.survey import Survey
from kcompact.cleaner.tracked import INDEXED
from kcompact.cleaner.unbatched import outcome_of, plan_of, play_rounds
from kcompact.cleaner.verdict_tallies import Tally, map_entries, tallies_in
from kcompact.compact.crowding import refuse_crowded_offsets
from kcompact.compact.full_form.full import TYPICAL_RECORD_BYTES
from kcompact.compact.full_form.full_totals import add_cleaning
from kcompact.compact.full_form.log_contexts import log_contexts
from kcompact.compact.plain import (
    SECTIONS,
    SUMMARIES,
    copy_sent,
    figures_in,
    kept_bytes_in,
    send_groups,
    send_latest,
)
from kcompact.compact.plain_copying import PlainJob, in_place
from kcompact.compact.request import Compacted, Request, refuse_doubtful
from kcompact.compact.round_form.full_maps import FullMaps, find_full_maps
from kcompact.compact.round_form.log_sections import LogSections
from kcompact.compact.round_form.round_merge import MergedFigures, RoundMerge
from kcompact.compact.round_form.round_scan import RoundScan
from kcompact.compact.sections import Sections
from kcompact.compact.task_files import results_of
from kcompact.compact.totals import overlapping, overtaken_files, plain_outcome, unsorted_files
from kcompact.dumps.dump import Dump
from kcompact.dumps.files.filters import logs_left_out, refuse_unmatched
from kcompact.dumps.note_checks import check_notes, files_left_out
from kcompact.dumps.records.record import log_id_of
from kcompact.engine.passes.index_pass import IndexPlan, plan_index
from kcompact.engine.passes.summaries import log_names, unpacked
from kcompact.engine.shuffle import Send
from kcompact.rules.capacity import map_limit
from kcompact.rules.cleaned_log import LogCleaning
from kcompact.rules.files.retention import Retained
from kcompact.rules.lookups import NO_SEGMENT, Lookup, lookup_for
from kcompact.rules.policy import Policy
from kcompact.rules.rounds import RoundSpan
from kcompact.rules.verdicts import Verdict

_RECORDS_PER_KEY = 10  # of a topic that is worth compacting


def compact_one_round(send: Send, dump: Dump, request: Request, merge_tasks: int) -> Compacted | None:
    """None: the dump, or what is known beside it, asks for the full form."""
    return _compact(send, dump, request, merge_tasks, tells_steps=_may_fill_maps(dump, request.policy_of("")))


def _compact(
    send: Send, dump: Dump, request: Request, merge_tasks: int, *, tells_steps: bool
) -> Compacted | None:
    plan = plan_index(dump, request.folder, INDEXED)
    job = replace(_job(request, plan, _known_before(request)), tells_steps=tells_steps)
    scan = _read(send, job, merge_tasks)
    remarks = _checked(dump, scan, request)
    file_ids = {split.split_id: split.file_id for split in plan.splits.values()}
    if not _is_simple(scan, file_ids):
        return None
    contexts, assumed = log_contexts(send, scan, request.beside, request.folder)
    policies = {log_id: request.policy_of(topic) for log_id, (topic, _) in scan.names.items()}
    job, scan, rounds = _bounded(send, job, _Rounds(scan, contexts, policies), merge_tasks)
    merge = rounds.merging(has_state=request.beside.state is not None).merged
    latest = scan.grouped.then(
        len(plan.tasks), lambda _, blocks: send_latest(job, blocks, merge_tasks, merge)
    )
    figures = latest.driver_blocks()
    merged = MergedFigures.together(figures_in(figures))
    tallies = rounds.tallies(merged.tallies)
    if not tells_steps and rounds.may_fill_a_map(tallies):
        return _compact(send, dump, request, merge_tasks, tells_steps=True)
    results, _ = results_of(latest, plan.task_bytes, in_place(job, kept_bytes_in(figures)), copy_sent)
    copied = [log for logs, _ in results for log in logs]
    fragments = [fragment for _, parts in results for fragment in parts]
    outcome = plain_outcome(scan.summaries, copied, fragments, request.renderings.gaps)
    cleanings = rounds.cleanings(tallies)
    for log in outcome.logs:
        log.keys = merged.keys[log.log_id]
        add_cleaning(log, cleanings[log.log_id])
    done = Compacted(outcome, merged.shared, [*remarks, *assumed], plan, cleanings, merged.known)
    done.overtaken = overtaken_files(scan.summaries, file_ids)
    done.left_out = files_left_out(dump, plan.splits, scan.notes)
    done.notes += notes_of(cleanings, scan.names)
    return done


def _bounded(
    send: Send, job: PlainJob, rounds: "_Rounds", merge_tasks: int
) -> tuple[PlainJob, RoundScan, "_Rounds"]:
    """The rounds with all that ends them, and the dump as it was read by their bounds."""
    scan = rounds.scan
    if not rounds.fit(scan):
        job = replace(job, sections=rounds.sections)
        scan = _read(send, job, merge_tasks)
        rounds = replace(rounds, scan=scan)
    if job.tells_steps:
        rounds = rounds.with_full_maps(merge_tasks)
        if not rounds.fit(scan):  # the last one ends with a full map
            job = replace(job, sections=rounds.sections, tells_steps=False)
            scan = _read(send, job, merge_tasks)
    return job, scan, rounds


def _checked(dump: Dump, scan: RoundScan, request: Request) -> list[str]:
    """Remarks on a dump that was read. Raises where it cannot be compacted."""
    remarks = check_notes(dump, scan.plan.splits, scan.notes)
    refuse_unmatched(dump.options, log_names(scan.summaries), logs_left_out(scan.notes.values()))
    refuse_crowded_offsets(scan.summaries)
    refuse_doubtful(dump, scan.plan, scan.notes, request)
    return remarks


def _may_fill_maps(dump: Dump, policy: Policy) -> bool:
    """Whether a map may well get full; how many keys there are is known when the work is nearly done."""
    limit = map_limit(policy)
    return limit is not None and limit * _RECORDS_PER_KEY * TYPICAL_RECORD_BYTES < dump.data_bytes


def notes_of(cleanings: Mapping[int, LogCleaning], names: Mapping[int, tuple[str, int]]) -> list[str]:
    """The notes on each log, by topic and partition."""
    by_name = sorted((LogName(*names[i]), log) for i, log in cleanings.items())
    return [f"{name}: {text}" for name, log in by_name for text in log.notes]


def _job(request: Request, plan: IndexPlan, sections: Sections) -> PlainJob:
    return PlainJob(
        plan,
        request.workplace,
        request.copier,
        request.renderings.removed_keys,
        request.renderings.gaps,
        sections=sections,
    )


def _read(send: Send, job: PlainJob, merge_tasks: int) -> RoundScan:
    plan, sections = job.plan, job.sections or Sections()
    grouped = send(len(plan.tasks), merge_tasks, lambda task: send_groups(job, task, merge_tasks))
    blocks = grouped.driver_blocks()
    summaries, notes = unpacked(block.content for block in blocks if block.kind == SUMMARIES)
    figures = [pickle.loads(block.content) for block in blocks if block.kind == SECTIONS]  # noqa: S301  pickled by send_groups
    return RoundScan(plan, sections, grouped, summaries, notes, figures)


def _known_before(request: Request) -> Sections:
    """The bounds as far as they are known before the dump is read."""
    state = request.beside.state
    is_full_dump = state is not None and state.missing is not None  # if it fits, it is cleaned from its start
    checkpoint = {} if is_full_dump else request.beside.context.checkpoint
    known = state.state.records if state is not None and is_full_dump else {}
    lookup = lookup_for(LogContext(), request.policy_of(""))  # the lag is that of every topic
    return Sections(
        {log_id_of(*log): offset for log, offset in checkpoint.items()},
        young_from_ms=lookup.young_from_ms,
        known_offsets={
            log_id_of(*log): tuple(record.offset for record in of_log) for log, of_log in known.items()
        },
    )


def _is_simple(scan: RoundScan, file_ids: Mapping[int, int]) -> bool:
    """Whether there are only records with keys, each offset once, in order."""
    return not (
        not scan.summaries
        or any(part.null_keys for part in scan.summaries)
        or any(task.control_records for task in scan.figures)
        or overlapping(scan.summaries)
        or unsorted_files(scan.summaries, file_ids)
    )


@dataclass(frozen=True)
class _Rounds:
    """The rounds of each log, by log id. ``scan`` has merged what the bounds say, or more."""

    scan: RoundScan
    contexts: Mapping[int, LogContext]
    policies: Mapping[int, Policy]
    full_maps: Mapping[int, FullMaps] = field(default_factory=dict)

    @cached_property
    def lookups(self) -> dict[int, Lookup]:
        return {i: lookup_for(self.contexts[i], policy) for i, policy in self.policies.items()}

    @cached_property
    def cases(self) -> dict[int, LogCase]:
        return {i: self._case(i, log) for i, log in self.scan.logs.items()}

    def _case(self, log_id: int, log: LogSections) -> LogCase:
        case = case_of(self.contexts[log_id], self.policies[log_id], Survey(log.records()), None)
        return with_cleanable_bytes(case, log.dirty_log_bytes) if bound_cuts_bytes(case) else case

    @cached_property
    def spans(self) -> dict[int, list[RoundSpan]]:
        known = self.full_maps
        return {i: known[i].spans if i in known else spans_of_case(c, None) for i, c in self.cases.items()}

    @cached_property
    def sections(self) -> Sections:
        """The bounds, now that they are known."""
        ends = {i: spans[-1].next_offset if spans else 0 for i, spans in self.spans.items()}
        starts = {i: lookup.first_dirty_offset for i, lookup in self.lookups.items()}
        return replace(self.scan.sections, first_dirty_offsets=starts, first_uncleanable_offsets=ends)

    def fit(self, scan: RoundScan) -> bool:
        """Whether all records were merged, and only those, that lie within the bounds."""
        taken, known = scan.sections.first_dirty_offsets, self.sections
        return all(
            taken.get(i, 0) == known.first_dirty_offsets[i]
            and log.last_dirty_offset < (known.first_uncleanable_offsets or {})[i]
            for i, log in scan.logs.items()
        )

    def with_full_maps(self, merge_tasks: int) -> "_Rounds":
        """The same, once it is known where full maps end rounds."""
        cases = {i: case for i, case in self.cases.items() if needs_scan(case)}
        return replace(
            self, full_maps=find_full_maps(self.scan, merge_tasks, self.sections, cases, self.lookups)
        )

    def merging(self, *, has_state: bool) -> RoundMerge:
        plans = {i: plan_of(case, self.spans[i], 0) for i, case in self.cases.items()}
        return RoundMerge(self.scan.names, self.sections, plans, self.lookups, has_state)

    def tallies(self, merged: Sequence[pa.Table]) -> dict[int, list[Tally]]:
        """Of all records: those that were merged away are what steps tell, or is missing from the whole."""
        tallies = tallies_in(merged)
        for log_id, case in self.cases.items():
            if log_id in self.full_maps:
                tallies[log_id] += self.full_maps[log_id].superseded(tallies[log_id])
            whole, counted = case.survey.whole, tallies[log_id]
            records = whole.records - sum(tally.records for tally in counted)
            if records:
                log_bytes = whole.log_bytes - sum(tally.log_bytes for tally in counted)
                tallies[log_id] = [*counted, _superseded(records, log_bytes)]
        return tallies

    def may_fill_a_map(self, tallies: Mapping[int, Sequence[Tally]]) -> bool:
        return any(
            needs_scan(case) and map_entries(tallies[i], 1) >= scan_limits(case).map_limit
            for i, case in self.cases.items()
        )

    def cleanings(self, tallies: Mapping[int, Sequence[Tally]]) -> dict[int, LogCleaning]:
        cleanings = {}
        for log_id, case in self.cases.items():
            played = play_rounds(case, self.spans[log_id], tallies[log_id])
            retained = Retained((), case.bounds.log_start_offset)
            cleanings[log_id] = outcome_of(case, played, tallies[log_id], retained)
        return cleanings


def _superseded(records: int, log_bytes: int) -> Tally:
    """Records of the dirty section that a later one there supersedes; they open no entry of their own."""
    return Tally(
        segment_base_offset=NO_SEGMENT,
        rewritten_round=1,
        round=1,
        verdict=Verdict.SUPERSEDED,
        entry_round=0,
        stamped=False,
        in_range=True,
        tombstone=False,
        records=records,
        log_bytes=log_bytes,
        stamped_log_bytes=log_bytes,
        largest_timestamp_ms=-1,
        first_offset=-1,
        first_timestamp_ms=-1,
    )
