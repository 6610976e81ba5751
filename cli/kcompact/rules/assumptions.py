"""Notes for the report: what was assumed about a log, and why a round did not run."""

from collections.abc import Iterator

from kcompact.broker.log_context import LogContext
from kcompact.rules.policy import Policy
from kcompact.rules.range import CleanableRange, LogBounds
from kcompact.rules.ratio import DirtyRatio


def range_notes(context: LogContext, bounds: LogBounds, cleanable: CleanableRange) -> Iterator[str]:
    """Notes on a checkpoint that raises the log end, or that is reset (R1, L5)."""
    if bounds.end_raised:
        yield (
            f"the checkpoint {context.checkpoint_offset} lies beyond the last record, as a compacted tail may"
            " leave it: it is taken as the log end; if that is elsewhere, give --log-end-offset"
        )
    if cleanable.checkpoint_reset:
        yield (
            f"the checkpoint {context.checkpoint_offset} lies outside the log, [{bounds.log_start_offset},"
            f" {bounds.log_end_offset}]: it is reset to the log start, as a broker does"
        )


def undated_note(policy: Policy) -> Iterator[str]:
    """Notes on configs that need the age of records, for a log whose records have no timestamps (R2, R53)."""
    if policy.min_compaction_lag_ms > 0 and "compact" in policy.cleanup_policy:
        yield "no record has a timestamp: min.compaction.lag.ms holds none back, all count as old enough"
    if policy.retained_from_ms is not None:
        yield "no record has a timestamp: retention.ms removes none, all count as just written"


def idle_note(policy: Policy, cleanable: CleanableRange, ratio: DirtyRatio) -> Iterator[str]:
    """A note on why no round has compacted anything, where configs decide that (R2, R7)."""
    if "compact" not in policy.cleanup_policy:
        yield (
            "not compacted, as its cleanup.policy has no compact: only retention takes records"
            " (--cleanup-policy compact would compact it)"
        )
    elif not ratio.cleanable_bytes:
        if ratio.uncleanable_bytes and cleanable.bounded_by == "active segment":
            yield (
                "nothing is cleaned: all dirty records count as the active segment, which a broker leaves"
                " alone (--segments says where segments end; else segment.bytes and segment.ms decide)"
            )
    elif policy.respect_dirty_ratio and not ratio.eligible:
        yield (
            f"not cleaned yet: the dirty ratio {ratio.ratio:.4f} is not above min.cleanable.dirty.ratio"
            f" {ratio.min_cleanable_dirty_ratio:g}"
        )


def retention_note(policy: Policy, rounds: int) -> Iterator[str]:
    """A note that retention ran once after several rounds, while a broker runs it after each."""
    if rounds > 1 and "delete" in policy.cleanup_policy:
        yield f"retention ran once, after the last of {rounds} rounds; a broker runs it after each"


def overtaken_note(log_start_offset: int) -> str:
    """A note that retention between rounds moved the log start beyond the next first dirty offset (R1)."""
    return (
        f"retention has overtaken the cleaner: the log starts at {log_start_offset} now, above the next first"
        " dirty offset; the rounds end here, the next run goes on from the log start"
    )


def marker_note(control_records: int) -> Iterator[str]:
    """A note on control records of a dump whose batches are not known (R33)."""
    if control_records:
        yield (
            f"{control_records:,} control records stay: without --batches nobody knows whose transactions"
            " they end"
        )


def batch_notes(unseen_records: int, records_alone: int) -> Iterator[str]:
    """Notes on records that are in no known batch, and on records of batches that the dump lacks."""
    if unseen_records:
        yield (
            f"{unseen_records:,} records of the batches given are not in the dump (below the log start, or"
            " not seen by its consumer): they count as read, and as removed where they are cleaned"
        )
    if records_alone:
        yield f"{records_alone:,} records are in no batch given: each counts as a batch of its own"


def estimate_note(policy: Policy, batches_recompressed: int) -> Iterator[str]:
    """A note that ``retention.bytes`` was applied to estimated sizes of recompressed batches (R39, R53)."""
    limit_bytes = policy.retention_bytes
    if batches_recompressed and limit_bytes is not None and limit_bytes >= 0:
        yield (
            f"the bytes of {batches_recompressed:,} compressed batches that were written anew are estimated:"
            " retention.bytes may take a segment more or less than a broker's"
        )


def ratio_note(near: DirtyRatio | None) -> Iterator[str]:
    """A note that a dirty ratio near its threshold, of estimated bytes, decided on a round (R7)."""
    if near is not None:
        yield (
            f"whether a round follows at a dirty ratio of {near.ratio:.3f}, where"
            f" {near.min_cleanable_dirty_ratio} is the threshold, depends on the bytes of batches that"
            " were written anew, which are estimated: a broker may have cleaned once more or less"
        )
