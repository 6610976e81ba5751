"""The report of ``dirty-ratio``: made once, rendered as text, JSON, Markdown and broker's log lines."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from kcompact.broker.log_names import LogName
from kcompact.dirtiness.dirtiness import Dirtiness, Gain, ScannedLog, Setting, assess, estimate, perfect_gain
from kcompact.dirtiness.eligibility import Remedy, smallest_change
from kcompact.rules.capacity import buffer_bytes_for

Values = tuple[tuple[str, str], ...]
"""Configs of a what-if row: (name, value as given)."""


@dataclass(frozen=True)
class WhatIf:
    """The log under other values."""

    values: Values
    dirtiness: Dirtiness
    buffer_bytes: int | None


@dataclass(frozen=True)
class LogReport:
    """One log. ``estimate`` is set only where no checkpoint is known."""

    log: LogName
    dirtiness: Dirtiness
    checkpoint_offset: int | None
    estimate: Dirtiness | None
    perfect: Gain
    buffer_bytes: int | None  # that holds the dirty section's keys in one round; None: none is enough
    remedy: Remedy | None
    what_if: tuple[WhatIf, ...]
    next_due_ms: int | None  # delete horizons after now, of latest tombstones
    last_due_ms: int | None
    records: int
    first_offset: int


@dataclass
class DirtyRatioReport:
    """All logs, in the order in which a cleaner would take them. The clock is in ``run``."""

    logs: list[LogReport]
    inputs: list[str]
    notes: list[str] = field(default_factory=list)
    run: dict[str, Any] = field(default_factory=dict)

    def above(self, ratio: float) -> list[LogReport]:
        """The logs whose dirty ratio exceeds ``ratio``."""
        return [log for log in self.logs if log.dirtiness.ratio.ratio > ratio]


def report_log(log: ScannedLog, what_if: Sequence[Values]) -> LogReport:
    """Look at a scanned log under each of its settings; ``what_if`` names all but the first."""
    configured, *others = log.settings
    dirtiness = assess(log, configured)
    rows = [_what_if(log, values, setting) for values, setting in zip(what_if, others, strict=True)]
    never_cleaned = log.context.checkpoint_offset is None
    return LogReport(
        log=log.log,
        dirtiness=dirtiness,
        checkpoint_offset=log.context.checkpoint_offset,
        estimate=estimate(log, configured) if never_cleaned else None,
        perfect=perfect_gain(log),
        buffer_bytes=buffer_bytes_for(dirtiness.gain.map_entries, configured.policy),
        remedy=smallest_change(log),
        what_if=tuple(rows),
        next_due_ms=log.scan.next_due_ms if log.scan.next_due_ms >= 0 else None,
        last_due_ms=log.scan.last_due_ms if log.scan.last_due_ms >= 0 else None,
        records=log.scan.end["records"],
        first_offset=log.scan.first_offset,
    )


def remarks(log: LogReport) -> list[str]:
    """Assumptions about a log, and oddities of it."""
    return [*_about_checkpoint(log), *_about_segments(log)]


def _about_segments(log: LogReport) -> list[str]:
    first_base = log.dirtiness.segments[0].base_offset if log.dirtiness.segments else log.first_offset
    if log.first_offset >= first_base:
        return []
    starts = f"the dump starts at offset {log.first_offset}, the segments at {first_base}"
    return [f"{log.log}: {starts}; is the listing of the same time?"]


def _about_checkpoint(log: LogReport) -> list[str]:
    bounds, cleanable = log.dirtiness.bounds, log.dirtiness.range
    checkpoint = log.checkpoint_offset
    if bounds.end_raised:
        return [
            f"{log.log}: the checkpoint, {checkpoint}, lies behind the dump's end; taken as the log's end"
        ]
    if cleanable.checkpoint_reset:
        log_bounds = f"log start {bounds.log_start_offset} and log end {bounds.log_end_offset}"
        reset = f"a broker resets it to {cleanable.first_dirty_offset}"
        return [f"{log.log}: the checkpoint, {checkpoint}, is not between {log_bounds}; {reset}"]
    return []


def in_cleaner_order(logs: Sequence[LogReport]) -> list[LogReport]:
    """Eligible logs first, the dirtiest of them first (R9); ties by name, where a broker's order is open."""
    return sorted(logs, key=lambda log: (not log.dirtiness.eligible, -log.dirtiness.ratio.ratio, log.log))


def verdict(dirtiness: Dirtiness) -> str:
    """Whether the log is eligible, and which limit decides, in a few words."""
    ratio, threshold = dirtiness.ratio, dirtiness.ratio.min_cleanable_dirty_ratio
    policy = dirtiness.setting.policy
    reasons = {
        "ratio": f"ratio {'above' if ratio.due_by_ratio else 'not above'} {threshold:g}",
        "maximum lag": f"maximum lag, {ratio.compaction_delay_ms:,} ms late",
        "active segment": "active segment",
        "minimum lag": f"minimum lag from offset {dirtiness.range.first_uncleanable_offset} on",
        "last stable offset": f"transaction open at offset {dirtiness.bounds.last_stable_offset}",
        "nothing dirty": "nothing dirty",
        "cleanup.policy": f"cleanup.policy is {','.join(sorted(policy.cleanup_policy))}",
    }
    return f"{'yes' if dirtiness.eligible else 'no'}: {reasons[dirtiness.binding_limit]}"


def _what_if(log: ScannedLog, values: Values, setting: Setting) -> WhatIf:
    dirtiness = assess(log, setting)
    return WhatIf(values, dirtiness, buffer_bytes_for(dirtiness.gain.map_entries, setting.policy))
