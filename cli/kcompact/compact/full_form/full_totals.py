"""The removals of a run in the full form, and its rounds in the broker's own words."""

from typing import Any

from kcompact.compact.full_form.full_job import REASON_NAMES
from kcompact.compact.totals import LogOutcome
from kcompact.rules.cleaned_log import LogCleaning, Round
from kcompact.rules.verdicts import Verdict


def add_cleaning(log: LogOutcome, cleaning: LogCleaning) -> None:
    """Add what the cleaner decided to a log that is summarised."""
    for verdict, name in REASON_NAMES.items():
        log.removed[name] = cleaning.removed.get(verdict, 0)
    log.repeated_offsets = cleaning.removed.get(Verdict.REPEATED, 0)
    log.rounds = [_round(number, one) for number, one in enumerate(cleaning.rounds, 1)]


def _round(number: int, one: Round) -> dict[str, Any]:
    """One round under the names of a broker's CleanerStats."""
    return {
        "round": number,
        "first_dirty_offset": one.span.first_dirty_offset,
        "next_dirty_offset": one.span.next_offset,
        "rewritten_end_offset": one.span.rewritten_end_offset,
        "map_entries": one.map_entries,
        "map_is_full": one.span.map_is_full,
        "buffer_utilization": one.utilization,
        "messages_read": one.messages_read,
        "messages_written": one.messages_written,
        "invalid_messages_read": one.invalid_messages_read,
        "bytes_read": one.bytes_read,
        "bytes_written": one.bytes_written,
        "removed": {name: one.removed.get(verdict, 0) for verdict, name in REASON_NAMES.items()},
        "tombstones_kept": one.tombstones_kept,
        "tombstones_stamped": one.tombstones_stamped,
        "delete_horizon_ms": one.delete_horizon_ms,
        "segments_before": one.segments_before,
        "segments_after": one.segments_after,
    }
