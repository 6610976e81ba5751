"""duplicate-left: below the cleaned end AFTER still holds a record that a later one replaces."""

from kcompact.verify.check import Check, Severity

CHECK = Check(
    name="duplicate-left",
    title="A record below the cleaned end is still there although a later one there replaces it.",
    finds=lambda s: (
        s.is_kept
        & (s.judged.superseded_at_offset < s.end_offset)
        # Where the later ones are lost, that is what is wrong, not that this one is still there.
        & (s.rows.offset < s.history.kept_offset)
    ),
    expected="no record: offset {superseded_at_offset} replaces it",
    found="the older record",
    severity=Severity.NOTE,
)
