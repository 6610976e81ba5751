"""A report in one of its forms, on standard output or in a file, for commands that write nothing else."""

import io
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Generic, TypeVar

from rich.console import Console

from kcompact.commands.outgoing.path_checks import check_paths
from kcompact.commands.outgoing.telling_ci import add_to_summary, listens
from kcompact.console import annotate, read_or_not, stdout
from kcompact.errors import OutputError
from kcompact.options.inspect_options import InspectOutputOptions
from kcompact.options.output_options import DirtyRatioOutputOptions
from kcompact.options.verify_options import AnswerOptions
from kcompact.report.ci import CI_RENDERINGS, CiReport, render_annotations, render_summary
from kcompact.storage import disk
from kcompact.storage.apart import WrittenPath
from kcompact.storage.object_stores import is_address, refuse_other_address
from kcompact.storage.publication import Publication, open_publication
from kcompact.storage.replacing import check_replaceable

STDOUT = "-"
_FILE_WIDTH = 200  # columns of a text report that goes to a file

ReportOptions = InspectOutputOptions | DirtyRatioOutputOptions | AnswerOptions
Report = TypeVar("Report")


@dataclass(frozen=True)
class ReportForms(Generic[Report]):
    """How a report is printed as text, and made in its other forms; for CI servers see ``report/ci.py``."""

    print_text: Callable[[Report, Console], None]
    others: Mapping[str, Callable[[Report], str]]

    def show(self, report: Report, report_format: str, console: Console) -> None:
        """Print a report in one of its forms; only text obeys ``--quiet``."""
        if report_format == "text":
            self.print_text(report, console)
        else:
            _write_document(self.others[report_format](report), console.file)


@dataclass(frozen=True)
class ReportFile:
    """The file of ``-o``, once it is known that it can be written."""

    path: Path
    publication: Publication

    def write(self, text: str) -> None:
        """Write the report whole or not at all. Raises OutputError."""
        with disk.explained(self.path):
            disk.write(self.publication.prepare(self.path), text.encode())
        self.publication.commit()


@contextmanager
def open_report(
    options: ReportOptions, dumps: Iterable[str], others: Iterable[str | None]
) -> Iterator[ReportFile | None]:
    """Claim the file of ``-o`` before the work begins; None for standard output.

    ``dumps`` and ``others`` are as ``check_paths`` takes them. Raises OutputError if the file may not, or
    cannot, be written.
    """
    output, annotations = options.output, options.annotations
    if output is None or output == STDOUT:
        check_paths(dumps, others, [], annotations)
        yield None
        return
    if is_address(output):
        raise OutputError(
            f"-o {output}: a report is written to a file on this machine, not to a store",
            hint="name a file, or leave -o out and pipe the report to the store's own tool",
        )
    refuse_other_address("-o", output)
    path = Path(output)
    check_paths(dumps, others, [WrittenPath(path, "-o")], annotations)
    check = partial(check_replaceable, path, overwrite=options.overwrite)
    check()
    with open_publication([path], check) as publication:
        yield ReportFile(path, publication)


def show_report(
    report: Report,
    forms: ReportForms[Report],
    options: ReportOptions,
    file: ReportFile | None,
    ci: CiReport | None = None,
) -> None:
    """Print a report to standard output, or to the file; ``ci`` is what CI servers show of it.

    Raises OutputError.
    """
    of_ci = CI_RENDERINGS.get(options.report_format)
    text = io.StringIO()
    console = Console(file=text, width=_FILE_WIDTH, highlight=False, soft_wrap=True) if file else stdout
    with read_or_not():
        if ci is not None and of_ci is not None:
            _write_document(of_ci(ci), console.file)
        else:
            forms.show(report, options.report_format, console)
        if file is None:
            sys.stdout.flush()
    if file is not None:
        file.write(text.getvalue())


def _write_document(text: str, out: IO[str]) -> None:
    """JSON, HTML and XML are UTF-8, whatever the locale's encoding is."""
    if isinstance(out, io.TextIOWrapper):
        out.reconfigure(encoding="utf-8")
    out.write(text)


def tell_github(ci: CiReport, options: ReportOptions, file: ReportFile | None) -> None:
    """Give GitHub annotations, unless standard output has them already, and a summary of the step."""
    if not listens(options.annotations):
        return
    if options.report_format != "github" or file is not None:
        annotate(render_annotations(ci))
    add_to_summary(render_summary(ci), options.annotations)
