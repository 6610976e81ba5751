"""How many bytes of a log retention can have left: what BEFORE holds from AFTER's first record on."""

from collections.abc import Iterable, Mapping

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from kcompact.verify.bounds import Bounds
from kcompact.verify.cleaned_end import LogFacts


def retained_bytes(
    spark: SparkSession, rows: DataFrame, facts: Iterable[LogFacts], bounds: Mapping[int, Bounds]
) -> dict[int, int]:
    """By log id, of the logs that ``retention.bytes`` limits; nothing is computed where it limits none.

    ``rows`` are paired rows with BEFORE's ``log_bytes`` (estimates, R40): all rows of such a log, as none of
    its keys is ever settled (``Bounds.replaceable``). It counts what stood there before the cleaning: the
    cleaner's threads clean logs and delete segments in turn (``CleanerThread.cleanFilthiestLog``), so that
    retention may have seen all of it, and cleaning may have left less than ``retention.bytes``.
    """
    starts = {
        one.log_id: one.after_first_offset
        for one in facts
        if one.after_first_offset is not None and one.log_id in bounds and bounds[one.log_id].limits_bytes
    }
    if not starts or "log_bytes" not in rows.columns:
        return {}
    table = spark.createDataFrame(list(starts.items()), "log_id long, start_offset long")
    left = rows.join(F.broadcast(table), on="log_id").where("in_before and offset >= start_offset")
    sums = left.groupBy("log_id").agg(F.sum("log_bytes").alias("log_bytes"))
    return {row["log_id"]: row["log_bytes"] for row in sums.collect()}
