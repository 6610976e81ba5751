"""One log before its rounds: its bounds, range and ratio, and the rounds into which full maps divide it."""

from dataclasses import dataclass, replace

from kcompact.broker.log_context import LogContext
from kcompact.cleaner.survey import Records
from kcompact.digits import LONG_MAX
from kcompact.rules.capacity import map_limit
from kcompact.rules.files.retention import delete_old_segments
from kcompact.rules.files.segments import SegmentState
from kcompact.rules.policy import Policy
from kcompact.rules.range import CleanableRange, LogBounds, log_bounds, segmented_range, unsegmented_range
from kcompact.rules.ratio import DirtyRatio, compaction_delay_ms, segmented_ratio
from kcompact.rules.rounds import MapScan, RoundSpan, ScanLimits, spans_of


@dataclass(frozen=True)
class LogCase:
    """One log before its rounds."""

    context: LogContext
    policy: Policy
    records: Records
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
        first = self.records.first_dirty_record_offset
        return first is not None and first < self.range.first_uncleanable_offset

    @property
    def is_taken(self) -> bool:
        """Whether a round starts: the log is dirty and, where the ratio is respected, due."""
        due = not self.policy.respect_dirty_ratio or self.dirty_ratio.eligible
        return self.is_dirty and due

    @property
    def bases(self) -> list[int] | None:
        """Base offsets of the segments; None: each record is a segment."""
        return None if self.segments is None else [segment.base_offset for segment in self.segments]


def case_of(
    context: LogContext, policy: Policy, records: Records, segments: tuple[SegmentState, ...] | None
) -> LogCase:
    """Bounds, range and ratio of one log."""
    bounds = log_bounds(context, records.first_offset, records.last_offset + 1)
    if segments is not None:
        cleanable = segmented_range(segments, bounds, context.checkpoint_offset, policy)
        ratio = segmented_ratio(segments, cleanable, policy)
    else:
        cleanable = unsegmented_range(bounds, context.checkpoint_offset, records.first_young_offset)
        ratio = _unsegmented_ratio(records, policy)
    return LogCase(context, policy, records, bounds, segments, cleanable, ratio)


def after_retention(case: LogCase) -> LogCase:
    """The case of a log on which retention runs before it is cleaned (R52).

    It is ``case`` itself if no segment is deleted, or if no segments are known.
    """
    if case.segments is None:
        return case
    segments, bounds = delete_old_segments(case.segments, case.bounds, case.policy)
    if len(segments) == len(case.segments):
        return case
    cleanable = segmented_range(segments, bounds, case.context.checkpoint_offset, case.policy)
    return replace(
        case,
        bounds=bounds,
        segments=segments,
        range=cleanable,
        dirty_ratio=segmented_ratio(segments, cleanable, case.policy),
        deleted_before_offset=segments[0].base_offset,
    )


def _unsegmented_ratio(records: Records, policy: Policy) -> DirtyRatio:
    """Byte sums as if the whole dirty section were cleanable (R6); ``with_cleanable_bytes`` corrects them."""
    delay_ms = compaction_delay_ms([records.oldest_dirty_timestamp_ms or -1], policy)
    clean = records.log_bytes - records.dirty_log_bytes
    return DirtyRatio(clean, records.dirty_log_bytes, 0, delay_ms, policy.min_cleanable_dirty_ratio)


def with_cleanable_bytes(case: LogCase, cleanable_bytes: int) -> LogCase:
    """The case of an unsegmented log once it is known how much of its dirty section is cleanable."""
    behind = case.dirty_ratio.cleanable_bytes - cleanable_bytes
    ratio = replace(case.dirty_ratio, cleanable_bytes=cleanable_bytes, uncleanable_bytes=behind)
    return replace(case, dirty_ratio=ratio)


def scan_limits(case: LogCase) -> ScanLimits:
    """The limits of the scan for full maps."""
    limit = map_limit(case.policy)
    return ScanLimits(
        case.range.first_dirty_offset,
        case.range.first_uncleanable_offset,
        LONG_MAX if limit is None else limit,
        case.policy.rounds,
    )


def needs_scan(case: LogCase) -> bool:
    """Whether the map can be full at all."""
    return case.is_taken and case.records.mapped_records > scan_limits(case).map_limit


def spans_of_case(case: LogCase, scan: MapScan | None) -> list[RoundSpan]:
    """The rounds that the map's limit makes; retention or the dirty ratio may end them earlier."""
    if not case.is_taken:
        return []
    return spans_of(scan_limits(case), scan, case.bases)
