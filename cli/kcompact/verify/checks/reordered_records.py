"""reordered-records: AFTER's records do not come in the order of their offsets.

A dump may be out of order from its start: a record that follows a larger offset in BEFORE's file, too, is not
counted.
"""

from kcompact.verify.check import Check, no_rows

CHECK = Check(
    name="reordered-records",
    finds=no_rows,  # ``disorder.sort_out`` does, before keys are looked at
    expected="records of a partition in the order of their offsets",
    actual="a smaller offset behind a larger one",
)
