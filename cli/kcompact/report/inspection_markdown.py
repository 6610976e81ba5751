"""The inspection as Markdown, for tickets and pull requests."""

from kcompact.inspect.inspection import Inspection
from kcompact.report.inert import markdown, markdown_code
from kcompact.report.inspection_sections import Foreign, Section, sections
from kcompact.report.inspection_text import place


def render_markdown(found: Inspection) -> str:
    """The whole report; text from the dump is inert in it."""
    parts = ["# Inspection", markdown(found.verdict)]
    lines = [
        f"* **{finding.level.name.lower()}** {markdown(place(finding) + finding.text)}"
        for finding in found.findings
    ]
    if lines:
        parts.append("\n".join(lines))
    parts += [_section(section) for section in sections(found)]
    return "\n\n".join(parts) + "\n"


def _section(section: Section) -> str:
    rules = ["---" if number < section.texts else "---:" for number in range(len(section.headers))]
    lines = [_row(list(section.headers)), _row(rules)]
    lines += [_row([_cell(cell) for cell in row]) for row in section.rows]
    remark = f"\n\n{section.remark}" if section.remark else ""
    return f"## {section.title}\n\n" + "\n".join(lines) + remark


def _cell(cell: str) -> str:
    return markdown_code(cell) if isinstance(cell, Foreign) else cell


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"
