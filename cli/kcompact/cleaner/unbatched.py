"""Cleaning one log whose batches are not known: each record counts as a batch of its own (L9)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from kcompact.cleaner.aging import SegmentsAfter, aging_of, before_rounds, without_deleted
from kcompact.cleaner.log_case import LogCase
from kcompact.cleaner.verdict_tallies import Tally, map_entries, messages_of_round, removed_in_all
from kcompact.rules.assumptions import marker_note, overtaken_note, range_notes, retention_note
from kcompact.rules.cleaned_log import (
    LogCleaning,
    Round,
    RoundSizes,
    checkpoint_after,
    horizons_after,
    round_of,
)
from kcompact.rules.decisions import Plan, plan_for, rounds_of
from kcompact.rules.files.retention import Retained
from kcompact.rules.ratio import segmented_ratio
from kcompact.rules.rounds import RoundSpan
from kcompact.rules.verdicts import Verdict


def plan_of(case: LogCase, spans: Sequence[RoundSpan], log_start_offset: int) -> Plan:
    """The plan by which the workers decide on this log's records."""
    rounds = rounds_of(case.policy, spans, log_start_offset, case.deleted_before_offset)
    return plan_for(rounds, spans, case.range.first_uncleanable_offset, case.bases or ())


@dataclass(frozen=True)
class Played:
    """The rounds that really ran, the segments after the last one, and where the log starts then."""

    spans: tuple[RoundSpan, ...]
    rounds: tuple[Round, ...]
    segments: SegmentsAfter | None
    log_start_offset: int
    notes: tuple[str, ...] = ()


def play_rounds(case: LogCase, spans: Sequence[RoundSpan], tallies: Sequence[Tally]) -> Played:
    """Every round's figures; where the ratio is respected, a round that is not due ends them."""
    segments = None if case.segments is None else before_rounds(case.segments)
    aging = aging_of(case.segments or (), tallies, case.policy, case.range.first_uncleanable_offset)
    tallies = [tally for tally in tallies if tally.verdict != Verdict.REPEATED]
    bounds, notes = case.bounds, tuple[str, ...]()
    ran: list[RoundSpan] = []
    rounds: list[Round] = []
    for number, span in enumerate(spans, start=1):
        if number > 1 and not _is_still_due(case, span, number, tallies, segments):
            break
        if bounds.log_start_offset > span.first_dirty_offset:
            notes = (overtaken_note(bounds.log_start_offset),)
            break
        after = None if segments is None else aging.after_round(segments, span, number)
        sizes = _sizes(segments, after, span, number, tallies)
        entries = map_entries(tallies, number) if span.map_entries is None else span.map_entries
        rounds.append(round_of(span, entries, messages_of_round(tallies, number), sizes, case.policy))
        ran.append(span)
        if after is not None:
            after, bounds = without_deleted(after, bounds, case.policy)
            inside = {base for bases in after.origins for base in bases}
            tallies = [tally for tally in tallies if tally.segment_base_offset in inside]
        segments = after
    return Played(tuple(ran), tuple(rounds), segments, bounds.log_start_offset, notes)


def _sizes(
    before: SegmentsAfter | None,
    after: SegmentsAfter | None,
    span: RoundSpan,
    number: int,
    tallies: Sequence[Tally],
) -> RoundSizes:
    if before is None or after is None:
        rewritten = [t for t in tallies if t.is_rewritten_in(number)]
        read = sum(t.bytes_after(number - 1) for t in rewritten)
        return RoundSizes(read, sum(t.bytes_after(number) for t in rewritten))
    read, written = (
        sum(state.size_bytes for state in segments.states if state.base_offset < span.next_offset)
        for segments in (before, after)
    )
    return RoundSizes(read, written, len(before.states), len(after.states))


def _is_still_due(
    case: LogCase, span: RoundSpan, number: int, tallies: Sequence[Tally], segments: SegmentsAfter | None
) -> bool:
    """Whether the log is still eligible before a later round (R7)."""
    if not case.policy.respect_dirty_ratio:
        return True
    if segments is not None:
        cleanable = replace(case.range, first_dirty_offset=span.first_dirty_offset)
        return segmented_ratio(segments.states, cleanable, case.policy).eligible
    in_range = [t for t in tallies if t.in_range]
    clean = sum(t.bytes_after(number - 1) for t in in_range if 0 < t.rewritten_round < number)
    dirty = sum(t.bytes_after(number - 1) for t in in_range) - clean
    return replace(case.dirty_ratio, clean_bytes=clean, cleanable_bytes=dirty).eligible


def retained_segments(case: LogCase, played: Played) -> Retained | None:
    """Retention on the segments that the rounds left (R53); None where each record is its own segment."""
    if case.segments is None or played.segments is None:
        return None
    bounds = replace(case.bounds, log_start_offset=played.log_start_offset)
    after, bounds = without_deleted(played.segments, bounds, case.policy)
    return Retained(after.states, bounds.log_start_offset)


def outcome_of(case: LogCase, played: Played, tallies: Sequence[Tally], retained: Retained) -> LogCleaning:
    """Everything about one log once it is known where it starts now."""
    policy = case.policy
    removed = removed_in_all(tallies, len(played.rounds))
    is_compacted = "compact" in policy.cleanup_policy
    cleanable = case.range if is_compacted else None
    return LogCleaning(
        bounds=case.bounds,
        range=cleanable,
        dirty_ratio=case.dirty_ratio if is_compacted else None,
        rounds=played.rounds,
        removed=removed,
        checkpoint_offset=checkpoint_after(
            case.context.checkpoint_offset, cleanable, played.spans, retained.log_start_offset
        ),
        horizons=horizons_after(case.context.horizons, played.spans, policy.delete_horizon_ms),
        log_start_offset=retained.log_start_offset,
        segments=retained.segments if case.segments is not None else None,
        notes=(
            *(range_notes(case.context, case.bounds, case.range) if is_compacted else ()),
            *played.notes,
            *(retention_note(policy, len(played.rounds)) if case.segments is None else ()),
            *marker_note(case.survey.whole.control_records),
        ),
    )


def with_expired(log: LogCleaning, records: int) -> LogCleaning:
    """The log with ``records`` counted as expired: those before its log start offset."""
    return replace(log, removed={**log.removed, Verdict.EXPIRED: records}) if records else log
