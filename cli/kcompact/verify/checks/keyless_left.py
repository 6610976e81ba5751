"""keyless-left: AFTER still holds a record without a key below the cleaned end; a broker drops it (R20)."""

from kcompact.verify.check import Check
from kcompact.verify.classification.suspects import Suspects
from kcompact.verify.rows.key_rows import Flags


def _is_keyless(suspects: Suspects) -> Flags:
    rows = suspects.rows
    return suspects.is_kept & rows.is_keyless & ~rows.is_control & ~rows.is_aborted


CHECK = Check(
    name="keyless-left",
    finds=lambda s: _is_keyless(s) & ((s.rows.offset < s.end_offset) | s.is_mapped_for_certain),
    is_certain=lambda s: s.is_mapped_for_certain & ~s.keeps_keyless,
    expected="no record: it has no key (--null-keys keep: such records were to stay)",
    actual="a record without a key",
)
