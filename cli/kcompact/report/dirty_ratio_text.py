"""The dirty-ratio report on a terminal."""

import io

from rich.console import Console
from rich.table import Table
from rich.text import Text

from kcompact.report.dirty_ratio import DirtyRatioReport
from kcompact.report.dirty_ratio_tables import TableText, tables
from kcompact.report.inert import terminal

MOST_ROWS = 60  # of each table; --format json has all
_WIDE = 1000


def print_text(report: DirtyRatioReport, console: Console) -> None:
    """Print the tables, one below the other."""
    if not report.logs:
        console.print("The dump holds no records.")
    for number, table in enumerate(tables(report)):
        if number:
            console.print()
        if console.is_terminal:
            console.print(_rich(table))
        else:
            console.print(_unwrapped(table), markup=False)
        hidden = len(table.rows) - MOST_ROWS
        if hidden > 0:
            console.print(f"... and {hidden:,} more rows; --format json has all", markup=False)


def _unwrapped(table: TableText) -> str:
    """The table for a pipe or a file: lines as long as they need to be, nothing cut."""
    wide = Console(file=io.StringIO(), width=_WIDE, highlight=False)
    with wide.capture() as captured:
        wide.print(_rich(table))
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


def _rich(table: TableText) -> Table:
    shown = Table(
        title=table.title, title_justify="left", title_style="bold", box=None, pad_edge=False, header_style=""
    )
    for name in table.head:
        is_text = name == table.head[0] or name in table.left
        shown.add_column(name, justify="left" if is_text else "right")
    for row in table.rows[:MOST_ROWS]:
        shown.add_row(*(Text(terminal(cell)) for cell in row))
    return shown
