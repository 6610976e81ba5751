"""Cleaning one log whose batches are not known: each record counts as a batch of its own (L9)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kcompact.broker.given import GivenLog
from kcompact.cleaner.aging import SegmentsAfter, aging_of, before_rounds, without_deleted
from kcompact.cleaner.survey import Survey
from kcompact.cleaner.verdict_tallies import Tally, messages_of_round, removed_in_all
from kcompact.digits import LONG_MAX
from kcompact.rules.assumptions import marker_note, overtaken_note, range_notes, retention_note
from kcompact.rules.capacity import map_limit, utilization
from kcompact.rules.cleaned_log import LogCleaning, Round, checkpoint_after, horizons_after
from kcompact.rules.decisions import Plan
from kcompact.rules.files.retention import Retained, delete_old_segments
from kcompact.rules.files.segments import SegmentState
from kcompact.rules.policy import Policy
from kcompact.rules.range import CleanableRange, LogBounds, log_bounds, segmented_range, unsegmented_range
from kcompact.rules.ratio import DirtyRatio, compaction_delay_ms, segmented_ratio
from kcompact.rules.rounds import MapScan, RoundSpan, ScanLimits, spans_of
from kcompact.rules.verdicts import Longs, Rounds, Verdict


@dataclass(frozen=True)
class LogCase:
    """One log before its rounds."""

    given: GivenLog
    policy: Policy
    found: Survey
    bounds: LogBounds
    segments: tuple[SegmentState, ...] | None  # None: each record is a closed segment of its own
    range: CleanableRange
    dirty_ratio: DirtyRatio
    deleted_before_offset: int = 0  # retention took the segments below, before the first round

    @property
    def is_dirty(self) -> bool:
        """Whether a round has anything to do: a broker never starts one with an empty dirty section."""
        if "compact" not in self.policy.cleanup_policy:
            return False
        if self.segments is not None:
            return self.dirty_ratio.cleanable_bytes > 0
        first = self.found.whole.first_dirty_record_offset
        return first is not None and first < self.range.first_uncleanable_offset

    @property
    def is_taken(self) -> bool:
        """Whether a round starts: dirty, and due where the ratio is respected."""
        due = not self.policy.respect_dirty_ratio or self.dirty_ratio.eligible
        return self.is_dirty and due

    @property
    def bases(self) -> list[int] | None:
        """Base offsets of the segments."""
        return None if self.segments is None else [segment.base_offset for segment in self.segments]


def case_of(
    given: GivenLog, policy: Policy, found: Survey, segments: tuple[SegmentState, ...] | None
) -> LogCase:
    """Bounds, range and ratio of one log."""
    bounds = log_bounds(given, found.whole.first_offset, found.whole.last_offset + 1)
    if segments is not None:
        cleanable = segmented_range(segments, bounds, given.checkpoint_offset, policy)
        ratio = segmented_ratio(segments, cleanable, policy)
    else:
        cleanable = unsegmented_range(bounds, given.checkpoint_offset, found.whole.first_young_offset)
        ratio = _unsegmented_ratio(found, policy)
    return LogCase(given, policy, found, bounds, segments, cleanable, ratio)


def after_retention(case: LogCase) -> LogCase:
    """The case of a log on which retention runs before it is cleaned (R52); without segments it is itself."""
    if case.segments is None:
        return case
    retained = delete_old_segments(case.segments, case.bounds, case.policy)
    if len(retained.segments) == len(case.segments):
        return case
    bounds = replace(case.bounds, log_start_offset=retained.log_start_offset)
    cleanable = segmented_range(retained.segments, bounds, case.given.checkpoint_offset, case.policy)
    return replace(
        case,
        bounds=bounds,
        segments=retained.segments,
        range=cleanable,
        dirty_ratio=segmented_ratio(retained.segments, cleanable, case.policy),
        deleted_before_offset=retained.segments[0].base_offset,
    )


def _unsegmented_ratio(found: Survey, policy: Policy) -> DirtyRatio:
    """Byte sums as if the whole dirty section were cleanable (R6); ``with_cleanable_bytes`` corrects them."""
    whole = found.whole
    delay_ms = compaction_delay_ms([whole.oldest_dirty_timestamp_ms or -1], policy)
    clean = whole.log_bytes - whole.dirty_log_bytes
    return DirtyRatio(clean, whole.dirty_log_bytes, 0, delay_ms, policy.min_cleanable_dirty_ratio)


def with_cleanable_bytes(case: LogCase, cleanable_bytes: int) -> LogCase:
    """The case of an unsegmented log once it is known how much of its dirty section is cleanable."""
    behind = case.dirty_ratio.cleanable_bytes - cleanable_bytes
    ratio = replace(case.dirty_ratio, cleanable_bytes=cleanable_bytes, uncleanable_bytes=behind)
    return replace(case, dirty_ratio=ratio)


def scan_limits(case: LogCase) -> ScanLimits:
    """The bounds and the capacity that the scan for full maps has to obey."""
    limit = map_limit(case.policy)
    return ScanLimits(
        case.range.first_dirty_offset,
        case.range.first_uncleanable_offset,
        LONG_MAX if limit is None else limit,
        case.policy.rounds,
    )


def needs_scan(case: LogCase) -> bool:
    """Whether the map can be full at all."""
    return case.is_taken and case.found.whole.mapped_records > scan_limits(case).map_limit


def spans_of_case(case: LogCase, scan: MapScan | None) -> list[RoundSpan]:
    """The rounds that the map's limit makes, before anything else ends them."""
    if not case.is_taken:
        return []
    return spans_of(scan_limits(case), scan, case.bases)


def plan_of(case: LogCase, spans: Sequence[RoundSpan], log_start_offset: int) -> Plan:
    """The plan by which the workers decide on this log's records."""
    policy = case.policy
    rounds = Rounds(
        _longs(span.next_offset for span in spans),
        _longs(span.rewritten_end_offset for span in spans),
        now_ms=policy.now_ms,
        delete_horizon_ms=delete_horizon_ms(policy),
        drop_tombstones=policy.drop_tombstones,
        keep_keyless=policy.null_keys == "keep",
        log_start_offset=log_start_offset,
        deleted_before_offset=case.deleted_before_offset,
    )
    return Plan(
        rounds,
        _longs(span.first_dirty_offset for span in spans),
        case.range.first_uncleanable_offset,
        _longs(case.bases or ()),
    )


def delete_horizon_ms(policy: Policy) -> int | None:
    """The horizon (ms) that a round stamps; None if it is beyond a signed 64-bit number (R25, R29)."""
    horizon_ms = policy.now_ms + policy.delete_retention_ms
    return horizon_ms if horizon_ms <= LONG_MAX else None


def _longs(values: Iterable[int]) -> Longs:
    return np.fromiter(values, np.int64)


@dataclass(frozen=True)
class Played:
    """The rounds that really ran, the segments behind the last one, and where the log starts by then."""

    spans: tuple[RoundSpan, ...]
    rounds: tuple[Round, ...]
    segments: SegmentsAfter | None
    log_start_offset: int
    notes: tuple[str, ...] = ()


def play_rounds(case: LogCase, spans: Sequence[RoundSpan], tallies: Sequence[Tally]) -> Played:
    """Every round's figures; where the ratio is respected, a round that is not due ends them."""
    segments = None if case.segments is None else before_rounds(case.segments)
    aging = aging_of(case.segments or (), tallies, case.policy, case.range.first_uncleanable_offset)
    tallies = [one for one in tallies if one.verdict != Verdict.REPEATED]
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
        rounds.append(_figures(case, span, number, tallies, sizes))
        ran.append(span)
        if after is not None:
            after, bounds = without_deleted(after, bounds, case.policy)
            inside = {base for bases in after.origins for base in bases}
            tallies = [one for one in tallies if one.segment_base_offset in inside]
        segments = after
    return Played(tuple(ran), tuple(rounds), segments, bounds.log_start_offset, notes)


@dataclass(frozen=True)
class _Sizes:
    bytes_read: int
    bytes_written: int
    segments_before: int | None
    segments_after: int | None


def _sizes(
    before: SegmentsAfter | None,
    after: SegmentsAfter | None,
    span: RoundSpan,
    number: int,
    tallies: Sequence[Tally],
) -> _Sizes:
    if before is None or after is None:
        rewritten = [t for t in tallies if t.is_rewritten_in(number)]
        read = sum(t.bytes_after(number - 1) for t in rewritten)
        return _Sizes(read, sum(t.bytes_after(number) for t in rewritten), None, None)
    read, written = (
        sum(state.size_bytes for state in one.states if state.base_offset < span.next_offset)
        for one in (before, after)
    )
    return _Sizes(read, written, len(before.states), len(after.states))


def _figures(case: LogCase, span: RoundSpan, number: int, tallies: Sequence[Tally], sizes: _Sizes) -> Round:
    messages = messages_of_round(tallies, number)
    entries = messages.map_entries if span.map_entries is None else span.map_entries
    return Round(
        span=span,
        map_entries=entries,
        utilization=utilization(entries, case.policy),
        messages_read=messages.read,
        messages_written=messages.written,
        bytes_read=sizes.bytes_read,
        bytes_written=sizes.bytes_written,
        removed=messages.removed,
        tombstones_kept=messages.tombstones_kept,
        tombstones_stamped=messages.tombstones_stamped,
        delete_horizon_ms=delete_horizon_ms(case.policy),
        segments_before=sizes.segments_before,
        segments_after=sizes.segments_after,
    )


def _is_still_due(
    case: LogCase, span: RoundSpan, number: int, tallies: Sequence[Tally], segments: SegmentsAfter | None
) -> bool:
    """Whether the log is still eligible before a later round (R7)."""
    if not case.policy.respect_dirty_ratio:
        return True
    if segments is not None:
        rest = replace(case.range, first_dirty_offset=span.first_dirty_offset)
        return segmented_ratio(segments.states, rest, case.policy).eligible
    left = [t for t in tallies if t.in_range]
    clean = sum(t.bytes_after(number - 1) for t in left if 0 < t.rewritten_round < number)
    dirty = sum(t.bytes_after(number - 1) for t in left) - clean
    return replace(case.dirty_ratio, clean_bytes=clean, cleanable_bytes=dirty).eligible


def retained_segments(case: LogCase, played: Played, tallies: Sequence[Tally]) -> Retained | None:
    """Retention on the segments that the rounds left (R53); None where each record is its own segment."""
    if case.segments is None or played.segments is None:
        return None
    bounds = replace(case.bounds, log_start_offset=played.log_start_offset)
    left, bounds = without_deleted(played.segments, bounds, case.policy)
    inside = {base for bases in left.origins for base in bases}
    last = len(played.rounds)
    expired = sum(
        t.records
        for t in tallies
        if t.segment_base_offset not in inside and t.verdict != Verdict.REPEATED and not 0 < t.round <= last
    )
    return Retained(left.states, bounds.log_start_offset, expired)


def outcome_of(case: LogCase, played: Played, tallies: Sequence[Tally], retained: Retained) -> LogCleaning:
    """Everything about one log once it is known where it starts now."""
    policy = case.policy
    removed = removed_in_all(tallies, len(played.rounds))
    if retained.expired_records:
        removed[Verdict.EXPIRED] = retained.expired_records
    is_compacted = "compact" in policy.cleanup_policy
    cleanable = case.range if is_compacted else None
    horizon_ms = delete_horizon_ms(policy)
    return LogCleaning(
        bounds=case.bounds,
        range=cleanable,
        dirty_ratio=case.dirty_ratio if is_compacted else None,
        rounds=played.rounds,
        removed=removed,
        checkpoint_offset=checkpoint_after(
            case.given.checkpoint_offset, cleanable, played.spans, retained.log_start_offset
        ),
        horizons=horizons_after(case.given.horizons, played.spans, horizon_ms),
        log_start_offset=retained.log_start_offset,
        segments=retained.segments if case.segments is not None else None,
        notes=(
            *(range_notes(case.given, case.bounds, case.range) if is_compacted else ()),
            *played.notes,
            *(retention_note(policy, len(played.rounds)) if case.segments is None else ()),
            *marker_note(case.found.whole.control_records),
        ),
    )
