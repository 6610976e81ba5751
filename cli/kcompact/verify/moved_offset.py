"""moved-offset: a record of BEFORE that stands somewhere else in AFTER."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from kcompact.verify.check import Check
from kcompact.verify.pair import CONTENT

CHECK = Check(
    name="moved-offset",
    title="A record stands at another offset, or in another partition, than in BEFORE.",
    finds=lambda: F.col("moved_from_offset").isNotNull(),
    expected="at {moved_from_log}@{moved_from_offset}, as in BEFORE",
    found="the same key, value, timestamp and headers at this offset",
)

_PAIRED = ("topic", "content", "rank")


def with_moves(suspects: DataFrame, compared: frozenset[str]) -> DataFrame:
    """Pair records that are not where they were with records that are where they were not.

    ``suspects`` are judged rows; added: ``moved_from_log_id`` and ``moved_from_offset`` on the row where a
    record arrived, ``is_moved_away`` on the row that it left. Equal records (in the parts ``compared``) are
    paired in their order.
    """
    arrived = F.col("in_after") & (~F.col("in_before") | F.col("changed").isNotNull())
    left = F.col("in_before") & (F.col("changed").isNotNull() | F.col("is_lost"))
    arrivals = _ranked(suspects.where(arrived), _content("after_", compared)).select(
        *_PAIRED, F.col("log_id").alias("to_log_id"), F.col("offset").alias("to_offset")
    )
    departures = _ranked(suspects.where(left), _content("", compared)).select(
        *_PAIRED, F.col("log_id").alias("from_log_id"), F.col("offset").alias("from_offset")
    )
    moves = arrivals.join(departures, on=list(_PAIRED), how="inner")
    came = moves.select(
        F.col("to_log_id").alias("log_id"),
        F.col("to_offset").alias("offset"),
        F.col("from_log_id").alias("moved_from_log_id"),
        F.col("from_offset").alias("moved_from_offset"),
    )
    went = moves.select(
        F.col("from_log_id").alias("log_id"), F.col("from_offset").alias("offset"), F.lit(True).alias("went")
    )
    place = ["log_id", "offset"]
    joined = suspects.join(came, on=place, how="left").join(went, on=place, how="left")
    return joined.withColumn("is_moved_away", F.coalesce("went", F.lit(False))).drop("went")


def _ranked(rows: DataFrame, content: Column) -> DataFrame:
    in_order = Window.partitionBy("topic", "content").orderBy("log_number", "offset")
    return rows.withColumn("content", content).withColumn("rank", F.row_number().over(in_order))


def _content(prefix: str, compared: frozenset[str]) -> Column:
    parts = [F.col(f"{prefix}{name}") for name in CONTENT if name in compared]
    return F.concat_ws("|", *[F.coalesce(F.hex(part), F.lit("-")) for part in parts])
