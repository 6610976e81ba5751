"""unexpected-record: AFTER holds an offset that BEFORE does not."""

from pyspark.sql import Row
from pyspark.sql import functions as F

from kcompact.verify.check import Check


def _expected(row: Row) -> str:
    if row.before_end_offset is None:
        return "no record: BEFORE has no such partition"
    if row.offset >= row.before_end_offset:
        return f"no record: BEFORE ends at offset {row.before_end_offset} (was AFTER dumped later?)"
    return "no record at this offset"


CHECK = Check(
    name="unexpected-record",
    title="AFTER holds a record at an offset that BEFORE does not have.",
    finds=lambda: F.col("in_after") & ~F.col("in_before") & F.col("moved_from_offset").isNull(),
    expected=_expected,
    found=lambda row: "a tombstone" if row.after_is_tombstone else "a record",
)
