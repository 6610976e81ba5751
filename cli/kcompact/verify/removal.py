"""Why a record of BEFORE may be missing from AFTER."""

from pyspark.sql import Column
from pyspark.sql import functions as F

SUPERSEDED = "superseded"
KEYLESS = "keyless"
ABORTED = "aborted"
MARKER = "marker"
EXPIRED_TOMBSTONE = "expired_tombstone"
ASSUMED_EXPIRED = "tombstone_assumed_expired"
EXPIRED = "expired"
BELOW_LOG_START = "below_log_start"


def superseded_at_offset() -> Column:
    """The later record of the same key that lets this one go; null if the cleaned section holds none.

    Where the checkpoint says where cleaning ended, any later record below it does; else (R21) only one at or
    above the first dirty offset, and below whatever bounds every round.
    """
    limit = F.col("limit_offset")
    replaced_below_end = F.when(F.col("next_offset") < limit, F.col("next_offset"))
    replaced_in_dirty = F.when(limit.isNull() | (F.col("dirty_offset") < limit), F.col("dirty_offset"))
    return F.when(F.col("end_is_given"), replaced_below_end).otherwise(replaced_in_dirty)


def is_too_early() -> Column:
    """Whether a tombstone that nothing replaces could not have gone yet (R23, R25, R28, R29).

    With a known horizon, that one counts. Otherwise the horizon cannot lie before its timestamp plus
    ``delete.retention.ms``, and horizons never pass over an earlier tombstone of the log: one that is still
    there shows that this one has not been due either.
    """
    by_time = F.col("timestamp_ms") > F.col("tombstones_due_ms")
    by_order = F.coalesce(F.col("offset") > F.col("first_kept_tombstone"), F.lit(False))
    by_horizon = F.col("delete_horizon_ms") > F.col("now_ms")
    return ~F.col("drops_tombstones") & F.coalesce(by_horizon, by_time | by_order)


def is_due_tombstone() -> Column:
    """Whether a tombstone may have gone by itself, be it its key's last record or not.

    What replaces it may lie above the cleaned end. Where the key's last one went and a value stayed, the
    deletion is undone, and no due date excuses that.
    """
    is_last = F.col("offset") == F.col("latest_offset")
    undone = is_last & F.col("kept_offset").isNotNull() & ~F.col("kept_is_tombstone")
    return F.col("is_data") & F.col("is_tombstone") & _below("limit_offset") & ~undone & ~is_too_early()


def removal_reason() -> Column:
    """The reason why a missing record may be missing, null if there is none (or it is not missing)."""
    is_keyless = F.col("key").isNull() & ~F.col("is_control")
    reason = (
        F.when(F.col("aborted") & _below("uncleanable_offset"), ABORTED)
        .when(F.col("is_control"), MARKER)
        .when(superseded_at_offset().isNotNull(), SUPERSEDED)
        .when(is_keyless & _below("limit_offset"), KEYLESS)
        .when(is_below_log_start(), BELOW_LOG_START)
        .when(is_expired(), EXPIRED)
        .when(is_due_tombstone() & F.col("delete_horizon_ms").isNull(), ASSUMED_EXPIRED)
        .when(is_due_tombstone(), EXPIRED_TOMBSTONE)
    )
    return F.when(F.col("in_before") & ~F.col("in_after"), reason)


def _below(bound: str) -> Column:
    return F.col(bound).isNull() | (F.col("offset") < F.col(bound))


def needed_end_offset() -> Column:
    """The smallest cleaned end (exclusive) that lets a record go for its reason; null: any."""
    replaced = F.when(is_due_tombstone(), F.col("offset")).otherwise(F.col("superseded_at_offset"))
    by_itself = F.col("reason").isin(KEYLESS, EXPIRED_TOMBSTONE, ASSUMED_EXPIRED)
    needed = F.when(F.col("reason") == SUPERSEDED, replaced + 1).when(by_itself, F.col("offset") + 1)
    # What retention may have taken says nothing about compaction.
    return F.when(~is_expired() & ~is_below_log_start(), needed)


def is_below_log_start() -> Column:
    """Whether a record lies below the log start offset that is told."""
    return F.coalesce(F.col("offset") < F.col("log_start_offset"), F.lit(False))


def is_expired() -> Column:
    """Whether retention may have taken a record: only from the front of the log, and only what is old enough.

    A segment goes when its youngest record is older than ``retention.ms``, so each of its records is; or
    when what stays is at least ``retention.bytes`` (R53), which may have been cleaned since then. Segment
    bounds can only make it go later.
    """
    is_front = F.col("after_first_offset").isNull() | (F.col("offset") < F.col("after_first_offset"))
    old_enough = F.col("timestamp_ms") < F.col("records_expired_ms")
    enough_stays = F.col("retained_bytes") >= F.col("retention_bytes")
    return is_front & (F.coalesce(old_enough, F.lit(False)) | F.coalesce(enough_stays, F.lit(False)))
