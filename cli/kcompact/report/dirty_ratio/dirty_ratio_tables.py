"""The tables of the dirty-ratio report, as cells: what text and Markdown both show."""

from datetime import UTC, datetime

from kcompact.dirtiness.dirtiness import Dirtiness
from kcompact.report.dirty_ratio.dirty_ratio_report import DirtyRatioReport, LogReport, WhatIf, verdict
from kcompact.report.table import Foreign, Table, texts


def tables(report: DirtyRatioReport) -> list[Table]:
    """All tables that have rows."""
    all_tables = [_ratios(report), _gains(report), _tombstones(report), _remedies(report), _what_ifs(report)]
    return [table for table in all_tables if table.rows]


def _ratios(report: DirtyRatioReport) -> Table:
    rows = []
    for log in report.logs:
        start = log.dirtiness.range.first_dirty_offset
        assumption = "never cleaned" if log.estimate else f"cleaned below {start}"
        rows.append((Foreign(str(log.log)), *_ratio(log.dirtiness), assumption, verdict(log.dirtiness)))
        if log.estimate:
            start = log.estimate.range.first_dirty_offset
            rows.append(("", *_ratio(log.estimate), f"estimate: cleaned below {start}", ""))
    head = ("log", "dirty ratio", "clean bytes", "cleanable", "uncleanable", "if", "eligible")
    return Table("Dirty ratio", head, tuple(rows), texts("log", "if", "eligible"))


def _ratio(dirtiness: Dirtiness) -> tuple[str, ...]:
    ratio = dirtiness.ratio
    sizes = (ratio.clean_bytes, ratio.cleanable_bytes, ratio.uncleanable_bytes)
    return (f"{ratio.ratio:.4f}", *(f"{size:,}" for size in sizes))


def _gains(report: DirtyRatioReport) -> Table:
    head = (
        "log",
        "dirty section",
        "records",
        "would go",
        "bytes",
        "held back",
        "rounds",
        "map keys",
        "buffer bytes",
    )
    return Table(
        "What cleaning would bring", head, tuple(map(_gain, report.logs)), texts("log", "dirty section")
    )


def _gain(log: LogReport) -> tuple[str, ...]:
    gain, cleanable = log.dirtiness.gain, log.dirtiness.range
    held_back = log.perfect.removable_records - gain.removable_records
    return (
        Foreign(str(log.log)),
        f"[{cleanable.first_dirty_offset}, {cleanable.first_uncleanable_offset})",
        f"{log.records:,}",
        f"{gain.removable_records:,}",
        f"{gain.removable_bytes:,}",
        f"{held_back:,}",
        f"{gain.rounds:,}",
        _entries(log.dirtiness),
        _buffer(log.buffer_bytes),
    )


def _entries(dirtiness: Dirtiness) -> str:
    gain = dirtiness.gain
    room = "" if gain.map_limit is None else f" (room for {gain.map_limit:,})"
    return f"{gain.map_entries:,}{room}"


def _buffer(buffer_bytes: int | None) -> str:
    return "no size" if buffer_bytes is None else f"{buffer_bytes:,}"


def _tombstones(report: DirtyRatioReport) -> Table:
    rows = []
    for log in report.logs:
        gain = log.perfect
        if not gain.tombstones:
            continue
        unstamped = gain.tombstones - gain.stamped_tombstones
        now_ms = log.dirtiness.setting.policy.now_ms
        first_ms = now_ms + log.dirtiness.setting.policy.delete_retention_ms
        when = [f"{gain.due_tombstones:,} in the next round"] if gain.due_tombstones else []
        if log.next_due_ms is not None:
            waiting = gain.stamped_tombstones - gain.due_tombstones
            when.append(f"{waiting:,} from {moment(log.next_due_ms)} on")
        if unstamped:
            when.append(f"{unstamped:,} in a second round, from {moment(first_ms)} on")
        rows.append(
            (Foreign(str(log.log)), f"{gain.tombstones:,}", f"{gain.stamped_tombstones:,}", "; ".join(when))
        )
    head = ("log", "latest tombstones", "with a horizon", "could go")
    return Table("Tombstones", head, tuple(rows), texts("log", "could go"))


def moment(time_ms: int) -> str:
    """A time in UTC, to the second; beyond the calendar, the number itself."""
    try:
        return datetime.fromtimestamp(time_ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (OverflowError, ValueError, OSError):
        return f"{time_ms} ms"


def _remedies(report: DirtyRatioReport) -> Table:
    rows = []
    for log in report.logs:
        if log.remedy is None:
            continue
        changes = ", ".join(f"{c.name}={c.value} (set back to {c.before})" for c in log.remedy.changes)
        rows.append((Foreign(str(log.log)), changes or "no config change", log.remedy.waits_for or "-"))
    head = ("log", "smallest change that makes it eligible", "waits for")
    return Table("To force it now", head, tuple(rows), texts(*head))


def _what_ifs(report: DirtyRatioReport) -> Table:
    rows = [_what_if(log, row) for log in report.logs for row in log.what_if]
    names = tuple(name for name, _ in report.logs[0].what_if[0].values) if rows else ()
    head = (
        "log",
        *names,
        "eligible",
        "dirty ratio",
        "would go",
        "bytes",
        "rounds",
        "map keys",
        "buffer bytes",
    )
    return Table("What if", head, tuple(rows), texts("log", "eligible"))


def _what_if(log: LogReport, row: WhatIf) -> tuple[str, ...]:
    gain = row.dirtiness.gain
    return (
        Foreign(str(log.log)),
        *(text for _, text in row.values),
        verdict(row.dirtiness),
        f"{row.dirtiness.ratio.ratio:.4f}",
        f"{gain.removable_records:,}",
        f"{gain.removable_bytes:,}",
        f"{gain.rounds:,}",
        _entries(row.dirtiness),
        _buffer(row.buffer_bytes),
    )
