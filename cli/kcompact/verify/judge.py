"""Every row judged once: what it is, whether it is lost, and why it may be gone."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from kcompact.verify.removal import removal_reason, superseded_at_offset


def judged_rows(rows: DataFrame, readings: DataFrame) -> DataFrame:
    """Rows of ``with_history`` with their log's ``readings_table`` and the judgement.

    Added: ``superseded_at_offset``, ``reason`` (why a missing record may be missing) and ``is_lost``
    (missing without one).
    """
    read = rows.join(F.broadcast(readings), on="log_id", how="left")
    reasoned = read.withColumns({"superseded_at_offset": superseded_at_offset(), "reason": removal_reason()})
    gone = F.col("in_before") & ~F.col("in_after")
    return reasoned.withColumn("is_lost", gone & F.col("reason").isNull())


def is_lost() -> Column:
    """A record is missing without a reason, and does not stand elsewhere."""
    return F.col("is_lost") & ~F.col("is_moved_away")


def is_last_record() -> Column:
    """The last record of its key in BEFORE."""
    return F.col("offset") == F.col("latest_offset")


def is_lost_last_record() -> Column:
    """The last record of its key is missing, and it is known that it should not be."""
    return is_lost() & is_last_record()
