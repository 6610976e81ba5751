"""The report of ``dirty-ratio``: made once, rendered in many forms; here as JSON, and for CI servers."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from kcompact.broker.log_names import LogName
from kcompact.dirtiness.dirtiness import Dirtiness, Gain, ScannedLog, assess, estimate, perfect_gain
from kcompact.dirtiness.eligibility import Remedy, smallest_change
from kcompact.inert import json_document
from kcompact.report.ci import CiCase, CiFinding, CiLevel, CiReport

SCHEMA_VERSION = 1


@dataclass(frozen=True)
class LogReport:
    """One log. ``estimate`` is set only where no checkpoint is known."""

    log: LogName
    dirtiness: Dirtiness
    checkpoint_offset: int | None
    estimate: Dirtiness | None
    perfect: Gain
    remedy: Remedy | None
    what_if: tuple[Dirtiness, ...]  # under other values
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


def report_log(log: ScannedLog) -> LogReport:
    """Assess a scanned log under each of its settings."""
    configured, *others = log.settings
    never_cleaned = log.context.checkpoint_offset is None
    return LogReport(
        log=log.log,
        dirtiness=assess(log, configured),
        checkpoint_offset=log.context.checkpoint_offset,
        estimate=estimate(log, configured) if never_cleaned else None,
        perfect=perfect_gain(log),
        remedy=smallest_change(log),
        what_if=tuple(assess(log, other) for other in others),
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
        texts.append(f"the checkpoint, {checkpoint}, is after the dump's end; taken as the log's end")
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


def render_json(report: DirtyRatioReport) -> str:
    """The report as JSON, keys in a stable order; bytes are the broker's, as far as they are known."""
    return json_document(
        {
            "schema_version": SCHEMA_VERSION,
            "command": "dirty-ratio",
            "inputs": report.inputs,
            "logs": [_log_dict(log) for log in report.logs],
            "notes": report.notes,
            "run": report.run,
        }
    )


def _log_dict(log: LogReport) -> dict[str, Any]:
    bounds, tombstones = log.dirtiness.bounds, log.perfect
    return {
        "topic": log.log.topic,
        "partition": log.log.partition,
        "records": log.records,
        "log_start_offset": bounds.log_start_offset,
        "log_end_offset": bounds.log_end_offset,
        "last_stable_offset": bounds.last_stable_offset,
        "checkpoint_offset": log.checkpoint_offset,
        "checkpoint_reset": log.dirtiness.range.checkpoint_reset,
        "segments": None if log.dirtiness.segments is None else len(log.dirtiness.segments),
        **_dirtiness_dict(log.dirtiness),
        "estimate": _dirtiness_dict(log.estimate) if log.estimate else None,
        "gain": _gain_dict(log.dirtiness.gain, log.dirtiness.buffer_bytes),
        "gain_if_nothing_were_held_back": _gain_dict(log.perfect, None),
        "tombstones": {
            "latest": tombstones.tombstones,
            "with_horizon": tombstones.stamped_tombstones,
            "due": tombstones.due_tombstones,
            "next_due_ms": log.next_due_ms,
            "last_due_ms": log.last_due_ms,
        },
        "smallest_change": asdict(log.remedy) if log.remedy else None,
        "what_if": [
            {
                "configs": dict(dirtiness.setting.values),
                **_dirtiness_dict(dirtiness),
                "gain": _gain_dict(dirtiness.gain, dirtiness.buffer_bytes),
            }
            for dirtiness in log.what_if
        ],
    }


def _dirtiness_dict(dirtiness: Dirtiness) -> dict[str, Any]:
    ratio = dirtiness.ratio
    return {
        "first_dirty_offset": dirtiness.range.first_dirty_offset,
        "first_uncleanable_offset": dirtiness.range.first_uncleanable_offset,
        "bounded_by": dirtiness.range.bounded_by,
        "clean_bytes": ratio.clean_bytes,
        "cleanable_bytes": ratio.cleanable_bytes,
        "uncleanable_bytes": ratio.uncleanable_bytes,
        "dirty_ratio": ratio.ratio,
        "min_cleanable_dirty_ratio": ratio.min_cleanable_dirty_ratio,
        "max_compaction_delay_ms": ratio.compaction_delay_ms,
        "eligible": dirtiness.eligible,
        "binding_limit": dirtiness.binding_limit,
    }


def _gain_dict(gain: Gain, buffer_bytes: int | None) -> dict[str, Any]:
    figures = asdict(gain) | {
        "removable_records": gain.removable_records,
        "removable_bytes": gain.removable_bytes,
    }
    return figures if buffer_bytes is None else figures | {"dedupe_buffer_bytes_for_one_round": buffer_bytes}


def ci_report(report: DirtyRatioReport, fail_above: float | None) -> CiReport:
    """One case per log; it fails where its ratio is above the limit."""
    above = report.above(fail_above) if fail_above is not None else []
    eligible = [log for log in report.logs if log.dirtiness.eligible]
    limit = "" if fail_above is None else f"; {len(above):,} above {fail_above:g}"
    return CiReport(
        "dirty-ratio",
        "log",
        "which logs would a broker clean now?",
        f"{len(eligible):,} of {len(report.logs):,}{limit}",
        not above,
        [_ci_case(report, log, fails=log in above) for log in report.logs],
        report.notes,
    )


def _ci_case(report: DirtyRatioReport, log: LogReport, *, fails: bool) -> CiCase:
    name = f"dirty ratio of {log.log}"
    if not fails and not log.dirtiness.eligible:
        return CiCase(name)
    file = report.inputs[0] if len(report.inputs) == 1 else ""
    never = "; no checkpoint is given, so it counts as never cleaned" if log.estimate else ""
    text = f"{log.dirtiness.ratio.ratio:.4f}; would be cleaned: {verdict(log.dirtiness)}{never}"
    level = CiLevel.ERROR if fails else CiLevel.NOTICE
    return CiCase(name, (CiFinding(level, name, text, file),), 1, fails)
