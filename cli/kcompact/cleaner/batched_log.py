"""One log whose batches are known, between rounds: its segments, ranges, producers and horizons."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from kcompact.broker.aborted import AbortedRange
from kcompact.broker.delete_horizons import DeleteHorizon
from kcompact.broker.log_context import LogContext
from kcompact.cleaner.batch_shares import Stop, StretchFigures
from kcompact.cleaner.round_loop import LogInRounds, RoundResult, sizes_of
from kcompact.cleaner.survey import Records
from kcompact.rules.assumptions import batch_notes, estimate_note
from kcompact.rules.cleaned_log import LogCleaning, RoundSizes
from kcompact.rules.files.segment_files import known_mtimes, segment_states
from kcompact.rules.files.segments import SegmentState, containing, group_segments
from kcompact.rules.range import CleanableRange, log_bounds, segmented_range
from kcompact.rules.ratio import segmented_ratio
from kcompact.rules.rewriting import Counts, Rewriting
from kcompact.rules.rounds import RoundSpan
from kcompact.rules.transactions import MapStart, ProducerEnds, active_producers, later_ends
from kcompact.rules.verdicts import Verdict


@dataclass(frozen=True)
class OpenedLog:
    """A log before its rounds: its segments and figures, as its batches make them."""

    segments: tuple[SegmentState, ...]
    figures: list[StretchFigures]

    def with_active(self, records: Records, context: LogContext) -> tuple[SegmentState, ...]:
        """The segments. Where each batch counts as a segment, an empty active segment is added."""
        if known_mtimes(context) is not None:
            return self.segments
        bounds = log_bounds(context, records.first_offset, records.last_offset + 1)
        return (*self.segments, SegmentState(bounds.log_end_offset, 0))


@dataclass
class BatchedLog(LogInRounds):
    """One log whose batches are known, between rounds."""

    opened: OpenedLog
    batches_recompressed: int = field(default=0, init=False)
    rewritings: list[Rewriting] = field(default_factory=list, init=False)
    producers: ProducerEnds = field(init=False)
    horizons: list[DeleteHorizon] = field(init=False)
    range: CleanableRange = field(init=False)  # of the next round
    start_offset: int = field(default=0, init=False)  # retention has deleted the batches below
    overlooked: list[AbortedRange] = field(default_factory=list, init=False)  # by its rounds, ascending
    _counted_from: int = field(default=0, init=False)  # the start offset of ``producers`` and ``horizons``

    def __post_init__(self) -> None:
        super().__post_init__()
        self.range = self.case.range
        self.look_at(self.opened.figures)
        self.start_offset = self.case.deleted_before_offset  # the figures also count the batches below it

    @property
    def merges(self) -> bool:
        """Whether rounds merge segments: they do if segments are known; otherwise each batch is a segment."""
        return known_mtimes(self.case.context) is not None

    @property
    def states(self) -> tuple[SegmentState, ...]:
        """The segments now."""
        return self.segments or ()

    @property
    def is_stale(self) -> bool:
        """Whether retention has deleted batches that the last figures still count."""
        return self.start_offset != self._counted_from

    def look_at(self, figures: Sequence[StretchFigures]) -> None:
        """Take the producers and horizons from the figures of the batches that are left now."""
        self.producers, self.horizons = {}, []
        for of_stretch in figures:
            self.producers = later_ends(self.producers, of_stretch.producers)
            for horizon in of_stretch.horizons:
                if self.horizons and self.horizons[-1].delete_horizon_ms == horizon.delete_horizon_ms:
                    self.horizons.pop()
                self.horizons.append(horizon)
        self._counted_from = self.start_offset

    def retain(self) -> None:
        """See ``LogInRounds``; the batches of deleted segments are gone."""
        before = self.states
        super().retain()
        if self.states[0].base_offset != before[0].base_offset:
            self.start_offset = self.states[0].base_offset

    def next_range(self) -> CleanableRange | None:
        """The range of the next round, or None if there is no next round.

        There is none if enough rounds have run, if nothing is dirty, or if the ratio does not ask for it
        (R7).
        """
        policy = self.case.policy
        is_over = policy.rounds is not None and len(self.rounds) >= policy.rounds
        if is_over or "compact" not in policy.cleanup_policy:
            return None
        checkpoint = self.spans[-1].next_offset if self.spans else self.case.context.checkpoint_offset
        self.range = segmented_range(self.states, self.bounds, checkpoint, policy)
        ratio = segmented_ratio(self.states, self.range, policy)
        if self.batches_recompressed and policy.respect_dirty_ratio and ratio.is_near:
            self.near_ratio = ratio
        is_dirty = ratio.cleanable_bytes > 0 and (ratio.eligible or not policy.respect_dirty_ratio)
        return self.range if is_dirty else None

    def stop_at(self, offset: int) -> Stop:
        """The ``Stop`` at a record that finds the map full."""
        at = containing([state.base_offset for state in self.states], offset)
        return Stop(self.states[at].base_offset if at else self.start_offset, offset)

    def map_start(self, first_dirty_offset: int) -> MapStart | None:
        """Where a round begins to fill its map, or None if that is not within a segment, but at its base."""
        segment = self.states[containing([state.base_offset for state in self.states], first_dirty_offset)]
        start = MapStart(segment.base_offset, first_dirty_offset, self.bounds.log_start_offset)
        return start if first_dirty_offset > start.segment_base_offset else None

    def overlook(
        self, first_dirty_offset: int, ranges: Sequence[AbortedRange]
    ) -> Sequence[AbortedRange] | None:
        """Note that the round that begins at ``first_dirty_offset`` overlooks ``ranges``.

        Returns all that the rounds up to this one overlook, or None if that has not changed.
        """
        earlier = [
            AbortedRange(run.first_offset, min(run.last_offset, first_dirty_offset - 1))
            for run in self.overlooked
            if run.first_offset < first_dirty_offset
        ]
        before, self.overlooked = self.overlooked, [*earlier, *ranges]
        return None if before == self.overlooked else self.overlooked

    def begin_round(self, span: RoundSpan) -> tuple[SegmentState, ...]:
        """Begin a round, and return the segments as it merges them (R16, R41, R42).

        Their bases and file times are those after the round; their sizes are not yet known.
        """
        policy, number = self.case.policy, len(self.rounds) + 1
        producers = active_producers(self.producers, policy.now_ms, policy.producer_id_expiration_ms)
        self.rewritings.append(
            Rewriting(
                number,
                self.start_offset,
                span.next_offset,
                span.rewritten_end_offset,
                policy.now_ms,
                policy.delete_horizon_ms,
                producers,
            )
        )
        old = [state for state in self.states if state.base_offset < span.next_offset]
        groups = [[state] for state in old]
        if self.merges:
            groups = group_segments(old, policy, self.range.first_uncleanable_offset)
        merged = (replace(group[0], mtime_ms=group[-1].mtime_ms) for group in groups)
        return (*merged, *self.states[len(old) :])

    def round_result(
        self, span: RoundSpan, merged: Sequence[SegmentState], figures: Sequence[StretchFigures]
    ) -> RoundResult:
        """The work of the round that has begun, and the segments that it leaves."""
        counts, number = Counts(), len(self.rounds) + 1
        for of_stretch in figures:
            counts.add(of_stretch.counts)
        if span.map_entries is None:
            span = replace(span, map_entries=sum(of_stretch.map_entries for of_stretch in figures))
        self.markers |= dict.fromkeys(counts.markers_gone, number)
        self.batches_recompressed += counts.batches_recompressed
        contents = [content for of_stretch in figures for content in of_stretch.contents]
        states = segment_states(contents, {state.base_offset: state.mtime_ms for state in merged})
        sizes = sizes_of(self.states, states, span)
        if not self.merges:
            sizes = RoundSizes(sizes.bytes_read, sizes.bytes_written)
        self.look_at(figures)
        return self.round_of(span, span.map_entries or 0, counts, sizes), tuple(states)

    def cleaning(self, removed: Counter[Verdict]) -> LogCleaning:
        """The outcome of the log, once its rounds are over. ``removed`` counts its data records that go."""
        if self.markers:
            removed[Verdict.EXPIRED_MARKER] = len(self.markers)
        figures = self.opened.figures
        self.notes += batch_notes(
            sum(of_stretch.opening.unseen_records for of_stretch in figures),
            sum(of_stretch.opening.records_alone for of_stretch in figures),
        )
        self.notes += estimate_note(self.case.policy, self.batches_recompressed)
        # Remembered horizons stay even if their tombstones are gone: a full dump may bring these back.
        remembered = self.case.context.horizons
        known_end = remembered[-1].rewritten_end_offset if remembered else 0
        horizons = (*remembered, *(h for h in self.horizons if h.rewritten_end_offset > known_end))
        return self.outcome(
            removed,
            tuple(h for h in horizons if h.rewritten_end_offset > self.start_offset),
            self.bounds.log_start_offset,
            self.segments if self.merges else None,
        )
