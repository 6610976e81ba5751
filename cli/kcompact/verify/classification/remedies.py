"""Options that were not given, and with which a loss would be none: nobody can tell without them."""

import numpy as np

from kcompact.rules.verdicts import UNKNOWN_HORIZON_MS
from kcompact.verify.classification.classified_rows import ClassifiedRows
from kcompact.verify.rows.key_history import NEVER
from kcompact.verify.rows.key_rows import Longs

NONE, RETENTION, TRANSACTIONS, TOMBSTONES, SEGMENTS = range(5)
"""Missing knowledge that could explain a loss: none, retention, aborted data, a shorter retention of
tombstones, other segments than the configs let one expect."""

RETENTION_REMEDY = (
    "--cleanup-policy compact,delete with --retention-ms or --retention-bytes, if retention took it"
)

TRANSACTIONS_REMEDY = (
    "--batches or --read-committed, if its transaction was aborted"
    " (BEFORE itself as --read-committed, if the topic has no transactions)"
)


def remedies_of(classified: ClassifiedRows) -> Longs:
    """One of the numbers above for every row; only those of lost records mean anything."""
    rows = classified.rows
    is_unstamped = rows.delete_horizon_ms == UNKNOWN_HORIZON_MS
    is_young = rows.timestamp_ms > classified.of_log("tombstones_due_ms")
    kept_value = (classified.history.kept_offset >= 0) & ~classified.history.kept_is_tombstone
    shortened = (
        (classified.of_log("tells_delete_retention") == 0)
        & (classified.of_log("stamps_come_first") == 0)
        & rows.is_data
        & rows.is_tombstone
        & is_unstamped
        & is_young
        & ~kept_value
        & (rows.offset < classified.limit_offset)
    )
    in_front = (classified.of_log("tells_cleanup_policy") == 0) & (rows.offset < classified.front_end_offset)
    aborted = (rows.offset < classified.of_log("certain_from_offset")) & (
        rows.offset < classified.of_log("uncleanable_offset")
    )
    # Without the bound it might have gone: a later record replaces it, or it goes for what it is.
    is_last_value = rows.is_data & ~rows.is_tombstone & (classified.history.next_offset == NEVER)
    is_undone = classified.is_last_record & kept_value
    beyond = (classified.of_log("is_bound_estimated") > 0) & ~is_last_value & ~is_undone
    return np.select(
        [shortened, beyond, in_front, aborted], [TOMBSTONES, SEGMENTS, RETENTION, TRANSACTIONS], NONE
    )


def words_of(remedy: int, now_ms: int, timestamp_ms: int) -> str | None:
    """The option to give, and what it would say."""
    if remedy == RETENTION:
        return RETENTION_REMEDY
    if remedy == TRANSACTIONS:
        return TRANSACTIONS_REMEDY
    if remedy == SEGMENTS:
        return "--segments, if segments end elsewhere than segment.bytes and segment.ms let one expect"
    if remedy == TOMBSTONES:
        return f"--delete-retention-ms {max(0, now_ms - timestamp_ms)} or less, if that was the topic's"
    return None
