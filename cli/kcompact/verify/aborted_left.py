"""aborted-left: below the cleaned end AFTER still holds data of an aborted transaction (R17)."""

from kcompact.verify.check import Check, Severity

CHECK = Check(
    name="aborted-left",
    title="A record of an aborted transaction is still there below the cleaned end.",
    finds=lambda s: s.is_kept & s.rows.is_aborted & ~s.rows.is_control & (s.rows.offset < s.end_offset),
    expected="no record: its transaction was aborted",
    found="the aborted record",
    severity=Severity.NOTE,
)
