"""duplicate-offset: AFTER holds an offset more than once."""

from kcompact.verify.check import Check, no_rows

CHECK = Check(
    name="duplicate-offset",
    finds=no_rows,  # ``disorder.sort_out`` does, before keys are looked at
    expected="one record at this offset",
    actual="several records",
)
