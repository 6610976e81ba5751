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
    log.rounds = [_round(number, round_) for number, round_ in enumerate(cleaning.rounds, 1)]


def _round(number: int, round_: Round) -> dict[str, Any]:
    """One round under the names of a broker's CleanerStats."""
    return {
        "round": number,
        "first_dirty_offset": round_.span.first_dirty_offset,
        "next_dirty_offset": round_.span.next_offset,
        "rewritten_end_offset": round_.span.rewritten_end_offset,
        "map_entries": round_.map_entries,
        "map_is_full": round_.span.map_is_full,
        "buffer_utilization": round_.utilization,
        "messages_read": round_.messages_read,
        "messages_written": round_.messages_written,
        "invalid_messages_read": round_.invalid_messages_read,
        "bytes_read": round_.bytes_read,
        "bytes_written": round_.bytes_written,
        "removed": {name: round_.removed.get(verdict, 0) for verdict, name in REASON_NAMES.items()},
        "tombstones_kept": round_.tombstones_kept,
        "tombstones_stamped": round_.tombstones_stamped,
        "delete_horizon_ms": round_.delete_horizon_ms,
        "segments_before": round_.segments_before,
        "segments_after": round_.segments_after,
    }
