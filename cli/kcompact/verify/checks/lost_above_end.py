"""lost-above-end: a record is gone that is above the cleaned end, or that only one above it replaces."""

import numpy as np

from kcompact.verify.check import Check
from kcompact.verify.classification.suspects import SuspectRow, Suspects
from kcompact.verify.rows.key_history import NEVER
from kcompact.verify.rows.key_rows import BEHIND_ALL, Flags


def _finds(suspects: Suspects) -> Flags:
    classified = suspects.classified
    limit = classified.limit_offset
    replacing = np.where(classified.is_end_given, suspects.history.next_offset, classified.superseding_offset)
    replaced_above = suspects.rows.is_data & (replacing != NEVER) & (replacing >= limit)
    return suspects.is_lost & (limit != BEHIND_ALL) & ((suspects.rows.offset >= limit) | replaced_above)


def _expected(row: SuspectRow) -> str:
    if row.limit_offset is not None and row.offset >= row.limit_offset:
        return f"this record: nothing from offset {row.limit_offset} on can be cleaned"
    return f"this record: it is replaced only at or above offset {row.limit_offset}, where cleaning ends"


CHECK = Check(
    name="lost-above-end",
    finds=_finds,
    expected=_expected,
    actual="no record",
    is_loss=True,
)
