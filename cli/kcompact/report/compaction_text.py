"""The short table that ``compact`` shows on the terminal."""

from rich.console import Console
from rich.table import Table
from rich.text import Text

from kcompact.log.totals import LogOutcome
from kcompact.report.compaction import CompactionReport
from kcompact.report.inert import terminal

MOST_LOGS = 40  # rows of the table; the report folder has all


def print_text(report: CompactionReport, console: Console) -> None:
    """Print one row per log, then what was written."""
    reasons = [reason for reason in _reasons(report) if any(log.removed[reason] for log in report.logs)]
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("log", "records", "kept", *(reason.replace("_", " ") for reason in reasons)):
        table.add_column(name, justify="left" if name == "log" else "right")
    for name in ("tombstones kept", "gaps", "bytes saved"):
        table.add_column(name, justify="right")
    for log in report.logs[:MOST_LOGS]:
        table.add_row(Text(terminal(f"{log.topic}-{log.partition}")), *_cells(log, reasons))
    if len(report.logs) > 1:
        table.add_row(Text(_rest(report)), *_cells(_total(report.logs), reasons), style="bold")
    console.print(table)
    for path in report.outputs:
        console.print(f"{'would write' if report.dry_run else 'wrote'} {terminal(path)}", markup=False)


def _reasons(report: CompactionReport) -> list[str]:
    return list(report.logs[0].removed) if report.logs else []


def _cells(log: LogOutcome, reasons: list[str]) -> list[str]:
    saved = log.record_bytes - log.kept_bytes
    share = f" ({100 * saved / log.record_bytes:.0f} %)" if log.record_bytes else ""
    return [
        f"{log.records:,}",
        f"{log.kept:,}",
        *(f"{log.removed[reason]:,}" for reason in reasons),
        f"{log.tombstones_kept:,}",
        f"{log.gaps:,}",
        f"{saved:,}{share}",
    ]


def _rest(report: CompactionReport) -> str:
    hidden = len(report.logs) - MOST_LOGS
    return f"total (with {hidden:,} more)" if hidden > 0 else "total"


def _total(logs: list[LogOutcome]) -> LogOutcome:
    total = LogOutcome(0, "", 0)
    for log in logs:
        for name in ("records", "record_bytes", "kept", "kept_bytes", "tombstones_kept", "gaps"):
            setattr(total, name, getattr(total, name) + getattr(log, name))
        for reason, count in log.removed.items():
            total.removed[reason] += count
    return total
