"""lost-below-first-dirty: a clean record is gone although no dirty one replaces it (R21)."""

from kcompact.verify.check import Check
from kcompact.verify.classification.suspects import Suspects
from kcompact.verify.rows.key_history import NEVER
from kcompact.verify.rows.key_rows import Flags


def _finds(suspects: Suspects) -> Flags:
    classified, next_offset = suspects.classified, suspects.history.next_offset
    replaced_below = suspects.rows.is_data & (next_offset != NEVER) & (classified.superseding_offset == NEVER)
    return suspects.is_lost & ~classified.is_end_given & replaced_below


CHECK = Check(
    name="lost-below-first-dirty",
    finds=_finds,
    expected="this record: offset {next_offset} replaces it, but lies below the checkpoint",
    actual="no record",
    is_loss=True,
)
