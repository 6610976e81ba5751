"""Retention where no segments are known: from the oldest record to the first that may stay (R53, L1)."""

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from kcompact.log.decisions import Plan, with_verdicts
from kcompact.log.per_log import per_log
from kcompact.log.policy import Policy
from kcompact.log.range import LogBounds
from kcompact.log.retention import Retained
from kcompact.log.verdicts import Verdict


@dataclass(frozen=True)
class RecordRetention:
    """What retention may delete of one log, record by record."""

    bounds: LogBounds
    policy: Policy

    @property
    def oldest_ms(self) -> int | None:
        """Timestamps below this one are too old; None: any age stays."""
        retention_ms = self.policy.retention_ms
        if "delete" not in self.policy.cleanup_policy or retention_ms is None or retention_ms < 0:
            return None
        return self.policy.now_ms - retention_ms

    @property
    def most_bytes(self) -> int | None:
        """The size above which the oldest records go; None: any size stays."""
        retention_bytes = self.policy.retention_bytes
        if "delete" not in self.policy.cleanup_policy or retention_bytes is None or retention_bytes < 0:
            return None
        return retention_bytes


def expire_records(
    tracked: DataFrame, plans: Mapping[int, Plan], retentions: Mapping[int, RecordRetention]
) -> dict[int, Retained]:
    """Where each log starts once retention has run on what the rounds left: at most one Spark job."""
    limited = {i: r for i, r in retentions.items() if r.oldest_ms is not None or r.most_bytes is not None}
    starts = {i: r.bounds.log_start_offset for i, r in limited.items()}
    found = {i: Retained((), r.bounds.log_start_offset) for i, r in retentions.items() if i not in limited}
    if not limited:
        return found
    left = with_verdicts(tracked, plans, ["log_id", "offset", "timestamp_ms", "log_bytes"]).where(
        (F.col("verdict") == Verdict.RETAINED) & (F.col("offset") >= per_log(starts))
    )
    sizes = {i: r.most_bytes for i, r in limited.items() if r.most_bytes is not None}
    ages = {i: r.oldest_ms for i, r in limited.items() if r.oldest_ms is not None}
    stays = F.expr("true")
    if sizes:
        left = _with_excess(left, sizes)
        stays = F.coalesce(F.col("bytes_so_far") > F.col("excess"), stays)
    # A record without a timestamp is as old as its file, which nobody knows: it stays.
    recent = F.coalesce(
        (F.col("timestamp_ms") < 0) | (F.col("timestamp_ms") >= per_log(ages)), F.expr("true")
    )
    marked = left.withColumn("first", F.when(stays & recent, F.col("offset")))
    rows = (
        marked.withColumn("start", F.min("first").over(Window.partitionBy("log_id")))
        .groupBy("log_id")
        .agg(
            F.min("start").alias("start"),
            F.count_if(F.col("start").isNull() | (F.col("offset") < F.col("start"))).alias("expired"),
        )
        .toArrow()
        .to_pylist()
    )
    empty = {i: Retained((), starts[i]) for i in limited}
    return found | empty | {row["log_id"]: _retained(row, limited[row["log_id"]]) for row in rows}


def _with_excess(left: DataFrame, sizes: Mapping[int, int]) -> DataFrame:
    """R53b: the bytes from the log's start up to each record, and what there is too much of in all."""
    log_bytes = F.col("log_bytes").cast("long")
    of_log = Window.partitionBy("log_id")
    so_far = of_log.orderBy("offset").rowsBetween(Window.unboundedPreceding, Window.currentRow)
    return left.withColumns(
        {
            "bytes_so_far": F.sum(log_bytes).over(so_far),
            "excess": F.sum(log_bytes).over(of_log) - per_log(sizes),
        }
    )


def _retained(row: Mapping[str, int | None], retention: RecordRetention) -> Retained:
    bounds, start, expired = retention.bounds, row["start"], row["expired"] or 0
    if not expired:
        return Retained((), bounds.log_start_offset)
    return Retained((), bounds.log_end_offset if start is None else start, expired)
