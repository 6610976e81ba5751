"""The forms that a report has, by the word of ``--format``."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from rich.console import Console

Report = TypeVar("Report")


@dataclass(frozen=True)
class ReportForms(Generic[Report]):
    """How a report is printed as text, and made in its other forms; those for CI servers are in ``ci/``."""

    print_text: Callable[[Report, Console], None]
    others: Mapping[str, Callable[[Report], str]]

    def show(self, report: Report, report_format: str, console: Console) -> None:
        """Print a report in one of its forms; only text obeys ``--quiet``."""
        if report_format == "text":
            self.print_text(report, console)
        else:
            console.file.write(self.others[report_format](report))
