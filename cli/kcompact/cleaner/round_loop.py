"""The loop that plays all rounds of all logs, whether they are computed from tallies or from batches."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from kcompact.broker.delete_horizons import DeleteHorizon
from kcompact.cleaner.log_case import LogCase
from kcompact.rules.assumptions import idle_note, range_notes, ratio_note
from kcompact.rules.capacity import utilization
from kcompact.rules.cleaned_log import LogCleaning, Round, RoundSizes, checkpoint_after, without_past_ends
from kcompact.rules.decisions import Plan
from kcompact.rules.files.retention import delete_old_segments
from kcompact.rules.files.segments import SegmentState
from kcompact.rules.lookups import aborted_data
from kcompact.rules.range import LogBounds
from kcompact.rules.ratio import DirtyRatio
from kcompact.rules.rewriting import Counts
from kcompact.rules.rounds import RoundSpan
from kcompact.rules.verdicts import Rounds, Verdict

RoundResult = tuple[Round, tuple[SegmentState, ...] | None]
"""The work of a round, and the segments that it left (None: each record is its own segment)."""


@dataclass
class LogInRounds:
    """One log between rounds."""

    case: LogCase  # before the first round
    bounds: LogBounds = field(init=False)
    segments: tuple[SegmentState, ...] | None = field(init=False)  # None: each record is a segment
    spans: list[RoundSpan] = field(default_factory=list, init=False)
    rounds: list[Round] = field(default_factory=list, init=False)
    notes: list[str] = field(default_factory=list, init=False)
    markers: dict[int, int] = field(default_factory=dict, init=False)  # offset -> round in which it went
    near_ratio: DirtyRatio | None = field(default=None, init=False)  # of estimated bytes, decided on a round

    def __post_init__(self) -> None:
        self.bounds, self.segments = self.case.bounds, self.case.segments

    def round_of(self, span: RoundSpan, map_entries: int, counts: Counts, sizes: RoundSizes) -> Round:
        """The figures of a round under this log's policy."""
        policy = self.case.policy
        used = utilization(map_entries, policy)
        return Round(span, map_entries, used, counts, sizes, policy.delete_horizon_ms)

    def end_round(self, result: RoundResult) -> None:
        """Take over the result of a round, and delete old segments, as a broker does after it (R52, R53)."""
        work, self.segments = result
        self.spans.append(work.span)
        self.rounds.append(work)
        self.retain()

    def retain(self) -> None:
        """Delete the segments that retention would delete now (R53)."""
        if self.segments is not None:
            self.segments, self.bounds = delete_old_segments(self.segments, self.bounds, self.case.policy)

    def plan(self, log_start_offset: int) -> Plan:
        """The plan by which the workers decide on this log's records."""
        return plan_of(self.case, self.spans, log_start_offset, self.markers)

    def outcome(
        self,
        removed: Mapping[Verdict, int],
        horizons: tuple[DeleteHorizon, ...],
        log_start_offset: int,
        segments: tuple[SegmentState, ...] | None,
    ) -> LogCleaning:
        """The outcome of the log, once all its rounds are over, and it is known where it starts now."""
        case = self.case
        is_compacted = "compact" in case.policy.cleanup_policy
        cleanable = case.range if is_compacted else None
        spans, checkpoint_offset = tuple(self.spans), case.context.checkpoint_offset
        checkpoint_offset = checkpoint_after(checkpoint_offset, cleanable, spans, log_start_offset)
        aborted = aborted_data(case.context)
        reached = [run.last_offset + 1 for run in aborted if run.last_offset < (checkpoint_offset or 0)]
        return LogCleaning(
            bounds=case.bounds,
            range=cleanable,
            rounds=tuple(self.rounds),
            removed=removed,
            checkpoint_offset=checkpoint_offset,
            horizons=without_past_ends(horizons, case.policy.now_ms),
            log_start_offset=log_start_offset,
            segments=segments,
            aborted=tuple(run for run in aborted if run.last_offset >= (checkpoint_offset or 0)),
            removed_aborts_end_offset=max(case.context.removed_aborts_end_offset, *reached, 0),
            notes=(
                *(range_notes(case.context, case.bounds, case.range) if is_compacted else ()),
                *(() if self.rounds else idle_note(case.policy, case.range, case.dirty_ratio)),
                *self.notes,
                *ratio_note(self.near_ratio),
            ),
        )


def play_rounds(
    logs: Mapping[int, LogInRounds],
    next_spans: Callable[[], dict[int, RoundSpan]],
    rewrite: Callable[[Mapping[int, RoundSpan]], dict[int, RoundResult]],
) -> None:
    """Play all rounds of all logs, with retention after each round, and once more at the end.

    ``next_spans`` gives the next round of each log that has one; ``rewrite`` plays these rounds.
    """
    while spans := next_spans():
        for log_id, result in rewrite(spans).items():
            logs[log_id].end_round(result)
    for log in logs.values():
        log.retain()


def plan_of(
    case: LogCase,
    spans: Sequence[RoundSpan],
    log_start_offset: int,
    markers: dict[int, int] | None = None,
) -> Plan:
    """The plan by which the workers decide on a log's records, once its rounds are known."""
    policy = case.policy
    rounds = Rounds(
        np.array([span.next_offset for span in spans], np.int64),
        np.array([span.rewritten_end_offset for span in spans], np.int64),
        now_ms=policy.now_ms,
        delete_horizon_ms=policy.delete_horizon_ms,
        drop_tombstones=policy.drop_tombstones,
        keep_keyless=policy.null_keys == "keep",
        log_start_offset=log_start_offset,
        deleted_before_offset=case.deleted_before_offset,
        markers=markers or {},
    )
    return Plan(
        rounds,
        np.array([span.first_dirty_offset for span in spans], np.int64),
        case.range.first_uncleanable_offset,
        np.array(case.bases or (), np.int64),
    )


def sizes_of(before: Sequence[SegmentState], after: Sequence[SegmentState], span: RoundSpan) -> RoundSizes:
    """Bytes of the segments that a round read and wrote, and how many segments the log has."""
    read, written = (
        sum(state.size_bytes for state in segments if state.base_offset < span.next_offset)
        for segments in (before, after)
    )
    return RoundSizes(read, written, len(before), len(after))
