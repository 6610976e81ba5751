"""The offset map of all rounds at once: where each record's key comes next, and where it was before."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from kcompact.log.verdicts import NEVER

NO_OFFSET = -1
"""``previous_offset`` of a key's first record."""


def is_mapped() -> Column:
    """R12, R18, R20: records with a key enter the map, unless they are aborted or control records."""
    return F.col("key").isNotNull() & ~F.col("is_aborted") & ~F.col("is_control")


OF_KEY = ("log_id", "key", "alone_offset")
"""Columns that the records of one key in one log share, and nobody else has."""


def with_offset_map(index: DataFrame) -> DataFrame:
    """The index (with the columns of LOOKED_UP) and three more columns.

    ``previous_offset``: where the key came before in this log, NO_OFFSET if nowhere; a record opens a map
    entry in a round whose first dirty offset lies above it (R13). ``superseded_at_offset``: the smallest
    later offset of the key in the dirty section, NEVER if none; plain "next" would not do, for a clean
    section may hold duplicates, which a map of the dirty section does not heal. ``is_repeated``: the dump
    holds the same offset once more, before this record.
    """
    of_key = Window.partitionBy(*OF_KEY)
    descending = [F.col(name).desc() for name in ("offset", "split_id", "position")]
    before = F.lead("offset").over(of_key.orderBy(*descending))
    in_dirty_section = F.when(F.col("offset") >= F.col("first_dirty_offset"), F.col("offset"))
    # Ordered from the end, the later records of a key are the ones already passed: a running minimum.
    later = of_key.orderBy(F.col("offset").desc()).rangeBetween(Window.unboundedPreceding, -1)
    # Records outside the map get a partition each, lest they all meet in one.
    alone = F.when(~is_mapped(), F.col("offset"))
    # A column of its own: windows over expressions are not seen to be alike, and each would shuffle anew.
    return (
        index.withColumn("alone_offset", alone)
        .withColumns(
            {
                "is_repeated": F.coalesce(before == F.col("offset"), F.expr("false")),
                "previous_offset": F.when(is_mapped(), before),
            }
        )
        .withColumns(
            {
                "previous_offset": F.coalesce("previous_offset", F.lit(NO_OFFSET)),
                "superseded_at_offset": F.when(
                    is_mapped(), F.coalesce(F.min(in_dirty_section).over(later), F.lit(NEVER))
                ).otherwise(F.lit(NEVER)),
            }
        )
    )
