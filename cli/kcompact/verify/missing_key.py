"""missing-key: lost state. The key lives in BEFORE, and AFTER has no record of it."""

from pyspark.sql import functions as F

from kcompact.verify.check import Check
from kcompact.verify.judge import is_lost_last_record

CHECK = Check(
    name="missing-key",
    title="Lost state: a key that lives in BEFORE has no record left in AFTER.",
    finds=lambda: is_lost_last_record() & ~F.col("is_tombstone") & F.col("kept_offset").isNull(),
    expected="the key's last value, at offset {offset}",
    found="no record of this key",
)
