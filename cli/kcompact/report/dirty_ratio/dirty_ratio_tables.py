"""The dirty-ratio report as tables: on a terminal, and as Markdown."""

from datetime import UTC, datetime

from rich.console import Console

from kcompact.broker.log_names import LogName
from kcompact.dirtiness.dirtiness import Dirtiness
from kcompact.inert import markdown, markdown_code
from kcompact.report.dirty_ratio.dirty_ratio_report import DirtyRatioReport, LogReport, verdict
from kcompact.report.table import Row, Table, log_cell, markdown_table
from kcompact.report.text_table import print_tables

MOST_ROWS = 60  # of each table on a terminal


def print_text(report: DirtyRatioReport, console: Console) -> None:
    """Print the tables, one below the other."""
    if not report.logs:
        console.print("The dump holds no records.")
    print_tables([table.shortened(MOST_ROWS) for table in tables(report)], console)


def render_markdown(report: DirtyRatioReport) -> str:
    """The tables under their titles; text from the dump is inert in it."""
    inputs = "\n".join(f"* Read: {markdown_code(path)}" for path in report.inputs)
    notes = "\n".join(f"* {markdown(note)}" for note in report.notes)
    sections = ["# Dirty ratio report", inputs, *map(markdown_table, tables(report))]
    sections += ["The dump holds no records."] if not report.logs else []
    sections += [f"## Notes\n\n{notes}"] if notes else []
    return "\n\n".join(sections) + "\n"


def tables(report: DirtyRatioReport) -> list[Table]:
    """All tables that have rows."""
    all_tables = [_ratios(report), _gains(report), _tombstones(report), _remedies(report), _what_ifs(report)]
    return [table for table in all_tables if table.rows]


def _ratios(report: DirtyRatioReport) -> Table:
    rows: list[Row] = []
    for log in report.logs:
        start = log.dirtiness.range.first_dirty_offset
        assumption = "never cleaned" if log.estimate else f"cleaned below {start}"
        rows.append((log_cell(*log.log), *_ratio(log.dirtiness), assumption, verdict(log.dirtiness)))
        if log.estimate:
            start = log.estimate.range.first_dirty_offset
            rows.append(("", *_ratio(log.estimate), f"estimate: cleaned below {start}", ""))
    head = ("log", "dirty ratio", "clean bytes", "cleanable", "uncleanable", "if", "eligible")
    return Table.of("Dirty ratio", head, rows, ("log", "if", "eligible"))


def _ratio(dirtiness: Dirtiness) -> Row:
    ratio = dirtiness.ratio
    return f"{ratio.ratio:.4f}", ratio.clean_bytes, ratio.cleanable_bytes, ratio.uncleanable_bytes


_GAIN = ("rounds", "map keys", "buffer bytes")


def _gains(report: DirtyRatioReport) -> Table:
    head = ("log", "dirty section", "records", "would go", "bytes", "held back", *_GAIN)
    return Table.of("What cleaning would bring", head, map(_gain, report.logs), ("log", "dirty section"))


def _gain(log: LogReport) -> Row:
    gain, cleanable = log.dirtiness.gain, log.dirtiness.range
    return (
        log_cell(*log.log),
        f"[{cleanable.first_dirty_offset}, {cleanable.first_uncleanable_offset})",
        log.records,
        gain.removable_records,
        gain.removable_bytes,
        log.perfect.removable_records - gain.removable_records,
        *_rounds_and_map(log.dirtiness),
    )


def _rounds_and_map(dirtiness: Dirtiness) -> Row:
    gain, buffer_bytes = dirtiness.gain, dirtiness.buffer_bytes
    room = "" if gain.map_limit is None else f" (room for {gain.map_limit:,})"
    return gain.rounds, f"{gain.map_entries:,}{room}", "no size" if buffer_bytes is None else buffer_bytes


def _tombstones(report: DirtyRatioReport) -> Table:
    rows: list[Row] = []
    for log in report.logs:
        gain = log.perfect
        if not gain.tombstones:
            continue
        unstamped = gain.tombstones - gain.stamped_tombstones
        first_ms = log.dirtiness.setting.policy.delete_horizon_ms
        when = [f"{gain.due_tombstones:,} in the next round"] if gain.due_tombstones else []
        if log.next_due_ms is not None:
            waiting = gain.stamped_tombstones - gain.due_tombstones
            when.append(f"{waiting:,} from {moment(log.next_due_ms)} on")
        if unstamped:
            when.append(
                f"{unstamped:,} never, as delete.retention.ms is too long for a delete horizon"
                if first_ms is None
                else f"{unstamped:,} in a second round, from {moment(first_ms)} on"
            )
        rows.append((log_cell(*log.log), gain.tombstones, gain.stamped_tombstones, "; ".join(when)))
    head = ("log", "latest tombstones", "with a horizon", "could go")
    return Table.of("Tombstones", head, rows, ("log", "could go"))


def moment(time_ms: int) -> str:
    """A time in UTC, to the second; beyond the calendar, the number itself."""
    try:
        return datetime.fromtimestamp(time_ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (OverflowError, ValueError, OSError):
        return f"{time_ms} ms"


def _remedies(report: DirtyRatioReport) -> Table:
    rows: list[Row] = []
    for log in report.logs:
        if log.remedy is None:
            continue
        changes = ", ".join(f"{c.name}={c.value} (set back to {c.before})" for c in log.remedy.changes)
        rows.append((log_cell(*log.log), changes or "no config change", log.remedy.waits_for or "-"))
    head = ("log", "smallest change that makes it eligible", "waits for")
    return Table.of("To force it now", head, rows, head)


def _what_ifs(report: DirtyRatioReport) -> Table:
    rows = [_what_if(log.log, dirtiness) for log in report.logs for dirtiness in log.what_if]
    names = tuple(name for name, _ in report.logs[0].what_if[0].setting.values) if rows else ()
    head = ("log", *names, "eligible", "dirty ratio", "would go", "bytes", *_GAIN)
    return Table.of("What if", head, rows, ("log", "eligible"))


def _what_if(log: LogName, dirtiness: Dirtiness) -> Row:
    gain = dirtiness.gain
    return (
        log_cell(*log),
        *(text for _, text in dirtiness.setting.values),
        verdict(dirtiness),
        f"{dirtiness.ratio.ratio:.4f}",
        gain.removable_records,
        gain.removable_bytes,
        *_rounds_and_map(dirtiness),
    )
