"""key-resurrected: a deletion is undone. BEFORE ends with a tombstone, AFTER with a value."""

from kcompact.verify.check import Check
from kcompact.verify.classification.suspects import Suspects
from kcompact.verify.rows.key_history import NOTHING_KEPT
from kcompact.verify.rows.key_rows import Flags


def _finds(suspects: Suspects) -> Flags:
    classified, history = suspects.classified, suspects.history
    ends_with_value = (history.kept_offset != NOTHING_KEPT) & ~history.kept_is_tombstone
    # Either the tombstone is gone and an older value stayed, or its own record became a value.
    became_another = classified.is_last_record & (suspects.rows.is_changed | classified.is_taken)
    return suspects.rows.is_tombstone & ends_with_value & (suspects.is_lost_last_record | became_another)


CHECK = Check(
    name="key-resurrected",
    finds=_finds,
    expected="the key deleted by the tombstone at offset {offset}",
    actual="a value at offset {kept_offset}",
    is_loss=True,
)
