"""changed-record: an offset holds another key, value, timestamp or headers than before."""

from pyspark.sql import Row
from pyspark.sql import functions as F

from kcompact.verify.check import Check


def _found(row: Row) -> str:
    if row.is_tombstone == row.after_is_tombstone:
        return f"another {row.changed}"
    became = "a tombstone became a value" if row.is_tombstone else "a value became null"
    return f"another {row.changed} ({became})"


CHECK = Check(
    name="changed-record",
    title="A record's key, value, timestamp or headers differ from BEFORE.",
    finds=lambda: F.col("changed").isNotNull() & F.col("moved_from_offset").isNull(),
    expected="the same record as in BEFORE",
    found=_found,
)
