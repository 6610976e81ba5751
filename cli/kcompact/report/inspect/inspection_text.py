"""The inspection on a terminal: the verdict, the findings, then the tables."""

from rich.console import Console
from rich.text import Text

from kcompact.inspect.inspection import Inspection
from kcompact.inspect.severity import Finding
from kcompact.printable import terminal
from kcompact.report.inspect.inspection_sections import sections
from kcompact.report.text_table import print_tables

_STYLES = {"ERROR": "red", "WARNING": "yellow", "NOTE": "dim"}


def print_text(inspection: Inspection, console: Console) -> None:
    """Print everything; text from the dump is inert on a terminal and in a CI log."""
    console.print(Text(terminal(inspection.verdict), style="bold"))
    for finding in inspection.findings:
        level = finding.level.name
        line = Text(f"{level.lower()}: ", style=_STYLES[level])
        console.print(line.append(terminal(f"{place(finding)}{finding.text}"), style="default"))
    console.print()
    print_tables(sections(inspection), console)


def place(finding: Finding) -> str:
    """The subject of a finding: ``orders-0: ``, ``orders: `` or nothing."""
    if finding.topic is None:
        return ""
    return f"{finding.topic}: " if finding.partition is None else f"{finding.topic}-{finding.partition}: "
