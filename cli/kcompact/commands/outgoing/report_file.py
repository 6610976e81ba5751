"""A report that goes to a file, for commands whose only output it is."""

import io
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

from rich.console import Console

from kcompact.commands.outgoing.path_checks import check_paths
from kcompact.console import stdout
from kcompact.errors import OutputError
from kcompact.storage import disk
from kcompact.storage.apart import WrittenPath
from kcompact.storage.object_stores import is_address, refuse_other_address
from kcompact.storage.publication import Publication, open_publication
from kcompact.storage.replacing import check_replaceable

STDOUT = "-"
_FILE_WIDTH = 200  # columns of a text report that goes to a file


class ReportOptions(Protocol):
    """The options of any command that say where its report goes."""

    @property
    def output(self) -> str | None:
        """The file; None or ``-``: standard output."""

    @property
    def overwrite(self) -> bool:
        """Whether it may be there already."""

    @property
    def annotations(self) -> bool | None:
        """Whether GitHub gets annotations; None: under GitHub Actions."""


@dataclass(frozen=True)
class ReportFile:
    """The file of ``-o``, claimed: it is known that it can be written."""

    path: Path
    publication: Publication

    def write(self, text: str) -> None:
        """Write it whole or not at all. Raises OutputError."""
        with disk.explained(self.path):
            disk.write(self.publication.prepare(self.path), text.encode())
        self.publication.commit()


def show_report(file: ReportFile | None, render: Callable[[Console], None]) -> None:
    """Have the report printed to standard output, or to the file. Raises OutputError."""
    if file is None:
        render(stdout)
        sys.stdout.flush()
        return
    text = io.StringIO()
    render(Console(file=text, width=_FILE_WIDTH, highlight=False, soft_wrap=True))
    file.write(text.getvalue())


@contextmanager
def open_report(
    options: ReportOptions, dumps: Iterable[str], others: Iterable[str | None]
) -> Iterator[ReportFile | None]:
    """Before the work, not after it: claim the file of ``-o``; None for standard output.

    ``dumps`` and ``others`` are as ``check_paths`` takes them. Raises OutputError if
    the file may not, or cannot, be written.
    """
    output, annotations = options.output, options.annotations
    if output == "":
        raise OutputError("-o names nothing", hint="is a variable empty? -o - is standard output")
    if output is None or output == STDOUT:
        check_paths(dumps, others, [], annotations)
        yield None
        return
    if is_address(output):
        raise OutputError(
            f"-o {output}: a report goes to a file here, not to a store",
            hint="name a file, or leave -o out and pipe what is said to the store's own tool",
        )
    refuse_other_address("-o", output)
    path = Path(output)
    check_paths(dumps, others, [WrittenPath(path, "-o")], annotations)
    check = partial(check_replaceable, path, overwrite=options.overwrite)
    check()
    with open_publication([path], check) as publication:
        yield ReportFile(path, publication)
