"""The smallest config change that makes a log eligible, and what else it waits for (R2, R4, R7)."""

import math
from dataclasses import dataclass, replace

from kcompact.dirtiness.dirtiness import Dirtiness, ScannedLog, assess
from kcompact.rules.files.segments import SegmentState, containing, roll_limit_ms
from kcompact.rules.policy import Policy
from kcompact.rules.range import segmented_range
from kcompact.rules.ratio import segmented_ratio

_MOST_STEPS = 4  # policy, lag, roll, ratio; each is needed at most once


@dataclass(frozen=True)
class ConfigChange:
    """One config, with name and value as Kafka spells them; ``before`` is the value to restore afterwards."""

    name: str
    value: str
    before: str


@dataclass(frozen=True)
class Remedy:
    """How to make a log eligible now. ``waits_for``: what is needed besides and no config can bring about."""

    changes: tuple[ConfigChange, ...]
    waits_for: str | None = None


@dataclass(frozen=True)
class _Supposed:
    """The log as it would be after the changes so far."""

    policy: Policy
    is_rolled: bool  # the active segment has been closed by one more record


def smallest_change(log: ScannedLog) -> Remedy | None:
    """The smallest change that makes the log eligible under its configured setting; None if it is so already.

    Lags are lowered no further than needed, thresholds to the next hundredth below the ratio.
    """
    supposed = _Supposed(log.settings[0].policy, is_rolled=False)
    changes: list[ConfigChange] = []
    waits_for: str | None = None
    for _ in range(_MOST_STEPS):
        dirtiness = _look(log, supposed)
        if dirtiness.eligible:
            return Remedy(tuple(changes), waits_for) if changes or waits_for else None
        limit = dirtiness.binding_limit
        if limit == "last stable offset":
            waits_for = f"the transaction that is open at offset {dirtiness.bounds.last_stable_offset} to end"
            break
        if limit == "nothing dirty":
            waits_for = "new records"
            break
        if limit == "active segment":
            waits_for = "one more record: a broker closes a segment on append only"
            supposed, change = replace(supposed, is_rolled=True), _roll(dirtiness)
        else:
            supposed, change = _change(dirtiness, limit, supposed)
        changes += [change] if change else []
    return Remedy(tuple(changes), waits_for)


def _change(dirtiness: Dirtiness, limit: str, supposed: _Supposed) -> tuple[_Supposed, ConfigChange]:
    policy = supposed.policy
    if limit == "cleanup.policy":
        words = policy.cleanup_policy | {"compact"}
        change = ConfigChange(
            "cleanup.policy", ",".join(sorted(words)), ",".join(sorted(policy.cleanup_policy))
        )
        return replace(supposed, policy=replace(policy, cleanup_policy=words)), change
    if limit == "minimum lag":
        lag_ms = _largest_lag_ms(dirtiness)
        change = ConfigChange("min.compaction.lag.ms", str(lag_ms), str(policy.min_compaction_lag_ms))
        return replace(supposed, policy=replace(policy, min_compaction_lag_ms=lag_ms)), change
    ratio = _threshold_below(dirtiness.ratio.ratio)
    change = ConfigChange("min.cleanable.dirty.ratio", f"{ratio:g}", f"{policy.min_cleanable_dirty_ratio:g}")
    return replace(supposed, policy=replace(policy, min_cleanable_dirty_ratio=ratio)), change


def _look(log: ScannedLog, supposed: _Supposed) -> Dirtiness:
    configured = log.settings[0]  # a config that is changed now closes no segment that was open before
    dirtiness = assess(log, replace(configured, policy=supposed.policy, rolled_by=configured.policy))
    if not supposed.is_rolled or not dirtiness.segments:
        return dirtiness
    segments = (*dirtiness.segments, SegmentState(dirtiness.bounds.log_end_offset, 0))
    cleanable = segmented_range(segments, dirtiness.bounds, log.context.checkpoint_offset, supposed.policy)
    ratio = segmented_ratio(segments, cleanable, supposed.policy)
    return replace(dirtiness, segments=segments, range=cleanable, ratio=ratio)


def _roll(dirtiness: Dirtiness) -> ConfigChange | None:
    """The segment age at which a record written now closes the active segment; None if it would anyway."""
    policy, segments = dirtiness.setting.policy, dirtiness.segments or ()
    age_ms = policy.now_ms - segments[-1].first_batch_timestamp_ms
    if age_ms > roll_limit_ms(policy):
        return None
    return ConfigChange("segment.ms", str(max(1, age_ms - 1)), str(roll_limit_ms(policy)))


def _largest_lag_ms(dirtiness: Dirtiness) -> int:
    """The largest minimum lag under which the first protected segment is cleanable; 0 switches it off."""
    policy, segments = dirtiness.setting.policy, dirtiness.segments
    if not segments:
        return 0
    bases = [segment.base_offset for segment in segments]
    limit_ms = policy.now_ms - policy.min_compaction_lag_ms
    closed = segments[containing(bases, dirtiness.range.first_dirty_offset) : -1]
    largest_ms = next(
        (age for s in closed if (age := s.age_timestamp_ms(mtime_unknown_ms=-1)) > limit_ms), limit_ms
    )
    return max(0, policy.now_ms - largest_ms)


def _threshold_below(ratio: float) -> float:
    hundredth = math.ceil(ratio * 100) - 1
    return max(0, hundredth) / 100
