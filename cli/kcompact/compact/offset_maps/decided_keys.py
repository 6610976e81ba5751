"""Decides by key: of the records that a round may clean, the latest one of each key stays.

Where nothing is known beside the dump, the whole of each log is dirty. Otherwise a checkpoint, a state, a
minimum lag and the size of the offset map bound the rounds. A task merges by key the records that it takes to
be dirty, by what is known before reading: the checkpoint, and its own first record that is too young. If the
whole dump shows other bounds, it is read once more with these.

Several rounds leave the same records as one round that ends where the last of them does. So where maps get
full, there are only two more questions: where rounds end, and which records went in which round.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import pyarrow as pa

from kcompact.broker.log_context import LogContext
from kcompact.cleaner.by_tallies import played
from kcompact.cleaner.cleaning import bound_cuts_bytes
from kcompact.cleaner.log_case import (
    LogCase,
    case_of,
    needs_scan,
    scan_limits,
    spans_of_case,
    with_cleanable_bytes,
)
from kcompact.cleaner.round_loop import plan_of
from kcompact.cleaner.tracked import INDEXED
from kcompact.cleaner.verdict_tallies import Tally, map_entries, tallies_in
from kcompact.compact.context.log_contexts import log_contexts
from kcompact.compact.offset_maps.full_maps import FullMaps, find_full_maps
from kcompact.compact.offset_maps.key_groups import HowToRead, KeyScan, read_keys
from kcompact.compact.offset_maps.latest_records import LatestRecords
from kcompact.compact.offset_maps.round_merge import RoundMerge
from kcompact.compact.offset_maps.sections import LogSections, Sections
from kcompact.compact.output.stages import Decide, DecidedStages, decided_by_task, figures_in
from kcompact.compact.request import Decided, Request, job_for, refuse_doubtful, refuse_null_keys
from kcompact.compact.whole_logs.record_index import TYPICAL_RECORD_BYTES
from kcompact.dumps.dump import Dump
from kcompact.dumps.records.record import log_id_of
from kcompact.engine.passes.index_pass import IndexPlan
from kcompact.engine.passes.summaries import merged
from kcompact.engine.shuffle import Send
from kcompact.rules.capacity import map_limit
from kcompact.rules.cleaned_log import UNKNOWN_SIZES, LogCleaning
from kcompact.rules.lookups import NO_SEGMENT, Lookup, lookup_for
from kcompact.rules.policy import Policy
from kcompact.rules.rounds import RoundSpan
from kcompact.rules.verdicts import Verdict

_RECORDS_PER_KEY = 10  # of a topic that is worth compacting


def decide_by_key(
    send: Send, dump: Dump, request: Request, plan: IndexPlan, merge_tasks: int
) -> Decided | None:
    """The dump decided by key, or None if it has to be decided by record."""
    sections, tells_steps = _known_before(request), _may_fill_maps(dump, request.policy)
    if sections is not None or request.tells_sizes:
        plan = replace(plan, extra=INDEXED)
    return _decide(send, dump, request, HowToRead(plan, merge_tasks, sections, tells_steps))


def _decide(send: Send, dump: Dump, request: Request, reading: HowToRead) -> Decided | None:
    scan = read_keys(send, dump, reading)
    refuse_doubtful(dump, scan.notes, request)
    if reading.sections is None:  # all records without a key would be removed
        refuse_null_keys(scan, request.policy, sum(part.null_keys for part in scan.summaries))
    if not _is_simple(scan, request.policy):
        return None
    contexts, assumed = log_contexts(send, scan, request.beside, request.folder)
    scan, rounds = _bounded(send, dump, _Rounds(scan, contexts, request.policies_of(scan)))
    job = job_for(request, scan)
    decide = rounds.merging(has_state=request.beside.state is not None)
    by_task = decided_by_task(scan.keyed, job, decide)
    tallies = rounds.tallies(figures_in(by_task.driver_blocks()).tallies)
    if not reading.tells_steps and rounds.may_fill_a_map(tallies):
        return _decide(send, dump, request, replace(reading, tells_steps=True))
    return Decided(scan, job, DecidedStages(by_task), rounds.cleanings(tallies), assumed)


def _bounded(send: Send, dump: Dump, rounds: "_Rounds") -> tuple[KeyScan, "_Rounds"]:
    """The dump and its rounds, read again, where necessary, with the bounds of all rounds."""
    scan = rounds.scan
    if not rounds.fit(scan):
        scan = read_keys(send, dump, replace(scan.reading, sections=rounds.sections))
        rounds = replace(rounds, scan=scan)
    if scan.reading.tells_steps:
        rounds = rounds.with_full_maps()
        if not rounds.fit(scan):  # the last round ends with a full map, before the end of the section
            reading = replace(scan.reading, sections=rounds.sections, tells_steps=False)
            scan = read_keys(send, dump, reading)
    return scan, rounds


def _may_fill_maps(dump: Dump, policy: Policy) -> bool:
    """Whether a map may well get full. The number of keys is not known until the work is nearly done."""
    limit = map_limit(policy)
    return limit is not None and limit * _RECORDS_PER_KEY * TYPICAL_RECORD_BYTES < dump.data_bytes


def _known_before(request: Request) -> Sections | None:
    """The bounds as far as they are known before the dump is read, or None if there are none."""
    state, lookup = request.beside.state, lookup_for(LogContext(), request.policy)
    is_bounded = lookup.young_from_ms is not None or map_limit(request.policy) is not None
    if state is None and request.beside.context.is_empty and not is_bounded:
        return None
    # Logs that are given anew are cleaned from their start, if they fit the state.
    anew = state.logs_given_anew if state is not None else frozenset()
    records = state.state.records if state is not None else {}
    checkpoint = request.beside.context.checkpoint
    return Sections(
        {log_id_of(*log): offset for log, offset in checkpoint.items() if log not in anew},
        young_from_ms=lookup.young_from_ms,  # the lag is that of every topic
        known_offsets={
            log_id_of(*log): tuple(record.offset for record in of_log)
            for log, of_log in records.items()
            if log in anew
        },
    )


def _is_simple(scan: KeyScan, policy: Policy) -> bool:
    """Whether the dump can be decided by key.

    Only records with keys stay, there are no control records, and offsets occur once and in order.
    """
    loses_keyless = scan.reading.sections is None and policy.null_keys != "keep"
    return bool(scan.summaries) and not (
        (any(part.null_keys for part in scan.summaries) and not loses_keyless)
        or any(task.control_records for task in scan.figures)
        or not scan.is_in_order
    )


@dataclass(frozen=True)
class _Rounds:
    """The rounds of each log, by log id. ``scan`` has merged the records within the bounds, or more."""

    scan: KeyScan
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
        case = case_of(self.contexts[log_id], self.policies[log_id], log.records(), None)
        return with_cleanable_bytes(case, log.dirty["log_bytes"]) if bound_cuts_bytes(case) else case

    @cached_property
    def spans(self) -> dict[int, list[RoundSpan]]:
        known = self.full_maps
        return {i: known[i].spans if i in known else spans_of_case(c, None) for i, c in self.cases.items()}

    @cached_property
    def sections(self) -> Sections:
        """The bounds of the rounds, as the whole dump shows them."""
        ends = {i: spans[-1].next_offset if spans else 0 for i, spans in self.spans.items()}
        starts = {i: lookup.first_dirty_offset for i, lookup in self.lookups.items()}
        return replace(
            self.scan.sections,
            first_dirty_offsets=starts,
            first_uncleanable_offsets=ends,
        )

    @cached_property
    def keyless(self) -> dict[int, int]:
        """How many records without a key each log has. If there are any, all of them go."""
        return {i: whole.null_keys for i, whole in merged(self.scan.summaries).items()}

    def fit(self, scan: KeyScan) -> bool:
        """Whether exactly the records within the bounds were merged."""
        taken, known = scan.sections.first_dirty_offsets, self.sections
        return all(
            taken.get(i, 0) == known.first_dirty_offsets[i]
            and log.dirty["last_offset"] < (known.first_uncleanable_offsets or {})[i]
            for i, log in scan.logs.items()
        )

    def with_full_maps(self) -> "_Rounds":
        """A copy that knows where full maps end rounds."""
        cases = {i: case for i, case in self.cases.items() if needs_scan(case)}
        return replace(self, full_maps=find_full_maps(self.scan, self.sections, cases, self.lookups))

    def merging(self, *, has_state: bool) -> Decide:
        """The function with which each merge task decides."""
        reading = self.scan.reading
        if reading.sections is None:
            return LatestRecords(reading, self.scan.names, self.policies).decide
        plans = {i: plan_of(case, self.spans[i], 0) for i, case in self.cases.items()}
        return RoundMerge(reading, self.scan.names, self.sections, plans, self.lookups, has_state).decide

    def tallies(self, of_keys: Sequence[pa.Table]) -> dict[int, list[Tally]]:
        """The tallies of all records, by log id.

        ``of_keys`` lacks the records that were merged into later ones. They are tallied from the steps, where
        maps get full, else as the difference to the whole log.
        """
        tallies = defaultdict(list, tallies_in(of_keys) if of_keys else {})
        for log_id, case in self.cases.items():
            if log_id in self.full_maps:
                tallies[log_id] += self.full_maps[log_id].superseded(tallies[log_id])
            whole, counted = case.records, tallies[log_id]
            records = whole.records - sum(tally.records for tally in counted)
            if records:
                log_bytes = whole.log_bytes - sum(tally.log_bytes for tally in counted)
                keyless = self.keyless[log_id]
                merged_away = _gone(Verdict.SUPERSEDED, records - keyless, log_bytes)
                # All these go in the same round, so all their bytes may count with the superseded ones.
                tallies[log_id] = [*counted, merged_away, _gone(Verdict.KEYLESS, keyless, 0)]
        return tallies

    def may_fill_a_map(self, tallies: Mapping[int, Sequence[Tally]]) -> bool:
        return any(
            needs_scan(case) and map_entries(tallies[i], 1) >= scan_limits(case).map_limit
            for i, case in self.cases.items()
        )

    def cleanings(self, tallies: Mapping[int, Sequence[Tally]]) -> dict[int, LogCleaning]:
        logs = played(self.cases, self.spans, tallies)
        cleanings = {i: log.cleaning(log.case.bounds.log_start_offset) for i, log in logs.items()}
        return cleanings if self.scan.reading.tells_sizes else _without_sizes(cleanings)


def _without_sizes(cleanings: Mapping[int, LogCleaning]) -> dict[int, LogCleaning]:
    """The cleanings with unknown sizes, as no value was read. Zeros would look like measured figures."""
    return {
        i: replace(log, rounds=tuple(replace(of_log, sizes=UNKNOWN_SIZES) for of_log in log.rounds))
        for i, log in cleanings.items()
    }


def _gone(verdict: Verdict, records: int, log_bytes: int) -> Tally:
    """A tally of records that the first round removes from its dirty section. They add no map entries."""
    return Tally(
        segment_base_offset=NO_SEGMENT,
        rewritten_round=1,
        round=1,
        verdict=verdict,
        entry_round=0,
        stamped=False,
        in_range=True,
        tombstone=False,
        records=records,
        log_bytes=log_bytes,
        stamped_log_bytes=log_bytes,
    )
