"""The rounds of logs whose batches are not known: each record counts as a batch of its own (L9).

The figures of a round are computed from tallies, without reading the records again.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter

from kcompact.cleaner.log_case import LogCase
from kcompact.cleaner.round_loop import LogInRounds, RoundResult, play_rounds, sizes_of
from kcompact.cleaner.verdict_tallies import Tally, map_entries, messages_of_round, removed_in_all
from kcompact.rules.assumptions import marker_note, overtaken_note, retention_note
from kcompact.rules.cleaned_log import LogCleaning, RoundSizes, horizons_after
from kcompact.rules.files.segments import SegmentState, estimated_index_bytes, group_segments
from kcompact.rules.ratio import compaction_delay_ms, segmented_ratio
from kcompact.rules.rounds import RoundSpan
from kcompact.rules.verdicts import Verdict


@dataclass
class TalliedLog(LogInRounds):
    """One log between rounds, its records counted by their fate.

    ``planned`` holds the rounds that the map's limit makes. They end early at a round that is not due, where
    the dirty ratio is respected, or where retention has overtaken the cleaner.
    """

    planned: Sequence[RoundSpan]
    tallies: Sequence[Tally]
    _left: list[Tally] = field(init=False)  # of records that retention has not deleted
    _by_base: dict[int, list[Tally]] = field(init=False)  # by base offset of the segment before all rounds
    _bytes_by_base: dict[int, int] = field(init=False)  # sizes of the segments before all rounds
    _origins: dict[int, tuple[int, ...]] = field(init=False)  # by base offset: the segments merged into it

    def __post_init__(self) -> None:
        super().__post_init__()
        self._left = [tally for tally in self.tallies if tally.verdict != Verdict.REPEATED]
        self._by_base = defaultdict(list)
        for tally in self._left:
            self._by_base[tally.segment_base_offset].append(tally)
        segments = self.case.segments or ()
        self._bytes_by_base = {segment.base_offset: segment.size_bytes for segment in segments}
        self._origins = {base: (base,) for base in self._bytes_by_base}

    def next_span(self) -> RoundSpan | None:
        """The next round, or None if the rounds are over."""
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

    def rewrite(self, span: RoundSpan) -> RoundResult:
        """The work of a round, and the segments that it leaves."""
        number = len(self.rounds) + 1
        segments = None if self.segments is None else self._rewritten(self.segments, span, number)
        entries = map_entries(self._left, number) if span.map_entries is None else span.map_entries
        counts, sizes = messages_of_round(self._left, number), self._sizes(segments, span, number)
        return self.round_of(span, entries, counts, sizes), segments

    def _rewritten(
        self, before: tuple[SegmentState, ...], span: RoundSpan, number: int
    ) -> tuple[SegmentState, ...]:
        """The segments after a round, which rewrites and merges those below its next offset (R41, R42)."""
        policy, origins = self.case.policy, self._origins
        old = [state for state in before if state.base_offset < span.next_offset]
        behind = before[len(old) :]
        self._origins = {state.base_offset: origins.get(state.base_offset, ()) for state in behind}
        merged: list[SegmentState] = []
        for group in group_segments(old, policy, self.case.range.first_uncleanable_offset):
            bases = tuple(base for state in group for base in origins.get(state.base_offset, ()))
            self._origins[group[0].base_offset] = bases
            merged.append(self._merged(group, bases, number))
        return (*merged, *behind)

    def _merged(self, group: Sequence[SegmentState], origins: Sequence[int], number: int) -> SegmentState:
        """The segment into which a round merges a group (R42). ``origins``: bases before all rounds.

        It has the base of the first segment, and the file time of the last one.
        """
        survivors = [t for base in origins for t in self._by_base[base] if t.is_left_after(number)]
        size_bytes = sum(self._size_after(base, number) for base in origins)
        records = sum(t.records for t in survivors)
        first = min(survivors, key=attrgetter("first_offset"), default=None)
        offset_index, time_index = estimated_index_bytes(records, size_bytes, self.case.policy)
        return replace(
            group[0],
            size_bytes=size_bytes,
            largest_timestamp_ms=max((t.largest_timestamp_ms for t in survivors), default=-1),
            first_batch_timestamp_ms=first.first_timestamp_ms if first else -1,
            mtime_ms=group[-1].mtime_ms,
            offset_index_bytes=offset_index,
            time_index_bytes=time_index,
        )

    def _size_after(self, base_offset: int, number: int) -> int:
        """Bytes that a round leaves of a segment as it was before all rounds.

        The known size of the segment is trusted; the tallies tell which share of it is left.
        """
        of_segment = self._by_base[base_offset]
        size_bytes = self._bytes_by_base[base_offset]
        estimate = sum(t.log_bytes for t in of_segment)
        after = sum(t.bytes_after(number) for t in of_segment)
        # Compressed or shared batches make a known file smaller than its records alone would be.
        return after if estimate in (0, size_bytes) else round(size_bytes * after / estimate)

    def _are_bytes_estimated(self) -> bool:
        """Whether a known size is not that of its records alone: batches are compressed, or hold several."""
        alone = {base: sum(t.log_bytes for t in of_segment) for base, of_segment in self._by_base.items()}
        return any(alone.get(base, 0) not in (0, size) for base, size in self._bytes_by_base.items())

    def retain(self) -> None:
        """See ``LogInRounds``; the records of deleted segments are gone."""
        super().retain()
        if self.segments is not None:
            inside = {base for state in self.segments for base in self._origins.get(state.base_offset, ())}
            self._left = [tally for tally in self._left if tally.segment_base_offset in inside]

    def _sizes(self, after: Sequence[SegmentState] | None, span: RoundSpan, number: int) -> RoundSizes:
        if self.segments is None or after is None:
            rewritten = [t for t in self._left if t.is_rewritten_in(number)]
            read = sum(t.bytes_after(number - 1) for t in rewritten)
            return RoundSizes(read, sum(t.bytes_after(number) for t in rewritten))
        return sizes_of(self.segments, after, span)

    def _is_still_due(self, span: RoundSpan, number: int) -> bool:
        """Whether the log is still eligible before a later round (R7)."""
        case = self.case
        if not case.policy.respect_dirty_ratio:
            return True
        if self.segments is not None:
            cleanable = replace(case.range, first_dirty_offset=span.first_dirty_offset)
            ratio = segmented_ratio(self.segments, cleanable, case.policy)
            if ratio.is_near and self._are_bytes_estimated():
                self.near_ratio = ratio
            return ratio.eligible
        in_range = [t for t in self._left if t.in_range]
        clean = sum(t.bytes_after(number - 1) for t in in_range if 0 < t.rewritten_round < number)
        dirty = sum(t.bytes_after(number - 1) for t in in_range) - clean
        dirty_timestamps_ms = [
            t.oldest_timestamp_ms or -1 for t in self._left if not 0 < t.rewritten_round < number
        ]
        return replace(
            case.dirty_ratio,
            clean_bytes=clean,
            cleanable_bytes=dirty,
            compaction_delay_ms=compaction_delay_ms(dirty_timestamps_ms, case.policy),
        ).eligible

    def cleaning(self, log_start_offset: int) -> LogCleaning:
        """The outcome of the log, once it is known where the log starts now."""
        case, policy = self.case, self.case.policy
        if case.segments is None:
            self.notes += retention_note(policy, len(self.rounds))
        self.notes += marker_note(case.records.control_records)
        return self.outcome(
            removed_in_all(self.tallies, len(self.rounds)),
            horizons_after(case.context.horizons, tuple(self.spans), policy.delete_horizon_ms),
            log_start_offset,
            self.segments,
        )


def played(
    cases: Mapping[int, LogCase],
    planned: Mapping[int, Sequence[RoundSpan]],
    tallies: Mapping[int, Sequence[Tally]],
) -> dict[int, TalliedLog]:
    """The logs after all their rounds."""
    logs = {i: TalliedLog(case, planned[i], tallies.get(i, ())) for i, case in cases.items()}

    def next_spans() -> dict[int, RoundSpan]:
        spans = {i: log.next_span() for i, log in logs.items()}
        return {i: span for i, span in spans.items() if span is not None}

    def rewrite(spans: Mapping[int, RoundSpan]) -> dict[int, RoundResult]:
        return {i: logs[i].rewrite(span) for i, span in spans.items()}

    play_rounds(logs, next_spans, rewrite)
    return logs
