"""The dirty-ratio report on a terminal."""

from rich.console import Console

from kcompact.report.dirty_ratio.dirty_ratio_report import DirtyRatioReport
from kcompact.report.dirty_ratio.dirty_ratio_tables import tables
from kcompact.report.text_table import print_tables

MOST_ROWS = 60  # of each table


def print_text(report: DirtyRatioReport, console: Console) -> None:
    """Print the tables, one below the other."""
    if not report.logs:
        console.print("The dump holds no records.")
    print_tables([table.shortened(MOST_ROWS, "--format json has all") for table in tables(report)], console)
