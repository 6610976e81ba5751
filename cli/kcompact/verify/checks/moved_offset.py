"""moved-offset: a record of BEFORE that is at another offset in AFTER."""

from kcompact.verify.check import Check

CHECK = Check(
    name="moved-offset",
    finds=lambda s: s.moves.has_come,
    expected="at {moved_from}, as in BEFORE",
    actual="the same key, value, timestamp and headers at this offset",
)
