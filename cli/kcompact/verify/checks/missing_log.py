"""missing-log: AFTER has no record of a log that has live keys in BEFORE: one finding, not one per key."""

from kcompact.verify.check import Check, no_rows

CHECK = Check(
    name="missing-log",
    finds=no_rows,  # ``missing_logs.without_missing_logs`` does, from what is found of single keys
    expected="records of this partition",
    actual="none",
)
