"""stale-value: the record that AFTER keeps is not the latest of its key."""

from pyspark.sql import functions as F

from kcompact.verify.check import Check
from kcompact.verify.judge import is_lost_last_record

CHECK = Check(
    name="stale-value",
    title="The record kept for a key is not its latest one.",
    finds=lambda: is_lost_last_record() & ~F.col("is_tombstone") & F.col("kept_offset").isNotNull(),
    expected="the key's last value, at offset {offset}",
    found=lambda row: (
        f"an older {'tombstone' if row.kept_is_tombstone else 'value'}, at offset {row.kept_offset}"
    ),
)
