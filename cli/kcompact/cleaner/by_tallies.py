"""The rounds of logs whose batches are not known: each record counts as a batch of its own (L9).

What a round does is computed from tallies of records, which need no look at the records.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from kcompact.cleaner.aging import Aging, aging_of
from kcompact.cleaner.log_case import LogCase
from kcompact.cleaner.round_loop import LogInRounds, Rewritten, sizes_of
from kcompact.cleaner.verdict_tallies import Tally, map_entries, messages_of_round, removed_in_all
from kcompact.rules.assumptions import marker_note, overtaken_note, retention_note
from kcompact.rules.cleaned_log import LogCleaning, RoundSizes, horizons_after
from kcompact.rules.files.segments import SegmentState
from kcompact.rules.ratio import segmented_ratio
from kcompact.rules.rounds import RoundSpan
from kcompact.rules.verdicts import Verdict


@dataclass
class TalliedLog(LogInRounds):
    """One log between rounds, its records counted by what happens to them.

    ``planned`` are the rounds that the map's limit makes; where the ratio is respected, one that is not due
    ends them.
    """

    planned: Sequence[RoundSpan]
    tallies: Sequence[Tally]
    _left: list[Tally] = field(init=False)  # those that retention has not taken
    _origins: dict[int, tuple[int, ...]] = field(init=False)  # by base offset: the segments merged into it
    _aging: Aging = field(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        case = self.case
        self._left = [tally for tally in self.tallies if tally.verdict != Verdict.REPEATED]
        self._origins = {base: (base,) for base in case.bases or ()}
        bound = case.range.first_uncleanable_offset
        self._aging = aging_of(case.segments or (), self.tallies, case.policy, bound)

    def next_span(self) -> RoundSpan | None:
        """The next round; None: the rounds are over."""
        number = len(self.rounds) + 1
        if number > len(self.planned):
            return None
        span = self.planned[number - 1]
        if number > 1 and not self._is_still_due(span, number):
            self.planned = self.planned[: number - 1]
            return None
        if self.bounds.log_start_offset > span.first_dirty_offset:
            self.notes.append(overtaken_note(self.bounds.log_start_offset))
            self.planned = self.planned[: number - 1]
            return None
        return span

    def rewrite(self, span: RoundSpan) -> Rewritten:
        """The work of a round."""
        number = len(self.rounds) + 1
        before, segments = self.segments, None
        if before is not None:
            segments, self._origins = self._aging.after_round(before, self._origins, span, number)
        entries = map_entries(self._left, number) if span.map_entries is None else span.map_entries
        sizes = self._sizes(before, segments, span, number)
        return Rewritten(span, entries, messages_of_round(self._left, number), sizes, segments)

    def retain(self) -> None:
        """See ``LogInRounds``; the records of deleted segments are gone."""
        super().retain()
        if self.segments is not None:
            inside = {base for state in self.segments for base in self._origins.get(state.base_offset, ())}
            self._left = [tally for tally in self._left if tally.segment_base_offset in inside]

    def _sizes(
        self,
        before: Sequence[SegmentState] | None,
        after: Sequence[SegmentState] | None,
        span: RoundSpan,
        number: int,
    ) -> RoundSizes:
        if before is None or after is None:
            rewritten = [t for t in self._left if t.is_rewritten_in(number)]
            read = sum(t.bytes_after(number - 1) for t in rewritten)
            return RoundSizes(read, sum(t.bytes_after(number) for t in rewritten))
        return sizes_of(before, after, span)

    def _is_still_due(self, span: RoundSpan, number: int) -> bool:
        """Whether the log is still eligible before a later round (R7)."""
        case = self.case
        if not case.policy.respect_dirty_ratio:
            return True
        if self.segments is not None:
            cleanable = replace(case.range, first_dirty_offset=span.first_dirty_offset)
            return segmented_ratio(self.segments, cleanable, case.policy).eligible
        in_range = [t for t in self._left if t.in_range]
        clean = sum(t.bytes_after(number - 1) for t in in_range if 0 < t.rewritten_round < number)
        dirty = sum(t.bytes_after(number - 1) for t in in_range) - clean
        return replace(case.dirty_ratio, clean_bytes=clean, cleanable_bytes=dirty).eligible

    def cleaning(self, log_start_offset: int) -> LogCleaning:
        """Everything about the log once it is known where it starts now."""
        case, policy = self.case, self.case.policy
        if case.segments is None:
            self.notes += retention_note(policy, len(self.rounds))
        self.notes += marker_note(case.survey.whole.control_records)
        return self.outcome(
            removed_in_all(self.tallies, len(self.rounds)),
            horizons_after(case.context.horizons, tuple(self.spans), policy.delete_horizon_ms),
            log_start_offset,
            self.segments,
        )


@dataclass(frozen=True)
class ByTallies:
    """The way of logs without batches (``round_loop.Way``)."""

    logs: dict[int, TalliedLog]

    def next_spans(self) -> dict[int, RoundSpan]:
        """The next round of each log that has one."""
        spans = {i: log.next_span() for i, log in self.logs.items()}
        return {i: span for i, span in spans.items() if span is not None}

    def rewrite(self, spans: Mapping[int, RoundSpan]) -> dict[int, Rewritten]:
        """The work of these rounds on each log in ``spans``."""
        return {i: self.logs[i].rewrite(span) for i, span in spans.items()}


def by_tallies(
    cases: Mapping[int, LogCase],
    planned: Mapping[int, Sequence[RoundSpan]],
    tallies: Mapping[int, Sequence[Tally]],
) -> ByTallies:
    """Logs before their rounds."""
    return ByTallies({i: TalliedLog(case, planned[i], tallies.get(i, ())) for i, case in cases.items()})


def with_expired(log: LogCleaning, records: int) -> LogCleaning:
    """The log with ``records`` counted as expired: those before its log start offset."""
    return replace(log, removed={**log.removed, Verdict.EXPIRED: records}) if records else log
