"""The inspection as Markdown, for tickets and pull requests."""

from kcompact.inspect.inspection import Inspection
from kcompact.report.inert import markdown
from kcompact.report.inspect.inspection_sections import sections
from kcompact.report.inspect.inspection_text import place
from kcompact.report.markdown_table import markdown_table


def render_markdown(found: Inspection) -> str:
    """The whole report; text from the dump is inert in it."""
    parts = ["# Inspection", markdown(found.verdict)]
    lines = [
        f"* **{finding.level.name.lower()}** {markdown(place(finding) + finding.text)}"
        for finding in found.findings
    ]
    if lines:
        parts.append("\n".join(lines))
    parts += map(markdown_table, sections(found))
    return "\n\n".join(parts) + "\n"
