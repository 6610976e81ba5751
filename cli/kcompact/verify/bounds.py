"""What is known about each log before it is judged: policy, checkpoint, bounds of every round."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from pyspark.sql import DataFrame, SparkSession

from kcompact.log.policy import Policy
from kcompact.log.verdicts import UNKNOWN_HORIZON_MS
from kcompact.verify.settling import ALWAYS, Replaceable


@dataclass(frozen=True)
class Bounds:
    """What the user's files and options say about one log; None where they are silent.

    ``checkpoint_offset`` is a cleaner checkpoint's entry. ``uncleanable_offset`` (exclusive) bounds every
    round: active segment, minimum lag, last stable offset. Records below ``log_start_offset`` may be gone.
    """

    policy: Policy = field(default_factory=Policy)
    checkpoint_offset: int | None = None
    uncleanable_offset: int | None = None
    log_start_offset: int | None = None
    checkpoint_is_end: bool | None = (
        None  # whether the checkpoint was taken after the cleaning; None: unknown
    )

    @property
    def limits_bytes(self) -> bool:
        """Whether ``retention.bytes`` may have taken records from the front."""
        return "delete" in self.policy.cleanup_policy and _limit(self.policy.retention_bytes) is not None

    @property
    def cleaned_before_offset(self) -> int | None:
        """What bounds every round: a log that is not compacted has no cleanable section at all."""
        return self.uncleanable_offset if "compact" in self.policy.cleanup_policy else 0

    @property
    def replaceable(self) -> Replaceable | None:
        """Which records can have replaced others; None: what is gone has to tell, or retention took some."""
        is_open = self.checkpoint_offset is not None and self.checkpoint_is_end is None
        if is_open or self.log_start_offset is not None or "delete" in self.policy.cleanup_policy:
            return None
        ends = [one for one in (self.cleaned_before_offset,) if one is not None]
        if self.checkpoint_offset is None:
            return Replaceable(end_offset=min(ends, default=ALWAYS))
        if self.checkpoint_is_end:
            return Replaceable(end_offset=min([*ends, self.checkpoint_offset]))
        return Replaceable(self.checkpoint_offset, min(ends, default=ALWAYS))

    def is_due(self, tombstone: Sequence[int], first_kept_tombstone: int | None) -> bool:
        """Whether a tombstone may have gone by itself, by the rules of ``removal.is_too_early``.

        It is a row of ``SettledLog.tombstones``.
        """
        offset, _, timestamp_ms, horizon_ms = tombstone
        if self.policy.drop_tombstones:
            return True
        if horizon_ms != UNKNOWN_HORIZON_MS:
            return horizon_ms <= self.policy.now_ms
        by_order = first_kept_tombstone is not None and offset > first_kept_tombstone
        return not by_order and timestamp_ms <= self.policy.now_ms - self.policy.delete_retention_ms


def bounds_table(
    spark: SparkSession, logs: dict[int, tuple[str, int]], bounds: dict[int, Bounds]
) -> DataFrame:
    """One row per log. ``log_number`` counts logs by topic and partition: the order of findings."""
    in_order = sorted(logs, key=logs.__getitem__)
    rows = [
        (log_id, number, logs[log_id][0], *_known(bounds.get(log_id, Bounds())))
        for number, log_id in enumerate(in_order)
    ]
    return spark.createDataFrame(
        rows,
        "log_id long, log_number int, topic string, checkpoint_offset long, checkpoint_is_end boolean, "
        "uncleanable_offset long, log_start_offset long, now_ms long, drops_tombstones boolean, "
        "tombstones_due_ms long, "
        "records_expired_ms long, retention_bytes long",
    )


def _known(bounds: Bounds) -> tuple[int | bool | None, ...]:
    policy = bounds.policy
    expires = "delete" in policy.cleanup_policy
    return (
        bounds.checkpoint_offset,
        bounds.checkpoint_is_end,
        bounds.cleaned_before_offset,
        bounds.log_start_offset,
        policy.now_ms,
        policy.drop_tombstones,
        policy.now_ms - policy.delete_retention_ms,
        _expired_ms(policy) if expires else None,
        _limit(policy.retention_bytes) if expires else None,
    )


def _expired_ms(policy: Policy) -> int | None:
    """Records older than this may be gone; None: retention.ms takes nothing."""
    retention_ms = _limit(policy.retention_ms)
    return None if retention_ms is None else policy.now_ms - retention_ms


def _limit(value: int | None) -> int | None:
    """A retention config, where it limits anything (-1 does not)."""
    return value if value is not None and value >= 0 else None
