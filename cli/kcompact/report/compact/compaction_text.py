"""The short table that ``compact`` shows on the terminal."""

from rich.console import Console

from kcompact.report.compact.compaction_report import CompactionReport
from kcompact.report.compact.compaction_tables import headline, logs_table
from kcompact.report.inert import terminal
from kcompact.report.text_table import print_tables

MOST_LOGS = 40  # rows of the table; the report folder has all


def print_text(report: CompactionReport, console: Console) -> None:
    """Print one row per log, then what was written."""
    if report.logs:
        print_tables([logs_table(report).shortened(MOST_LOGS, "the report folder has all")], console)
    else:
        console.print(headline(report))
    for path in report.outputs:
        console.print(f"{'would write' if report.dry_run else 'wrote'} {terminal(path)}", markup=False)
