"""aborted-left: AFTER still holds data of an aborted transaction in what was rewritten (R17)."""

from kcompact.verify.check import Check
from kcompact.verify.classification.suspects import Suspects
from kcompact.verify.rows.key_rows import Flags


def _is_aborted(suspects: Suspects) -> Flags:
    return suspects.is_kept & suspects.rows.is_aborted & ~suspects.rows.is_control


CHECK = Check(
    name="aborted-left",
    finds=lambda s: _is_aborted(s) & ((s.rows.offset < s.end_offset) | s.is_rewritten_for_certain),
    is_certain=lambda s: s.is_rewritten_for_certain,
    expected="no record: its transaction was aborted",
    actual="the aborted record",
)
