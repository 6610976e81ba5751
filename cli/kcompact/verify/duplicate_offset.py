"""duplicate-offset: AFTER holds an offset more than once."""

from pyspark.sql import functions as F

from kcompact.verify.check import Check

CHECK = Check(
    name="duplicate-offset",
    title="An offset stands in AFTER more than once.",
    finds=lambda: F.col("after_copies") > 1,
    expected="one record at this offset",
    found="{after_copies} records",
)
