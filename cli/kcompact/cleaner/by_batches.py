"""The rounds of logs whose batches are known: exact down to markers, empty batches and bytes."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from kcompact.broker.batches import ABORT
from kcompact.broker.log_context import LogContext
from kcompact.cleaner.batch_shares import LogRounds, Parts, StretchFigures, play_on_shares
from kcompact.cleaner.batched_log import BatchedLog, OpenedLog
from kcompact.cleaner.ordered_scans import scan_maps
from kcompact.cleaner.round_loop import RoundResult, plan_of
from kcompact.cleaner.shares import slices_by_log
from kcompact.cleaner.tracked import Tracked, track
from kcompact.rules.capacity import map_limit
from kcompact.rules.cleaned_log import LogCleaning
from kcompact.rules.decisions import Plan
from kcompact.rules.files.segment_files import known_mtimes, segment_states
from kcompact.rules.files.segments import SegmentState
from kcompact.rules.lookups import Lookup
from kcompact.rules.policy import Policy
from kcompact.rules.range import CleanableRange
from kcompact.rules.rewriting import log_rows
from kcompact.rules.rounds import RoundSpan, ScanLimits, rewritten_end
from kcompact.rules.transactions import OverlookedData
from kcompact.rules.verdicts import Rounds, Verdict, decide


def open_logs(
    tracked: Tracked, parts: Parts, contexts: Mapping[int, LogContext], policies: Mapping[int, Policy]
) -> dict[int, OpenedLog]:
    """The logs in ``parts`` before their rounds, in one pass over them."""
    logs = {i: _unplayed(contexts[i], policies[i], tracked.lookups[i]) for i in parts}
    opened = {}
    for i, figures in play_on_shares(tracked, parts, logs).items():
        contents = [content for of_stretch in figures for content in of_stretch.contents]
        mtimes_ms = known_mtimes(contexts[i]) or dict.fromkeys(c.base_offset for c in contents)
        opened[i] = OpenedLog(tuple(segment_states(contents, mtimes_ms)), figures)
    return opened


def _unplayed(context: LogContext, policy: Policy, lookup: Lookup) -> LogRounds:
    mtimes_ms = known_mtimes(context)
    return LogRounds(
        rewritings=(),
        start_offset=0,
        first_dirty_offset=0,
        rounds=Rounds(),
        bases=None if mtimes_ms is None else np.array(list(mtimes_ms), np.int64),
        interval_bytes=policy.index_interval_bytes,
        lookup=lookup,
    )


@dataclass
class ByBatches:
    """The rounds of logs whose batches are known, one after another."""

    tracked: Tracked
    parts: Parts
    logs: dict[int, BatchedLog]

    def next_spans(self) -> dict[int, RoundSpan]:
        """The next round of each log that has one."""
        ranges = {i: log.next_range() for i, log in self.logs.items()}
        due = {i: cleanable for i, cleanable in ranges.items() if cleanable is not None}
        self._overlook({i: cleanable.first_dirty_offset for i, cleanable in due.items()})
        full = self._full_maps(due)
        spans = {}
        for i, cleanable in due.items():
            bound = cleanable.first_uncleanable_offset
            next_offset, entries = full.get(i, (bound, None))
            bases = [state.base_offset for state in self.logs[i].states]
            spans[i] = RoundSpan(
                cleanable.first_dirty_offset,
                next_offset,
                rewritten_end(next_offset, bases),
                entries,
                map_is_full=next_offset < bound,
            )
        return spans

    def _overlook(self, starts: Mapping[int, int]) -> None:
        """Find the data that the rounds overlook that begin at ``starts`` (offsets by log id).

        Links depend on them, so the rows are tracked anew where that has changed.
        """
        asked = {i: start for i, offset in starts.items() if (start := self.logs[i].map_start(offset))}
        asked = {i: start for i, start in asked.items() if self._has_aborts(i)}
        rounds = {
            i: replace(of_log, overlooked=OverlookedData(asked[i], of_log.interval_bytes))
            for i, of_log in ((i, self._rounds(i)) for i in asked)
        }
        figures = self._play(rounds)
        now = {i: [run for of_stretch in figures[i] for run in of_stretch.overlooked] for i in asked}
        overlooked = {i: self.logs[i].overlook(starts[i], now.get(i, [])) for i in starts}
        changed = {i: ranges for i, ranges in overlooked.items() if ranges is not None}
        if changed:
            lookups = {i: self.tracked.lookups[i].overlooking(ranges) for i, ranges in changed.items()}
            lookups = {**self.tracked.lookups, **lookups}
            self.tracked = track(self.tracked.keyed, self.tracked.shares, lookups)

    def _has_aborts(self, log_id: int) -> bool:
        """Whether a batch of the log is an abort marker."""
        packed = (of_share for of_share in self.parts[log_id].values() if of_share is not None)
        return any((part.marker == ABORT).any() for of_share in packed for part in of_share.parts())

    def _full_maps(self, ranges: Mapping[int, CleanableRange]) -> dict[int, tuple[int, int]]:
        """The next first dirty offset and the entries of each map that gets full, by log id (R12 to R15).

        See ``Cleaner.buildOffsetMap``.
        """
        limits = {}
        for i, cleanable in ranges.items():
            limit = map_limit(self.logs[i].case.policy)
            if limit is not None and self.logs[i].case.records.mapped_records > limit:
                bound = cleanable.first_uncleanable_offset
                limits[i] = ScanLimits(cleanable.first_dirty_offset, bound, limit, 1)
        scans = scan_maps(self.tracked, limits)
        full = {i: scan.full[0] for i, scan in scans.items() if scan.full}
        stops = {i: self.logs[i].stop_at(stop.stop_offset) for i, stop in full.items()}
        figures = self._play({i: replace(self._rounds(i), stop=stop) for i, stop in stops.items()})
        ends = {}
        for i, stop in full.items():
            whole = max(of_stretch.last_whole_offset for of_stretch in figures[i])
            # R14: the last entry, the end of the last batch read whole, or the offset before the segment.
            end = max(stop.last_put_offset, whole, stops[i].segment_base_offset - 1)
            ends[i] = (end + 1, limits[i].map_limit)
        return ends

    def rewrite(self, spans: Mapping[int, RoundSpan]) -> dict[int, RoundResult]:
        """Play one round on each log in ``spans``, and return its work."""
        stale = self._play({i: self._rounds(i) for i in spans if self.logs[i].is_stale})
        for i, figures in stale.items():
            self.logs[i].look_at(figures)
        merged = {i: self.logs[i].begin_round(span) for i, span in spans.items()}
        played = self._play({i: self._rounds(i, span, merged[i]) for i, span in spans.items()})
        return {i: self.logs[i].round_result(spans[i], merged[i], figures) for i, figures in played.items()}

    def _rounds(
        self, log_id: int, span: RoundSpan | None = None, segments: Sequence[SegmentState] = ()
    ) -> LogRounds:
        """All rounds of a log so far, and the round of ``span``, if that has begun.

        ``segments`` are those that this round leaves.
        """
        log = self.logs[log_id]
        spans = log.spans if span is None else [*log.spans, span]
        plan = plan_of(log.case, spans, 0, log.markers)
        return LogRounds(
            rewritings=tuple(log.rewritings),
            start_offset=log.start_offset,
            first_dirty_offset=spans[-1].first_dirty_offset if spans else 0,
            rounds=plan.rounds,
            bases=np.array([state.base_offset for state in segments or log.states], np.int64),
            interval_bytes=log.case.policy.index_interval_bytes,
            lookup=self.tracked.lookups[log_id],
        )

    def _play(self, logs: Mapping[int, LogRounds]) -> dict[int, list[StretchFigures]]:
        return play_on_shares(self.tracked, self.parts, logs) if logs else {}

    def cleanings(self) -> tuple[dict[int, LogCleaning], dict[int, Plan]]:
        """The outcome and the plan of each log, once its rounds are over."""
        plans = {i: log.plan(log.bounds.log_start_offset) for i, log in self.logs.items()}
        removed = removed_by(self.tracked, plans)
        return {i: log.cleaning(removed[i]) for i, log in self.logs.items()}, plans


def removed_by(tracked: Tracked, plans: Mapping[int, Plan]) -> dict[int, Counter[Verdict]]:
    """How many data records of each log in ``plans`` go, by reason, without repeated ones, in one stage."""

    def count(rows: pa.Table) -> dict[int, dict[int, int]]:
        return {
            i: dict(enumerate(np.bincount(decide(log_rows(part).rows, plans[i].rounds).verdict).tolist()))
            for i, part in slices_by_log(rows)
            if i in plans
        }

    removed: dict[int, Counter[Verdict]] = {i: Counter() for i in plans}
    for share in tracked.each(count):
        for i, by_verdict in share.items():
            removed[i].update({Verdict(reason): records for reason, records in by_verdict.items() if records})
    for of_log in removed.values():
        del of_log[Verdict.RETAINED]
    return removed
