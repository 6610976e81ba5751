"""The dirty-ratio report as Markdown."""

from kcompact.report.dirty_ratio.dirty_ratio_report import DirtyRatioReport
from kcompact.report.dirty_ratio.dirty_ratio_tables import tables
from kcompact.report.inert import markdown, markdown_code
from kcompact.report.markdown_table import markdown_table


def render_markdown(report: DirtyRatioReport) -> str:
    """The tables under their titles; text from the dump is inert in it."""
    inputs = "\n".join(f"* Read: {markdown_code(path)}" for path in report.inputs)
    notes = "\n".join(f"* {markdown(note)}" for note in report.notes)
    sections = ["# Dirty ratio report", inputs, *map(markdown_table, tables(report))]
    sections += ["The dump holds no records."] if not report.logs else []
    sections += [f"## Notes\n\n{notes}"] if notes else []
    return "\n\n".join(sections) + "\n"
