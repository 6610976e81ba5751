"""Which part of a log a round may clean (R1 to R3)."""

from collections.abc import Sequence
from dataclasses import dataclass

from kcompact.broker.batches import PackedBatches
from kcompact.broker.log_context import LogContext
from kcompact.rules.files.segments import SegmentState, containing
from kcompact.rules.policy import Policy


@dataclass(frozen=True)
class LogBounds:
    """Where a log starts and ends, and up to where its transactions are decided; ends are exclusive."""

    log_start_offset: int
    log_end_offset: int
    last_stable_offset: int
    end_raised: bool = False  # the checkpoint is beyond everything else that is known of the log


@dataclass(frozen=True)
class CleanableRange:
    """The range of offsets that a round cleans (R1 to R3).

    ``first_uncleanable_offset`` (exclusive) is rounded down to the base of a segment.
    """

    first_dirty_offset: int
    first_uncleanable_offset: int
    bounded_by: str  # "log end", "active segment", "last stable offset" or "minimum lag"
    checkpoint_reset: bool


def log_bounds(context: LogContext, first_offset: int, end_offset: int) -> LogBounds:
    """The bounds of a log: those given, else those that its records, batches and segments imply.

    ``first_offset`` and ``end_offset`` (exclusive) are those of the records. A dump ends early where the tail
    of the log was compacted, so a checkpoint behind the dump raises the log end offset, unless this was
    given.
    """
    start = context.log_start_offset
    if start is None:
        start = context.segments[0].base_offset if context.segments else first_offset
        batches = context.batches
        if context.segments is None and batches is not None:
            start = min(start, batches.first_offsets[0], *(batches.segment_bytes or ()))
        if batches is not None and _lie_unseen_below(batches, first_offset):
            start = first_offset
    known_ends = [end_offset, start]
    if context.segments:
        known_ends.append(context.segments[-1].base_offset)
    if context.batches is not None:
        known_ends += [context.batches.last_offset + 1, *(context.batches.segment_bytes or ())]
    end = max(known_ends) if context.log_end_offset is None else context.log_end_offset
    checkpoint = -1 if context.checkpoint_offset is None else context.checkpoint_offset
    raised = context.log_end_offset is None and checkpoint > end
    end = checkpoint if raised else end
    stable = end if context.last_stable_offset is None else min(end, context.last_stable_offset)
    return LogBounds(start, end, stable, end_raised=raised)


def _lie_unseen_below(batches: PackedBatches, first_offset: int) -> bool:
    """Whether data (outside of transactions) lie in a batch below the dump's first record.

    A consumer gets no records from below the log start offset (R54), so the log then starts at this record.
    """
    end_offset = batches.first_data_end_offset
    return end_offset is not None and end_offset <= first_offset


def first_dirty(bounds: LogBounds, checkpoint_offset: int | None) -> tuple[int, bool]:
    """The first dirty offset, and whether the checkpoint is reset to it (``cleanableOffsets``, R1)."""
    if checkpoint_offset is None:
        return bounds.log_start_offset, False
    if bounds.log_start_offset <= checkpoint_offset <= bounds.log_end_offset:
        return checkpoint_offset, False
    return bounds.log_start_offset, True


def segmented_range(
    segments: Sequence[SegmentState], bounds: LogBounds, checkpoint_offset: int | None, policy: Policy
) -> CleanableRange:
    """The range where segments are known (R1 to R3); ``segments`` ends with the active one."""
    dirty, reset = first_dirty(bounds, checkpoint_offset)
    bases = [segment.base_offset for segment in segments]
    active = bases[-1]
    limits = [(bounds.last_stable_offset, "last stable offset"), (active, "active segment")]
    if policy.min_compaction_lag_ms > 0:
        limit_ms = policy.now_ms - policy.min_compaction_lag_ms
        closed = segments[containing(bases, dirty) : -1]
        young = (s.base_offset for s in closed if s.age_timestamp_ms(mtime_unknown_ms=-1) > limit_ms)
        limits.append((next(young, active), "minimum lag"))
    # Of equal bounds, the active segment is named: without the others the range would be the same.
    bound, bounded_by = min(limits, key=lambda limit: (limit[0], limit[1] != "active segment"))
    bound = max(bound, dirty)
    rounded = active if bound >= active else bases[containing(bases, bound)]
    return CleanableRange(dirty, rounded, bounded_by, reset)


def unsegmented_range(
    bounds: LogBounds, checkpoint_offset: int | None, first_young_offset: int | None
) -> CleanableRange:
    """The range where each record is a closed segment of its own (R1, R2).

    ``first_young_offset`` is the offset of the first dirty record that the minimum lag protects; None: none.
    """
    dirty, reset = first_dirty(bounds, checkpoint_offset)
    limits = [(bounds.log_end_offset, "log end"), (bounds.last_stable_offset, "last stable offset")]
    if first_young_offset is not None:
        limits.append((first_young_offset, "minimum lag"))
    bound, bounded_by = min(limits, key=lambda limit: (limit[0], limit[1] != "log end"))
    return CleanableRange(dirty, max(bound, dirty), bounded_by, reset)
