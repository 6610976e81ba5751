"""lost-below-first-dirty: a clean record is gone although no dirty one replaces it (R21)."""

from pyspark.sql import functions as F

from kcompact.verify.check import Check
from kcompact.verify.judge import is_lost

CHECK = Check(
    name="lost-below-first-dirty",
    title="A record below the checkpoint is gone although no record from the checkpoint on replaces it.",
    finds=lambda: (
        is_lost() & ~F.col("end_is_given") & F.col("next_offset").isNotNull() & F.col("dirty_offset").isNull()
    ),
    expected="this record: offset {next_offset} replaces it, but lies below the checkpoint",
    found="no record",
)
