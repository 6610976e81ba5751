"""keyless-left: AFTER still holds a record without a key below the cleaned end; a broker drops it (R20)."""

from kcompact.verify.check import Check, Severity

CHECK = Check(
    name="keyless-left",
    title="A record without a key is still there below the cleaned end, where a broker drops it.",
    finds=lambda s: (
        s.is_kept
        & s.rows.is_keyless
        & ~s.rows.is_control
        & ~s.rows.is_aborted
        & (s.rows.offset < s.end_offset)
    ),
    expected="no record: it has no key",
    found="a record without a key",
    severity=Severity.NOTE,
)
