"""Every check of a compaction, in the order in which reports show them."""

import numpy as np

from kcompact.arrays import Flags
from kcompact.rules.verdicts import NEVER
from kcompact.verify.check import Check, Row
from kcompact.verify.classification.suspects import Suspects
from kcompact.verify.rows.key_rows import BEHIND_ALL, NOTHING_KEPT, NOWHERE


def _no_rows(s: Suspects) -> Flags:
    """No rows: for checks whose findings are made elsewhere."""
    return np.zeros(len(s.rows), np.bool_)


def _changed_record(s: Suspects) -> Flags:
    return (s.rows.is_changed | s.rows.is_doubted | (s.replaced_at != NOWHERE)) & ~s.moves.has_come


def _key_resurrected(s: Suspects) -> Flags:
    ends_with_value = (s.rows.kept_offset != NOTHING_KEPT) & ~s.rows.kept_is_tombstone
    # Either the tombstone is gone and an older value stayed, or its own record became a value.
    became_another = s.classified.is_last_record & (s.rows.is_changed | s.classified.is_taken)
    is_undone = s.is_lost_last_record | s.classified.is_undone_as_given | became_another
    return s.rows.is_tombstone & ends_with_value & is_undone


def _actual_of_resurrected(row: Row) -> str:
    value = f"a value at offset {row['kept_offset']}"
    if row["is_certain"]:
        return value
    return (
        f"{value}: the deleted key has its old value again, as a broker leaves it where both lie below the"
        f" checkpoint and the tombstone's delete horizon {row['delete_horizon_ms']} has passed"
    )


def _tombstone_too_early(s: Suspects) -> Flags:
    ends_deleted = (s.rows.kept_offset == NOTHING_KEPT) | s.rows.kept_is_tombstone
    lost = s.is_lost_last_record & s.rows.is_tombstone & ends_deleted
    return lost | s.classified.is_out_of_turn | s.is_out_of_turn_for_certain


def _expected_tombstone(row: Row) -> str:
    if row["limit_offset"] is not None and row["offset"] >= row["limit_offset"]:
        return f"the tombstone: nothing from offset {row['limit_offset']} on can be cleaned"
    if row["is_lost"] and row["kept_offset"] is not None:
        return f"the tombstone: it replaces the one at offset {row['kept_offset']}, which is still there"
    if row["delete_horizon_ms"] is not None:
        return f"the tombstone until its delete horizon {row['delete_horizon_ms']}"
    if not row["is_lost"]:
        return _expected_in_turn(row["first_kept_tombstone"], is_certain=row["is_certain"])
    if row["stamps_come_first"]:
        return "the tombstone: no batch says that a round had set its delete horizon, which takes a round"
    return f"the tombstone until {row['timestamp_ms']} + delete.retention.ms at the least"


def _expected_in_turn(other_offset: int, *, is_certain: bool) -> str:
    if is_certain:
        return f"the tombstone, as the one at offset {other_offset}, which was due no later, is still there"
    return f"perhaps the tombstone, as the earlier one at offset {other_offset} is still there"


def _lost_above_end(s: Suspects) -> Flags:
    limit = s.classified.limit_offset
    replacing = np.where(s.classified.is_end_given, s.rows.next_offset, s.classified.superseding_offset)
    replaced_above = s.rows.is_data & (replacing != NEVER) & (replacing >= limit)
    return s.is_lost & (limit != BEHIND_ALL) & ((s.rows.offset >= limit) | replaced_above)


def _expected_above_end(row: Row) -> str:
    if row["limit_offset"] is not None and row["offset"] >= row["limit_offset"]:
        return f"this record: nothing from offset {row['limit_offset']} on can be cleaned"
    return f"this record: it is replaced only at or above offset {row['limit_offset']}, where cleaning ends"


def _lost_below_first_dirty(s: Suspects) -> Flags:
    has_next = s.rows.is_data & (s.rows.next_offset != NEVER)
    return s.is_lost & ~s.classified.is_end_given & has_next & (s.classified.superseding_offset == NEVER)


def _changes(row: Row) -> str:
    details = []
    if "timestamp" in row["changed"]:
        details.append(f"timestamp {row['after_timestamp_ms']} for {row['timestamp_ms']}")
    if row["is_tombstone"] != row["after_is_tombstone"]:
        details.append("a tombstone became a value" if row["is_tombstone"] else "a value became null")
    parts = [
        "other headers" if part == "headers" else f"another {part}" for part in row["changed"].split(", ")
    ]
    return " and ".join(parts) + (f" ({'; '.join(details)})" if details else "")


def _expected_instead_of_unexpected(row: Row) -> str:
    if row["before_end_offset"] is None:
        return "no record: BEFORE has no such partition"
    if row["offset"] >= row["before_end_offset"]:
        return (
            f"no record: BEFORE ends at offset {row['before_end_offset']} (if AFTER was dumped later, a dump"
            " of what came since is needed, too: BEFORE NEW AFTER)"
        )
    return "no record at this offset"


def _duplicate_left(s: Suspects) -> Flags:
    # If no later record of the key stayed, that loss is the finding, not that this record is still there.
    is_older = s.is_kept & (s.rows.offset < s.rows.kept_offset)
    is_below_end = s.classified.replaced_at_offset < s.end_offset
    return is_older & (is_below_end | s.is_replaced_for_certain)


def _expected_instead_of_duplicate(row: Row) -> str:
    if row["is_certain"]:
        offset = row["certainly_superseded_at_offset"]
        return f"no record: offset {offset} replaces it, and others like it went"
    unless = "unless cleaning began after that"
    if row["aborts_unknown"]:
        unless += (
            ": --batches, or --read-committed with BEFORE itself if the topic has no transactions, can tell"
        )
    return f"no record: offset {row['replaced_at_offset']} replaces it ({unless})"


def _is_keyless(s: Suspects) -> Flags:
    return s.rows.is_keyless & ~s.rows.is_control & ~s.rows.is_aborted


def _keyless_lost(s: Suspects) -> Flags:
    return s.is_lost & _is_keyless(s) & s.classified.keeps_keyless & ~_lost_above_end(s)


def _keyless_left(s: Suspects) -> Flags:
    is_reached = (s.rows.offset < s.end_offset) | s.is_mapped_for_certain
    return s.is_kept & _is_keyless(s) & ~s.classified.keeps_keyless & is_reached


def _aborted_left(s: Suspects) -> Flags:
    # The cleaner is not told of transactions that ended below the log start (R54).
    is_aborted = s.is_kept & s.rows.is_aborted & ~s.rows.is_control & ~s.classified.is_below_log_start
    return is_aborted & ((s.rows.offset < s.end_offset) | s.is_rewritten_for_certain)


MISSING_LOG: Check[Suspects] = Check(  # AFTER has no record of a log that has live keys in BEFORE
    "missing-log",
    finds=_no_rows,  # made by ``findings.without_missing_logs``: one finding per log, not one per key
    expected="records of this partition",
    actual="none",
)
REORDERED_RECORDS: Check[Suspects] = Check(
    "reordered-records",
    finds=_no_rows,  # made by ``disorder.sort_out``, but not for records that are late in BEFORE, too
    expected="records of a partition in the order of their offsets",
    actual="a smaller offset after a larger one",
)
DUPLICATE_OFFSET: Check[Suspects] = Check(
    "duplicate-offset",
    finds=_no_rows,  # made by ``disorder.sort_out``
    expected="one record at this offset",
    actual="several records",
)

CHECKS: tuple[Check[Suspects], ...] = (
    MISSING_LOG,
    Check(  # lost state: the key lives in BEFORE, and AFTER has no record of it
        "missing-key",
        finds=lambda s: s.is_lost_last_value & (s.rows.kept_offset == NOTHING_KEPT),
        expected="the key's last value, at offset {offset}",
        actual=lambda row: (
            "no record of this key"
            if row["last_after_offset"] is None
            else f"only records of this key that BEFORE does not have, the last at {row['last_after_offset']}"
        ),
        is_loss=True,
    ),
    Check(  # the record that AFTER keeps is not the latest of its key
        "stale-value",
        finds=lambda s: s.is_lost_last_value & (s.rows.kept_offset != NOTHING_KEPT),
        expected="the key's last value, at offset {offset}",
        actual=lambda row: (
            f"an older {'tombstone' if row['kept_is_tombstone'] else 'value'}, at offset {row['kept_offset']}"
        ),
        is_loss=True,
    ),
    Check(  # a deletion is undone: BEFORE ends with a tombstone, AFTER with a value
        "key-resurrected",
        finds=_key_resurrected,
        is_certain=lambda s: ~s.classified.is_undone_as_given,
        expected="the key deleted by the tombstone at offset {offset}",
        actual=_actual_of_resurrected,
        is_loss=True,
    ),
    Check(  # a deletion that readers may not have seen yet is gone
        "tombstone-too-early",
        finds=_tombstone_too_early,
        expected=_expected_tombstone,
        actual="no tombstone",
        is_certain=lambda s: s.classified.is_lost | s.is_out_of_turn_for_certain,
        is_loss=True,
    ),
    Check(  # a record is gone that is above the cleaned end, or is replaced only by a record above that end
        "lost-above-end",
        finds=_lost_above_end,
        expected=_expected_above_end,
        actual="no record",
        is_loss=True,
    ),
    Check(  # a clean record is gone although no dirty one replaces it (R21)
        "lost-below-first-dirty",
        finds=_lost_below_first_dirty,
        expected="this record: offset {next_offset} replaces it, but lies below the checkpoint",
        actual="no record",
        is_loss=True,
    ),
    Check(  # a record without a key is gone, and such records were to stay
        "keyless-lost",
        finds=_keyless_lost,
        expected="this record, which has no key: --null-keys keep says that such records stay",
        actual="no record",
        is_loss=True,
    ),
    Check(  # an offset holds another key, value, timestamp or headers than before
        "changed-record",
        finds=_changed_record,
        expected="the same record as in BEFORE",
        actual=_changes,
        is_change=True,
    ),
    Check(  # a record of BEFORE is at another offset in AFTER
        "moved-offset",
        finds=lambda s: s.moves.has_come,
        expected="at {moved_from}, as in BEFORE",
        actual="the same key, value, timestamp and headers at this offset",
    ),
    Check(  # AFTER holds an offset that BEFORE does not
        "unexpected-record",
        finds=lambda s: ~s.rows.in_before & (s.replaced_at == NOWHERE) & ~s.moves.has_come,
        expected=_expected_instead_of_unexpected,
        actual=lambda row: "a tombstone" if row["after_is_tombstone"] else "a record",
    ),
    REORDERED_RECORDS,
    DUPLICATE_OFFSET,
    Check(  # AFTER still holds a record that a later one replaces
        "duplicate-left",
        finds=_duplicate_left,
        is_certain=lambda s: s.is_replaced_for_certain,
        expected=_expected_instead_of_duplicate,
        actual="the older record",
    ),
    Check(  # AFTER still holds a record without a key below the cleaned end; a broker drops it (R20)
        "keyless-left",
        finds=_keyless_left,
        is_certain=lambda s: s.is_mapped_for_certain,
        expected="no record: it has no key (--null-keys keep: such records were to stay)",
        actual="a record without a key",
    ),
    Check(  # AFTER still holds data of an aborted transaction in what was rewritten (R17)
        "aborted-left",
        finds=_aborted_left,
        is_certain=lambda s: s.is_rewritten_for_certain,
        expected="no record: its transaction was aborted",
        actual="the aborted record",
    ),
)

CHECK_NAMES = tuple(check.name for check in CHECKS)
"""The checks that reports list."""

NEED_EVIDENCE = frozenset(check.name for check in CHECKS if check.is_loss or check.is_certain is not None)
"""Checks whose findings depend on why records are gone."""

NEED_ROUNDS = frozenset(
    {"tombstone-too-early", "lost-above-end", "duplicate-left", "keyless-left", "aborted-left"}
)
"""Checks whose findings depend on how many rounds there were, and where they began."""
