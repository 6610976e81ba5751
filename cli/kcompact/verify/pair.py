"""BEFORE and AFTER side by side: one row per log and offset."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

PLACE = ("log_id", "offset")
CONTENT = {"key": "key", "timestamp_ms": "timestamp", "value_hash": "value", "headers_hash": "headers"}
"""What makes two records the same record: index column and the word for it."""

EXTRA = frozenset({"is_control", "value_hash", "headers_hash"})
"""Extra index columns that verification needs."""

_CARRIED = (*CONTENT, "is_tombstone", "is_control")


def pair(before: DataFrame, after: DataFrame, compared: frozenset[str] = frozenset(CONTENT)) -> DataFrame:
    """Join two indexes by log and offset.

    ``before`` and ``after`` have INDEX_SCHEMA and EXTRA; ``before`` also ``aborted`` (bool) and
    ``delete_horizon_ms`` (null: unknown) where they are known, and log_bytes where they are needed.
    AFTER's columns get the prefix ``after_``. Added: ``in_before``, ``in_after``, ``copies`` and
    ``after_copies`` (how often the offset stands there), ``copies_differ``, ``changed`` (the words for the
    parts of ``compared`` that differ, null if none does).
    """
    left = _once(with_optional_columns(before)).withColumn("in_before", F.lit(True))
    right = _once(after).drop("log_bytes")
    right = right.select(*PLACE, *[F.col(n).alias(f"after_{n}") for n in right.columns if n not in PLACE])
    joined = left.join(right.withColumn("in_after", F.lit(True)), on=list(PLACE), how="full")
    return joined.withColumns(
        {
            "in_before": F.coalesce("in_before", F.lit(False)),
            "in_after": F.coalesce("in_after", F.lit(False)),
        }
    ).withColumn("changed", F.when(F.col("in_before") & F.col("in_after"), _difference(compared)))


def alone(after: DataFrame) -> DataFrame:
    """One index paired with itself, in the columns of ``pair``."""
    once = _once(with_optional_columns(after))
    same = {f"after_{name}": F.col(name) for name in (*_CARRIED, "copies")}
    both = {"in_before": F.lit(True), "in_after": F.lit(True), "changed": F.lit(None).cast("string")}
    return once.withColumns({**same, **both})


def with_optional_columns(rows: DataFrame) -> DataFrame:
    """``aborted`` false and ``delete_horizon_ms`` unknown, where the index does not tell."""
    defaults = {"aborted": F.lit(False), "delete_horizon_ms": F.lit(None).cast("long")}
    return rows.withColumns({name: value for name, value in defaults.items() if name not in rows.columns})


def _once(rows: DataFrame) -> DataFrame:
    """The first record of every offset, in the order of the dump, and how many there are."""
    same_place = Window.partitionBy(*PLACE)
    content = F.xxhash64(*CONTENT)
    counted = rows.withColumns(
        {
            "copies": F.count(F.lit(1)).over(same_place),
            "copies_differ": F.min(content).over(same_place) != F.max(content).over(same_place),
            "copy": F.row_number().over(same_place.orderBy("split_id", "position")),
        }
    )
    optional = [name for name in ("aborted", "delete_horizon_ms", "log_bytes") if name in rows.columns]
    return counted.where("copy = 1").select(*PLACE, *_CARRIED, *optional, "copies", "copies_differ")


def _difference(compared: frozenset[str]) -> Column:
    words = [
        F.when(~F.col(name).eqNullSafe(F.col(f"after_{name}")), F.lit(word))
        for name, word in CONTENT.items()
        if name in compared
    ]
    said = F.concat_ws(", ", *words)
    return F.when(said != "", said)
