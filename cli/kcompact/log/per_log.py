"""Numbers that differ from log to log, as a column."""

from collections.abc import Mapping

from pyspark.sql import Column
from pyspark.sql import functions as F

MOST_LOGS = 256
"""Spark looks such a number up by going through all of them: beyond this many, workers do it better."""


def per_log(values: Mapping[int, int]) -> Column:
    """The value of each row's log, null for a log without one."""
    if not values:
        return F.expr("cast(null as bigint)")
    pairs = [F.lit(number).cast("long") for pair in values.items() for number in pair]
    return F.create_map(*pairs)[F.col("log_id")]
