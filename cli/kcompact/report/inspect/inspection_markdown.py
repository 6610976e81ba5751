"""The inspection as Markdown, for tickets and pull requests."""

from kcompact.inspect.inspection import Inspection
from kcompact.report.inert import markdown
from kcompact.report.inspect.inspection_sections import sections
from kcompact.report.inspect.inspection_text import place
from kcompact.report.markdown_table import markdown_table


def render_markdown(inspection: Inspection) -> str:
    """The whole report; text from the dump is inert in it."""
    parts = ["# Inspection", markdown(inspection.verdict)]
    lines = [
        f"* **{finding.level.name.lower()}** {markdown(place(finding) + finding.text)}"
        for finding in inspection.findings
    ]
    if lines:
        parts.append("\n".join(lines))
    parts += map(markdown_table, sections(inspection))
    return "\n\n".join(parts) + "\n"
