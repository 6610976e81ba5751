"""A report that goes to a file, for commands whose only output it is."""

from collections.abc import Iterable
from pathlib import Path

from kcompact.commands.path_checks import check_paths
from kcompact.dumps.publish import Publication
from kcompact.errors import OutputError
from kcompact.storage.apart import WrittenPath
from kcompact.storage.replacing import check_replaceable

STDOUT = "-"


def report_target(output: str | None) -> Path | None:
    """The file of ``-o``; None for standard output. Raises OutputError for an empty name."""
    if output == "":
        raise OutputError("-o names nothing", hint="is a variable empty? -o - is standard output")
    return None if output is None or output == STDOUT else Path(output)


def check_report_file(
    target: Path | None, dumps: Iterable[str], others: Iterable[str | None], *, overwrite: bool
) -> None:
    """Before the work, not after it: raise OutputError if a report may not be written to ``target``.

    ``dumps`` and ``others`` are what the command reads, as ``check_paths`` takes them.
    """
    check_paths(dumps, others, [] if target is None else [WrittenPath(target, "-o")])
    if target is not None:
        check_replaceable(target, overwrite=overwrite)


def write_report_file(path: Path, text: str) -> None:
    """Write a report whole or not at all."""
    with Publication() as publication:
        publication.prepare(path).write_text(text, encoding="utf-8")
        publication.commit()
