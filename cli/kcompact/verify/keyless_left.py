"""keyless-left: AFTER still holds a record without a key below the cleaned end; a broker drops it (R20)."""

from pyspark.sql import functions as F

from kcompact.verify.check import Check, Severity

CHECK = Check(
    name="keyless-left",
    title="A record without a key is still there below the cleaned end, where a broker drops it.",
    finds=lambda: (
        F.col("in_before")
        & F.col("in_after")
        & F.col("key").isNull()
        & ~F.col("is_control")
        & ~F.col("aborted")
        & (F.col("offset") < F.col("end_offset"))
    ),
    expected="no record: it has no key",
    found="a record without a key",
    severity=Severity.NOTE,
)
