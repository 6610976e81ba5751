"""aborted-left: below the cleaned end AFTER still holds data of an aborted transaction (R17)."""

from pyspark.sql import functions as F

from kcompact.verify.check import Check, Severity

CHECK = Check(
    name="aborted-left",
    title="A record of an aborted transaction is still there below the cleaned end.",
    finds=lambda: (
        F.col("aborted") & F.col("in_after") & ~F.col("is_control") & (F.col("offset") < F.col("end_offset"))
    ),
    expected="no record: its transaction was aborted",
    found="the aborted record",
    severity=Severity.NOTE,
)
