"""lost-above-end: a record is gone that lies above the cleaned end, or that only one above it replaces."""

from pyspark.sql import Column, Row
from pyspark.sql import functions as F

from kcompact.verify.check import Check
from kcompact.verify.judge import is_lost


def _expected(row: Row) -> str:
    if row.offset >= row.limit_offset:
        return f"this record: nothing from offset {row.limit_offset} on can be cleaned"
    return f"this record: it is replaced only at or above offset {row.limit_offset}, where cleaning ends"


def _replacing_offset() -> Column:
    return F.when(F.col("end_is_given"), F.col("next_offset")).otherwise(F.col("dirty_offset"))


CHECK = Check(
    name="lost-above-end",
    title="A record is gone that lies above the cleaned end, or that only a record above it replaces.",
    finds=lambda: (
        is_lost()
        & ((F.col("offset") >= F.col("limit_offset")) | (_replacing_offset() >= F.col("limit_offset")))
    ),
    expected=_expected,
    found="no record",
)
