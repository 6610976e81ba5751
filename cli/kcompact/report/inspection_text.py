"""The inspection on a terminal: the verdict, what was found, then the tables."""

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from kcompact.inspect.findings import Finding
from kcompact.inspect.inspection import Inspection
from kcompact.report.inert import terminal
from kcompact.report.inspection_sections import Section, sections

_STYLES = {"ERROR": "red", "WARNING": "yellow", "NOTE": "dim"}


def print_text(found: Inspection, console: Console) -> None:
    """Print everything; text from the dump is inert on a terminal and in a CI log."""
    console.print(Text(terminal(found.verdict), style="bold"))
    for finding in found.findings:
        level = finding.level.name
        line = Text(f"{level.lower()}: ", style=_STYLES[level])
        console.print(line.append(terminal(f"{place(finding)}{finding.text}"), style="default"))
    for section in sections(found):
        console.print()
        console.print(Text(section.title, style="bold"))
        for line in aligned(section):
            console.print(line)
        if section.remark:
            console.print(Text(section.remark))


def place(finding: Finding) -> str:
    """What a finding is about: ``orders-0: ``, ``orders: `` or nothing."""
    if finding.topic is None:
        return ""
    return f"{finding.topic}: " if finding.partition is None else f"{finding.topic}-{finding.partition}: "


def aligned(section: Section) -> list[Text]:
    """Columns side by side, never cut or wrapped: what does not fit may scroll, but is there."""
    rows = [[terminal(cell) for cell in row] for row in (section.headers, *section.rows)]
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    return [Text(_line(row, widths, section.texts), style="" if at else "dim") for at, row in enumerate(rows)]


def _line(row: list[str], widths: list[int], texts: int) -> str:
    cells = []
    for number, (cell, width) in enumerate(zip(row, widths, strict=True)):
        blanks = " " * (width - cell_len(cell))
        cells.append(cell + blanks if number < texts else blanks + cell)
    return "  ".join(cells).rstrip()
