"""duplicate-left: AFTER still holds a record that a later one replaces."""

from kcompact.verify.check import Check
from kcompact.verify.classification.suspects import SuspectRow, Suspects
from kcompact.verify.rows.key_rows import Flags


def _finds(suspects: Suspects) -> Flags:
    # Where the later ones are lost, that is what is wrong, not that this one is still there.
    is_older = suspects.is_kept & (suspects.rows.offset < suspects.history.kept_offset)
    is_below_end = suspects.classified.superseded_at_offset < suspects.end_offset
    return is_older & (is_below_end | suspects.is_replaced_for_certain)


def _expected(row: SuspectRow) -> str:
    if row.is_certain:
        return f"no record: offset {row.certainly_superseded_at_offset} replaces it, and others like it went"
    return f"no record: offset {row.superseded_at_offset} replaces it (unless cleaning began behind that)"


CHECK = Check(
    name="duplicate-left",
    finds=_finds,
    is_certain=lambda s: s.is_replaced_for_certain,
    expected=_expected,
    actual="the older record",
)
