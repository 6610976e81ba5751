"""Cleaning one log whose batches are known: exact down to markers, empty batches and bytes.

Wherever somebody lists a log's batches its records are few enough for one process, so the rounds are played
through on arrays, one after another; the verdicts on the records are the same closed form as everywhere.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from kcompact.broker.delete_horizons import DeleteHorizon
from kcompact.broker.log_context import LogContext
from kcompact.digits import LONG_MAX
from kcompact.rules.assumptions import batch_notes, estimate_note, range_notes
from kcompact.rules.capacity import map_limit
from kcompact.rules.cleaned_log import LogCleaning, Round, RoundSizes, checkpoint_after, round_of
from kcompact.rules.decisions import Plan, plan_for, rounds_of
from kcompact.rules.files.merging import group_segments
from kcompact.rules.files.retention import delete_old_segments
from kcompact.rules.files.segment_files import SegmentFile, all_batches, segment_files, tell_segments
from kcompact.rules.files.segments import SegmentState, containing
from kcompact.rules.policy import Policy
from kcompact.rules.range import CleanableRange, LogBounds, log_bounds, segmented_range
from kcompact.rules.ratio import DirtyRatio, segmented_ratio
from kcompact.rules.rewriting import LogRows, Rewriting
from kcompact.rules.rounds import MapScan, RoundSpan, ScanLimits, rewritten_end
from kcompact.rules.transactions import aborted_ranges, producer_ends
from kcompact.rules.verdicts import Decision, Rounds, Verdict, decide


@dataclass
class BatchedLog:
    """One log between rounds."""

    context: LogContext
    policy: Policy
    records: LogRows
    files: tuple[SegmentFile, ...]
    bounds: LogBounds
    merges: bool  # segments are known; otherwise each batch is a closed one of its own
    aborted: frozenset[int]  # base offsets of batches
    checkpoint_offset: int | None
    spans: list[RoundSpan] = field(default_factory=list)
    rounds: list[Round] = field(default_factory=list)
    markers: dict[int, int] = field(default_factory=dict)  # offset -> round in which it went
    batches_recompressed: int = 0
    deleted_before_offset: int = 0  # retention took the segments below, before the first round

    def states(self) -> list[SegmentState]:
        """The segments now."""
        return [file.state(self.policy) for file in self.files]

    def range_and_ratio(self) -> tuple[CleanableRange, DirtyRatio]:
        """The range, and the byte sums over it, before the next round (R1 to R8)."""
        states = self.states()
        cleanable = segmented_range(states, self.bounds, self.checkpoint_offset, self.policy)
        return cleanable, segmented_ratio(states, cleanable, self.policy)


def dirty_ratio_if_due(log: BatchedLog) -> DirtyRatio | None:
    """The dirty ratio of a log that a round would clean now."""
    return None if _next_range(log) is None else log.range_and_ratio()[1]


def retain_before_rounds(log: BatchedLog) -> None:
    """Retention on a log that is cleaned in a later turn (R52)."""
    files = len(log.files)
    _retain(log)
    if len(log.files) < files:
        log.deleted_before_offset = log.files[0].base_offset


def clean_batched(log: BatchedLog) -> tuple[LogCleaning, Plan]:
    """Play one log's rounds; what the workers need for its verdicts comes with the outcome."""
    context, policy, records = log.context, log.policy, log.records
    cleanable, ratio = log.range_and_ratio()
    bases = [file.base_offset for file in log.files]
    bounds = log.bounds
    while (round_range := _next_range(log)) is not None:
        _play_round(log, round_range)
        _retain(log)
    _retain(log)
    rounds = _rounds(log, log.bounds.log_start_offset)
    plan = plan_for(rounds, log.spans, cleanable.first_uncleanable_offset, bases)
    is_compacted = "compact" in policy.cleanup_policy
    spans, start = tuple(log.spans), log.bounds.log_start_offset
    before = cleanable if is_compacted else None
    cleaning = LogCleaning(
        bounds=bounds,
        range=before,
        dirty_ratio=ratio if is_compacted else None,
        rounds=tuple(log.rounds),
        removed=_removed(log, plan),
        checkpoint_offset=checkpoint_after(context.checkpoint_offset, before, spans, start),
        horizons=_horizons(log),
        log_start_offset=start,
        segments=tuple(log.states()) if log.merges else None,
        notes=(*(range_notes(context, bounds, cleanable) if is_compacted else ()), *_notes(log, records)),
    )
    return cleaning, plan


def _notes(log: BatchedLog, records: LogRows) -> Iterator[str]:
    unseen, in_batches = 0, 0
    for batch in log.context.batches or ():
        at = records.span_of(batch)
        in_batches += at.stop - at.start
        if not batch.is_control and batch.base_offset not in log.aborted:
            unseen += batch.record_count - (at.stop - at.start)
    yield from batch_notes(unseen, len(records.rows) - in_batches)
    yield from estimate_note(log.policy, log.batches_recompressed)


def open_batched(context: LogContext, policy: Policy, records: LogRows) -> BatchedLog:
    """One log before its rounds."""
    batches = all_batches(context.batches or (), records)
    offsets = records.rows.offset
    first = int(offsets[0]) if len(offsets) else batches[0].base_offset
    end = int(offsets[-1]) + 1 if len(offsets) else 0
    bounds = log_bounds(context, first, end)
    files = segment_files(context, batches, bounds)
    aborted = {run.first_offset for run in aborted_ranges(batches)}
    is_aborted = records.rows.is_aborted
    aborted |= {b.base_offset for b in batches if is_aborted[records.span_of(b)].any() and not b.is_control}
    merges = context.segments is not None or tell_segments(context.batches or ())
    return BatchedLog(
        context, policy, records, files, bounds, merges, frozenset(aborted), context.checkpoint_offset
    )


def _next_range(log: BatchedLog) -> CleanableRange | None:
    """The range of the next round, None if there is none (R7; nothing dirty; enough rounds)."""
    policy = log.policy
    is_over = policy.rounds is not None and len(log.rounds) >= policy.rounds
    if is_over or "compact" not in policy.cleanup_policy:
        return None
    cleanable, ratio = log.range_and_ratio()
    is_dirty = ratio.cleanable_bytes > 0 and (ratio.eligible or not policy.respect_dirty_ratio)
    return cleanable if is_dirty else None


def _play_round(log: BatchedLog, cleanable: CleanableRange) -> None:
    entries, next_offset = _mapped(log, cleanable)
    bases = [file.base_offset for file in log.files]
    is_full = next_offset < cleanable.first_uncleanable_offset
    end = rewritten_end(next_offset, bases)
    log.spans.append(RoundSpan(cleanable.first_dirty_offset, next_offset, end, entries, map_is_full=is_full))
    policy, number = log.policy, len(log.spans)
    producers = producer_ends(
        [batch for file in log.files for batch in file.batches],
        policy.now_ms,
        policy.producer_id_expiration_ms,
    )
    rewriting = Rewriting(
        number,
        next_offset,
        policy.now_ms,
        policy.delete_horizon_ms,
        log.records,
        _decision(log),
        log.aborted,
        producers,
    )
    before = log.files
    log.files = _rewritten(log, rewriting, cleanable.first_uncleanable_offset)
    log.batches_recompressed += rewriting.counts.batches_recompressed
    log.markers |= dict.fromkeys(rewriting.counts.markers_gone, number)
    log.checkpoint_offset = next_offset
    sizes = _sizes(log, before, next_offset)
    log.rounds.append(round_of(log.spans[-1], entries, rewriting.counts, sizes, policy))


def _mapped(log: BatchedLog, cleanable: CleanableRange) -> tuple[int, int]:
    """The number of the map's entries, and next (``Cleaner.buildOffsetMap``, R12 to R15)."""
    first, bound = cleanable.first_dirty_offset, cleanable.first_uncleanable_offset
    limit = map_limit(log.policy)
    scan = MapScan(ScanLimits(first, bound, LONG_MAX if limit is None else limit, 1))
    rows = log.records.rows
    mapped = rows.has_key & ~rows.is_aborted & ~rows.is_control
    scan.feed(rows.offset, log.records.previous_offset, mapped, rows.is_aborted)
    if not scan.full:
        return scan.entries, bound
    stop = scan.full[0]
    bases = [file.base_offset for file in log.files]
    file = log.files[containing(bases, stop.stop_offset)]
    read = [batch.last_offset for batch in file.batches if batch.last_offset < stop.stop_offset]
    # R14: the last put, the end of the last batch read whole, or what lies before the stopping segment.
    end = max(stop.last_put_offset, max(read, default=-1), file.base_offset - 1)
    return scan.limits.map_limit, end + 1


def _rewritten(
    log: BatchedLog, rewriting: Rewriting, first_uncleanable_offset: int
) -> tuple[SegmentFile, ...]:
    """All segments after the round: those below next, group by group, and the others (R16, R41, R42)."""
    old = [file for file in log.files if file.base_offset < rewriting.next_offset]
    states = [file.state(log.policy) for file in old]
    groups = group_segments(states, log.policy, first_uncleanable_offset)
    if not log.merges:
        groups = [[state] for state in states]
    new: list[SegmentFile] = []
    first = 0
    for group in groups:
        files = old[first : first + len(group)]
        first += len(group)
        results = [rewriting.rewrite(batch) for file in files for batch in file.batches]
        batches = tuple(batch for batch in results if batch is not None)
        new.append(SegmentFile(files[0].base_offset, batches, files[-1].mtime_ms))
    return (*new, *log.files[len(old) :])


def _sizes(log: BatchedLog, before: Sequence[SegmentFile], next_offset: int) -> RoundSizes:
    read, written = (
        sum(batch.size_bytes for file in files if file.base_offset < next_offset for batch in file.batches)
        for files in (before, log.files)
    )
    if not log.merges:
        return RoundSizes(read, written)
    return RoundSizes(read, written, len(before), len(log.files))


def _retain(log: BatchedLog) -> None:
    """Delete the segments that retention would delete now (R53)."""
    retained = delete_old_segments(log.states(), log.bounds, log.policy)
    bases = {state.base_offset for state in retained.segments}
    files = tuple(file for file in log.files if file.base_offset in bases)
    if not files:  # the active one went too, after a roll
        files = (SegmentFile(log.bounds.log_end_offset, (), log.policy.now_ms),)
    log.files = files
    log.bounds = replace(log.bounds, log_start_offset=retained.log_start_offset)


def _rounds(log: BatchedLog, log_start_offset: int) -> Rounds:
    return rounds_of(log.policy, log.spans, log_start_offset, log.deleted_before_offset, log.markers)


def _decision(log: BatchedLog) -> Decision:
    return decide(log.records.rows, _rounds(log, 0))


def _removed(log: BatchedLog, plan: Plan) -> Counter[Verdict]:
    verdicts = decide(log.records.rows, plan.rounds).verdict
    removed = Counter({Verdict(int(v)): int((verdicts == v).sum()) for v in np.unique(verdicts)})
    removed[Verdict.EXPIRED_MARKER] = len(log.markers)
    del removed[Verdict.RETAINED]
    return +removed


def _horizons(log: BatchedLog) -> tuple[DeleteHorizon, ...]:
    """The delete horizons of the batches, as intervals: stamped batches always lie below all others (R27)."""
    horizons: list[DeleteHorizon] = []
    for batch in (batch for file in log.files for batch in file.batches):
        if batch.delete_horizon_ms is None:
            continue
        if horizons and horizons[-1].delete_horizon_ms == batch.delete_horizon_ms:
            horizons.pop()
        horizons.append(DeleteHorizon(batch.last_offset + 1, batch.delete_horizon_ms))
    return tuple(horizons)
