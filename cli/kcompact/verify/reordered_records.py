"""reordered-records: AFTER's records do not come in the order of their offsets."""

from pyspark.sql import DataFrame, Window, WindowSpec
from pyspark.sql import functions as F

from kcompact.verify.check import Check

CHECK = Check(
    name="reordered-records",
    title="AFTER's records come neither in the order of their offsets nor in BEFORE's order.",
    finds=lambda: F.col("previous_offset") > F.col("offset"),
    expected="records of a partition in the order of their offsets",
    found="offset {offset} after offset {previous_offset}",
)


def reordered(before: DataFrame | None, after: DataFrame) -> DataFrame:
    """Records of AFTER that directly follow one of their log and file with a larger offset.

    Both are index rows with ``file_id``. A dump may be out of order from its start: a record that follows a
    larger offset in BEFORE's file too is not counted. Columns: log_id, offset, key, ``previous_offset``.
    """
    previous = F.lag("offset").over(_in_file())
    found = after.withColumn("previous_offset", previous).where("previous_offset > offset")
    found = found.select("log_id", "offset", "key", "previous_offset")
    if before is None:
        return found
    so_far = F.max("offset").over(_in_file().rowsBetween(Window.unboundedPreceding, -1))
    same = before.withColumn("largest_offset", so_far).where("largest_offset > offset")
    return found.join(same.select("log_id", "offset").distinct(), on=["log_id", "offset"], how="left_anti")


def _in_file() -> WindowSpec:
    return Window.partitionBy("log_id", "file_id").orderBy("split_id", "position")
