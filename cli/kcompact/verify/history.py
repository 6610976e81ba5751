"""What the other records of the same key say about a record."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F


def with_history(paired: DataFrame) -> DataFrame:
    """Add what BEFORE and AFTER know about a row's key, within its log.

    ``paired`` is made by ``pair`` and has ``checkpoint_offset`` (null: none). Only data records of BEFORE
    count (``is_data``: a key, no marker, not aborted). Added, null for other rows:
    ``latest_offset`` and ``latest_is_tombstone``: the key's last record in BEFORE;
    ``kept_offset`` and ``kept_is_tombstone``: its last record that AFTER has at the same offset;
    ``next_offset``: the key's next record in BEFORE; ``dirty_offset``: its next one from the checkpoint on.
    """
    # Records that have no history stand alone, instead of meeting under the null key in one task. A column of
    # its own: windows over expressions are not seen to be alike, and each would shuffle anew.
    alone = F.when(~F.col("is_data"), F.col("offset"))
    rows = paired.withColumn("is_data", _is_data()).withColumn("alone_offset", alone)
    of_key = Window.partitionBy("log_id", "key", "alone_offset")
    later = of_key.orderBy(F.desc("offset")).rowsBetween(Window.unboundedPreceding, -1)
    is_dirty = F.col("offset") >= F.coalesce("checkpoint_offset", F.col("offset"))
    kept_offset = F.when(F.col("in_after") & F.col("key").eqNullSafe(F.col("after_key")), F.col("offset"))
    facts = {
        "next_offset": F.min("offset").over(later),
        "dirty_offset": F.min(F.when(is_dirty, F.col("offset"))).over(later),
        "latest_offset": F.max("offset").over(of_key),
        "latest_is_tombstone": F.max_by("is_tombstone", "offset").over(of_key),
        "kept_offset": F.max(kept_offset).over(of_key),
        "kept_is_tombstone": F.max_by("after_is_tombstone", kept_offset).over(of_key),
    }
    return rows.withColumns({name: F.when(F.col("is_data"), fact) for name, fact in facts.items()})


def _is_data() -> Column:
    return F.col("in_before") & F.col("key").isNotNull() & ~F.col("is_control") & ~F.col("aborted")
