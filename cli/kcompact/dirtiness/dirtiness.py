"""How dirty a log is and what a cleaning would bring, under any setting, from one scan (R1 to R16)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from kcompact.broker.log_context import LogContext
from kcompact.broker.log_names import LogName
from kcompact.dirtiness.dirty_scan import TOTALS, DirtySection, LogScan, Mark, ScanPlan
from kcompact.rules.capacity import buffer_bytes_for, map_limit
from kcompact.rules.files.segment_roller import RollSettings, roll_settings
from kcompact.rules.files.segments import SegmentState, containing, is_rolled
from kcompact.rules.lookups import lookup_for
from kcompact.rules.policy import Policy
from kcompact.rules.range import CleanableRange, LogBounds, log_bounds, segmented_range, unsegmented_range
from kcompact.rules.ratio import DirtyRatio, compaction_delay_ms, segmented_ratio

Values = tuple[tuple[str, str], ...]
"""Configs of one what-if row: (name, value as given)."""


@dataclass(frozen=True)
class Setting:
    """A policy to assess a log under. ``reroll``: as if known segments had been rolled by that policy.

    ``values`` are the configs of its what-if row; the configured setting has none. ``rolled_by``: the policy
    by which the log's segments were rolled, if that is another one.
    """

    policy: Policy
    reroll: bool = False
    values: Values = ()
    rolled_by: Policy | None = None


@dataclass(frozen=True)
class ScannedLog:
    """One log: the settings asked for (the configured one first), what is known of it, and its scan."""

    log: LogName
    settings: Sequence[Setting]
    context: LogContext
    plan: ScanPlan
    scan: LogScan

    @property
    def share_on_disk(self) -> float:
        """Bytes of known segments for each byte of their records, uncompressed and each in its own batch."""
        known, alone = sum(s.size_bytes for s in self.context.segments or ()), self.scan.end["bytes"]
        return min(1.0, known / alone) if known and alone else 1.0


@dataclass(frozen=True)
class Gain:
    """Records and bytes (as a broker has them) that cleaning up to some offset removes, in enough rounds."""

    superseded_records: int = 0
    superseded_bytes: int = 0
    keyless_records: int = 0
    keyless_bytes: int = 0
    aborted_records: int = 0
    aborted_bytes: int = 0
    due_tombstones: int = 0
    due_tombstone_bytes: int = 0
    tombstones: int = 0  # the latest of their key, those that are due included
    stamped_tombstones: int = 0
    map_entries: int = 0  # of one unlimited map: distinct keys in the dirty section
    map_limit: int | None = None  # keys that the configured map holds; None: unlimited
    rounds: int = 0

    @property
    def removable_records(self) -> int:
        """Records that would go, whatever the reason."""
        return self.superseded_records + self.keyless_records + self.aborted_records + self.due_tombstones

    @property
    def removable_bytes(self) -> int:
        """Bytes that would go, whatever the reason."""
        return self.superseded_bytes + self.keyless_bytes + self.aborted_bytes + self.due_tombstone_bytes


@dataclass(frozen=True)
class Dirtiness:
    """One log under one setting."""

    setting: Setting
    bounds: LogBounds
    range: CleanableRange
    ratio: DirtyRatio
    gain: Gain
    segments: tuple[SegmentState, ...] | None  # None: each record is a closed segment of its own

    @property
    def eligible(self) -> bool:
        """Whether a broker would clean the log: compacted, and dirty or late enough (R7)."""
        return "compact" in self.setting.policy.cleanup_policy and self.ratio.eligible

    @property
    def binding_limit(self) -> str:
        """The deciding limit: why the log is eligible, or what keeps it from being so."""
        if "compact" not in self.setting.policy.cleanup_policy:
            return "cleanup.policy"
        if self.ratio.cleanable_bytes:
            return "ratio" if self.ratio.due_by_ratio or not self.ratio.due_by_lag else "maximum lag"
        is_clean = self.range.first_dirty_offset >= self.bounds.log_end_offset
        return "nothing dirty" if is_clean or self.range.bounded_by == "log end" else self.range.bounded_by

    @property
    def buffer_bytes(self) -> int | None:
        """The dedupe buffer that holds the dirty section's keys in one round; None: none is enough."""
        return buffer_bytes_for(self.gain.map_entries, self.setting.policy)


def plan_scan(context: LogContext, settings: Sequence[Setting]) -> ScanPlan:
    """The bounds that the scan of one log has to note, so that all ``settings`` can be assessed from it."""
    policies = [setting.policy for setting in settings]
    now_ms = policies[0].now_ms
    fixed = {segment.base_offset for segment in context.segments or ()}
    fixed |= {context.last_stable_offset} if context.last_stable_offset is not None else set()
    lags = {policy.min_compaction_lag_ms for policy in policies if policy.min_compaction_lag_ms > 0}
    limits = {limit for policy in policies if (limit := map_limit(policy)) is not None}
    return ScanPlan(
        now_ms=now_ms,
        first_dirty_offset=lookup_for(context, policies[0]).first_dirty_offset,
        fixed_offsets=tuple(sorted(fixed)),
        roll_settings=tuple({s: None for setting in settings if (s := _rolling(setting, context))}),
        young_limits_ms=tuple(sorted(now_ms - lag_ms for lag_ms in lags)),
        map_limits=tuple(sorted(limits)),
    )


def assess(log: ScannedLog, setting: Setting) -> Dirtiness:
    """The log under one of its settings (or one that differs from it in lag, ratio or policy words only)."""
    dirtiness = _range_and_ratio(log, setting, log.scan.dirty)
    if not dirtiness.ratio.cleanable_bytes:  # no round is made where nothing is between its bounds (R7)
        return replace(dirtiness, gain=Gain(map_limit=map_limit(setting.policy)))
    return replace(dirtiness, gain=gain_below(log, dirtiness.range, setting.policy))


def estimate(log: ScannedLog, setting: Setting) -> Dirtiness:
    """The log as if all below the first record whose key came before had been cleaned once.

    An estimate for dumps without a checkpoint: no cleaner can have passed that record, or the earlier one of
    its key would be gone. The gain is empty.
    """
    bounds = log_bounds(log.context, log.scan.first_offset, log.scan.last_offset + 1)
    start = log.scan.estimated.start
    context = replace(log.context, checkpoint_offset=start.offset if start else bounds.log_end_offset)
    return _range_and_ratio(replace(log, context=context), setting, log.scan.estimated)


def _range_and_ratio(log: ScannedLog, setting: Setting, section: DirtySection) -> Dirtiness:
    policy, context = setting.policy, log.context
    bounds = log_bounds(context, log.scan.first_offset, log.scan.last_offset + 1)
    segments = _segments(log, setting)
    if segments:
        cleanable = segmented_range(segments, bounds, context.checkpoint_offset, policy)
        ratio = segmented_ratio(segments, cleanable, policy)
    else:
        young = _young(section, log.plan, policy)
        cleanable = unsegmented_range(bounds, context.checkpoint_offset, young.offset if young else None)
        ratio = _unsegmented_ratio(log.scan, section, cleanable, policy)
    return Dirtiness(setting, bounds, cleanable, ratio, Gain(), segments)


def gain_below(log: ScannedLog, cleanable: CleanableRange, policy: Policy) -> Gain:
    """The gain of cleaning the range; nothing if it is empty."""
    bound = cleanable.first_uncleanable_offset
    limit = map_limit(policy)
    if bound <= cleanable.first_dirty_offset:
        return Gain(map_limit=limit)
    mark = mark_at(log.scan, bound)
    full = log.scan.full_maps_at[log.plan.map_limits.index(limit)] if limit is not None else []
    figures = {name: mark[name] for name in TOTALS if name not in {"records", "bytes"}}
    figures |= {name: round(figures[name] * log.share_on_disk) for name in figures if name.endswith("_bytes")}
    return Gain(**figures, map_limit=limit, rounds=1 + sum(stop < bound for stop in full))


def perfect_gain(log: ScannedLog) -> Gain:
    """The gain of cleaning every record of the log, as if nothing were held back."""
    everything = CleanableRange(-1, log.scan.end.offset, "log end", checkpoint_reset=False)
    return gain_below(log, everything, log.settings[0].policy)


def mark_at(scan: LogScan, offset: int) -> Mark:
    """The totals below an offset, which is a bound of the plan."""
    marks = [segment.mark for segments in (scan.fixed, *scan.rolled) for segment in segments]
    sections = (scan.dirty, scan.estimated)
    marks += [mark for section in sections for mark in (section.start, *section.young) if mark]
    at_or_above = [mark for mark in marks if mark.offset >= offset]
    # No record is between a bound and the next mark at or above it, since every bound is marked.
    return min(at_or_above, key=lambda mark: mark.offset, default=scan.end)


def _rolling(setting: Setting, context: LogContext) -> RollSettings | None:
    """How the log's segments are to be rolled; None: they are known, or the policy rolls none."""
    rolls, policy = setting.reroll or context.segments is None, setting.rolled_by or setting.policy
    return roll_settings(policy) if rolls and is_rolled(policy) else None


def _segments(log: ScannedLog, setting: Setting) -> tuple[SegmentState, ...] | None:
    settings = _rolling(setting, log.context)
    if settings:
        return _rolled_segments(log, log.plan.roll_settings.index(settings))
    return None if log.context.segments is None or setting.reroll else _known_segments(log.scan, log.context)


def _rolled_segments(log: ScannedLog, index: int) -> tuple[SegmentState, ...]:
    scanned, share = log.scan.rolled[index], log.share_on_disk
    starts = [round(mark["bytes"] * share) for mark in [*(s.mark for s in scanned), log.scan.end]]
    return tuple(
        SegmentState(
            segment.mark.offset,
            end - start,
            segment.largest_timestamp_ms,
            -1 if segment.first_timestamp_ms is None else segment.first_timestamp_ms,
        )
        for segment, (start, end) in zip(scanned, pairwise(starts), strict=True)
    )


def _known_segments(scan: LogScan, context: LogContext) -> tuple[SegmentState, ...]:
    """Segments with known sizes and file times, and timestamps of their batches, or else of their records.

    Batches are better, as markers have timestamps, too.
    """
    segments = context.segments or ()
    bases = [segment.base_offset for segment in segments]
    times: list[list[tuple[int, int]]] = [[] for _ in segments]  # (first, largest) of each part of a segment
    for offset, first_ms, largest_ms in _parts(scan, context, bases):
        if offset >= bases[0]:
            times[containing(bases, offset)].append((first_ms, largest_ms))
    return tuple(
        SegmentState(
            segment.base_offset,
            segment.size_bytes,
            max((largest_ms for _, largest_ms in part_times), default=-1),
            part_times[0][0] if part_times else -1,
            segment.mtime_ms,
        )
        for segment, part_times in zip(segments, times, strict=True)
    )


def _young(section: DirtySection, plan: ScanPlan, policy: Policy) -> Mark | None:
    if policy.min_compaction_lag_ms <= 0:
        return None
    return section.young[plan.young_limits_ms.index(policy.now_ms - policy.min_compaction_lag_ms)]


def _unsegmented_ratio(
    scan: LogScan, section: DirtySection, cleanable: CleanableRange, policy: Policy
) -> DirtyRatio:
    """Byte sums where each record is a segment (R6); the delay is that of the oldest dirty record (R8)."""
    clean = section.start["bytes"] if section.start else scan.end["bytes"]
    below_bound = max(clean, mark_at(scan, cleanable.first_uncleanable_offset)["bytes"])
    delay_ms = compaction_delay_ms([section.oldest_ms], policy)
    return DirtyRatio(
        clean,
        below_bound - clean,
        scan.end["bytes"] - below_bound,
        delay_ms,
        policy.min_cleanable_dirty_ratio,
    )


def _parts(scan: LogScan, context: LogContext, bases: list[int]) -> Iterator[tuple[int, int, int]]:
    """Offset, timestamp of the first batch and largest timestamp of parts of segments, in order."""
    if context.batches is None:
        for part in scan.fixed:
            if part.first_timestamp_ms is not None:
                yield part.mark.offset, part.first_timestamp_ms, part.largest_timestamp_ms
        return
    for batches in context.batches.parts():
        cuts = np.searchsorted(batches.base_offset, bases).tolist()
        for start, end in pairwise(sorted({0, *cuts, len(batches)})):
            newest_ms = int(batches.max_timestamp_ms[start:end].max())
            yield int(batches.base_offset[start]), int(batches.max_timestamp_ms[start]), newest_ms
