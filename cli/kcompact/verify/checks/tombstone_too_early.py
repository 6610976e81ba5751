"""tombstone-too-early: a deletion that readers may not have seen yet is gone."""

from kcompact.verify.check import Check
from kcompact.verify.classification.suspects import SuspectRow, Suspects
from kcompact.verify.rows.key_history import NOTHING_KEPT
from kcompact.verify.rows.key_rows import Flags


def _finds(suspects: Suspects) -> Flags:
    history = suspects.history
    ends_deleted = (history.kept_offset == NOTHING_KEPT) | history.kept_is_tombstone
    lost = suspects.is_lost_last_record & suspects.rows.is_tombstone & ends_deleted
    return lost | suspects.classified.is_out_of_turn | suspects.is_out_of_turn_for_certain


def _expected(row: SuspectRow) -> str:
    if row.limit_offset is not None and row.offset >= row.limit_offset:
        return f"the tombstone: nothing from offset {row.limit_offset} on can be cleaned"
    if row.delete_horizon_ms is not None:
        return f"the tombstone until its delete horizon {row.delete_horizon_ms}"
    other = row.first_kept_tombstone
    if not row.is_certain:
        return f"perhaps the tombstone, as the earlier one at offset {other} is still there"
    if not row.is_lost:
        return f"the tombstone, as the one at offset {other}, which was due no later, is still there"
    if row.stamps_come_first:
        return "the tombstone: no batch says that a round had set its delete horizon, which takes a round"
    return f"the tombstone until {row.timestamp_ms} + delete.retention.ms at the least"


CHECK = Check(
    name="tombstone-too-early",
    finds=_finds,
    expected=_expected,
    actual="no tombstone",
    is_certain=lambda s: s.classified.is_lost | s.is_out_of_turn_for_certain,
    is_loss=True,
)
