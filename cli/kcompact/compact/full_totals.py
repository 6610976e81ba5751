"""The totals of a run in the full form, and its rounds in the broker's own words."""

from collections.abc import Mapping
from typing import Any

from kcompact.compact.full_job import REASON_NAMES
from kcompact.compact.gap_report import KeptLog
from kcompact.compact.removed_report import RemovedLog
from kcompact.compact.totals import LogOutcome, Outcome, summarise_logs
from kcompact.engine.passes.summaries import LogSummary
from kcompact.rules.cleaned_log import LogCleaning, Round
from kcompact.rules.verdicts import Verdict


def full_outcome(
    summaries: list[LogSummary],
    cleanings: Mapping[int, LogCleaning],
    kept: Mapping[int, KeptLog],
    removed: Mapping[int, RemovedLog],
) -> Outcome:
    """Put together what the cleaner decided and what the reports counted; fragments are the caller's."""
    outcome = Outcome(list(summarise_logs(summaries).values()), [], [], [])
    for log in outcome.logs:
        _add_kept(log, kept[log.log_id])
        _add_removed(log, cleanings[log.log_id])
        outcome.gaps += kept[log.log_id].pieces
        keys = removed.get(log.log_id)
        if keys is not None:
            log.keys, log.removed_keys = keys.keys, keys.removed_keys
            outcome.removed_keys += keys.pieces
    return outcome


def _add_kept(log: LogOutcome, kept: KeptLog) -> None:
    log.kept, log.kept_bytes, log.tombstones_kept = kept.kept, kept.kept_bytes, kept.tombstones_kept
    log.first_kept_offset, log.last_kept_offset = kept.first_kept, kept.last_kept
    log.gaps, log.gap_offsets = kept.gaps, kept.gap_offsets
    log.gap_offsets_missing_before = kept.gap_missing_before


def _add_removed(log: LogOutcome, cleaning: LogCleaning) -> None:
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
