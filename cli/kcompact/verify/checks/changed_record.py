"""changed-record: an offset holds another key, value, timestamp or headers than before."""

from kcompact.verify.check import Check
from kcompact.verify.classification.suspects import SuspectRow
from kcompact.verify.rows.key_rows import NOWHERE


def _actual(row: SuspectRow) -> str:
    details = []
    if "timestamp" in row.changed:
        details.append(f"timestamp {row.after_timestamp_ms} for {row.timestamp_ms}")
    if row.is_tombstone != row.after_is_tombstone:
        details.append("a tombstone became a value" if row.is_tombstone else "a value became null")
    parts = ["other headers" if part == "headers" else f"another {part}" for part in row.changed.split(", ")]
    return " and ".join(parts) + (f" ({'; '.join(details)})" if details else "")


CHECK = Check(
    name="changed-record",
    finds=lambda s: (s.rows.is_changed | (s.replaced_at != NOWHERE)) & ~s.moves.has_come,
    expected="the same record as in BEFORE",
    actual=_actual,
)
