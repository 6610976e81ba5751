"""What is known about each log before it is judged: policy, checkpoint, bounds of every round."""

from dataclasses import dataclass, field

from pyspark.sql import DataFrame, SparkSession

from kcompact.log.policy import Policy


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
        # A log that is not compacted has no cleanable section at all.
        bounds.uncleanable_offset if "compact" in policy.cleanup_policy else 0,
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
