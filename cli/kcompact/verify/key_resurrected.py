"""key-resurrected: a deletion is undone. BEFORE ends with a tombstone, AFTER with a value."""

from pyspark.sql import functions as F

from kcompact.verify.check import Check
from kcompact.verify.judge import is_last_record, is_lost_last_record

CHECK = Check(
    name="key-resurrected",
    title="A deletion is undone: the key's last record in BEFORE is a tombstone, in AFTER it is a value.",
    finds=lambda: (
        F.col("is_tombstone")
        & ~F.col("kept_is_tombstone")
        # Either the tombstone is gone and an older value stayed, or its own record became a value.
        & (is_lost_last_record() | (is_last_record() & F.col("changed").isNotNull()))
    ),
    expected="the key deleted by the tombstone at offset {offset}",
    found="a value at offset {kept_offset}",
)
