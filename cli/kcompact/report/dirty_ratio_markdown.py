"""The dirty-ratio report as Markdown."""

from kcompact.report.dirty_ratio import DirtyRatioReport
from kcompact.report.dirty_ratio_tables import TableText, tables
from kcompact.report.inert import markdown, markdown_code


def render_markdown(report: DirtyRatioReport) -> str:
    """The tables under their titles; text from the dump is inert in it."""
    read = "\n".join(f"* Read: {markdown_code(path)}" for path in report.inputs)
    notes = "\n".join(f"* {markdown(note)}" for note in report.notes)
    sections = ["# Dirty ratio report", read, *map(_section, tables(report))]
    sections += ["The dump holds no records."] if not report.logs else []
    sections += [f"## Notes\n\n{notes}"] if notes else []
    return "\n\n".join(sections) + "\n"


def _section(table: TableText) -> str:
    text = {table.head[0], *table.left}
    lines = [_row(table.head), _row(["---" if name in text else "---:" for name in table.head])]
    return "\n".join([f"## {table.title}", "", *lines, *(_row(_cells(row)) for row in table.rows)])


def _cells(row: tuple[str, ...]) -> list[str]:
    """The first one names a log."""
    return [markdown_code(row[0]), *map(markdown, row[1:])]


def _row(cells: tuple[str, ...] | list[str]) -> str:
    return f"| {' | '.join(cells)} |"
