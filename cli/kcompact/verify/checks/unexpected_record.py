"""unexpected-record: AFTER holds an offset that BEFORE does not."""

from kcompact.verify.check import Check
from kcompact.verify.classification.suspects import SuspectRow
from kcompact.verify.rows.key_rows import NOWHERE


def _expected(row: SuspectRow) -> str:
    if row.before_end_offset is None:
        return "no record: BEFORE has no such partition"
    if row.offset >= row.before_end_offset:
        return f"no record: BEFORE ends at offset {row.before_end_offset} (was AFTER dumped later?)"
    return "no record at this offset"


CHECK = Check(
    name="unexpected-record",
    finds=lambda s: ~s.rows.in_before & (s.replaced_at == NOWHERE) & ~s.moves.has_come,
    expected=_expected,
    actual=lambda row: "a tombstone" if row.after_is_tombstone else "a record",
)
