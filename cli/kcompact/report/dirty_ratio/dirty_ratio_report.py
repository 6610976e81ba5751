"""The report of ``dirty-ratio``: made once, rendered as text, JSON, Markdown and broker's log lines."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from kcompact.broker.log_names import LogName
from kcompact.dirtiness.dirtiness import Dirtiness, Gain, ScannedLog, assess, estimate, perfect_gain
from kcompact.dirtiness.eligibility import Remedy, smallest_change

Values = tuple[tuple[str, str], ...]
"""Configs of a what-if row: (name, value as given)."""


@dataclass(frozen=True)
class WhatIf:
    """The log under other values."""

    values: Values
    dirtiness: Dirtiness


@dataclass(frozen=True)
class LogReport:
    """One log. ``estimate`` is set only where no checkpoint is known."""

    log: LogName
    dirtiness: Dirtiness
    checkpoint_offset: int | None
    estimate: Dirtiness | None
    perfect: Gain
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
    rows = [WhatIf(values, assess(log, other)) for values, other in zip(what_if, others, strict=True)]
    never_cleaned = log.context.checkpoint_offset is None
    return LogReport(
        log=log.log,
        dirtiness=assess(log, configured),
        checkpoint_offset=log.context.checkpoint_offset,
        estimate=estimate(log, configured) if never_cleaned else None,
        perfect=perfect_gain(log),
        remedy=smallest_change(log),
        what_if=tuple(rows),
        next_due_ms=log.scan.next_due_ms if log.scan.next_due_ms >= 0 else None,
        last_due_ms=log.scan.last_due_ms if log.scan.last_due_ms >= 0 else None,
        records=log.scan.end["records"],
        first_offset=log.scan.first_offset,
    )


def remarks(log: LogReport) -> list[str]:
    """Assumptions about a log, and oddities of it."""
    texts = []
    bounds, checkpoint = log.dirtiness.bounds, log.checkpoint_offset
    if bounds.end_raised:
        texts.append(f"the checkpoint, {checkpoint}, lies behind the dump's end; taken as the log's end")
    elif log.dirtiness.range.checkpoint_reset:
        log_bounds = f"log start {bounds.log_start_offset} and log end {bounds.log_end_offset}"
        reset = f"a broker resets it to {log.dirtiness.range.first_dirty_offset}"
        texts.append(f"the checkpoint, {checkpoint}, is not between {log_bounds}; {reset}")
    first_base = log.dirtiness.segments[0].base_offset if log.dirtiness.segments else log.first_offset
    if log.first_offset < first_base:
        starts = f"the dump starts at offset {log.first_offset}, the segments at {first_base}"
        texts.append(f"{starts}; is the listing of the same time?")
    return [f"{log.log}: {text}" for text in texts]


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
