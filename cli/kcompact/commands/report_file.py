"""A report that goes to a file, for commands whose only output it is."""

from collections.abc import Iterable
from pathlib import Path

from kcompact.dumps.publish import Publication
from kcompact.errors import OutputError


def check_report_file(path: Path, inputs: Iterable[str], *, overwrite: bool) -> None:
    """Before the work, not after it: raise OutputError if a report may not be written to ``path``."""
    if path.is_dir():
        raise OutputError(f"{path} is a folder", hint="name a file with -o")
    if not path.exists():
        return
    if any(Path(one).exists() and path.samefile(one) for one in inputs):
        raise OutputError(f"{path} is one of the dumps", hint="write the report elsewhere with -o")
    if not overwrite:
        raise OutputError(f"{path} exists", hint="add --overwrite, or choose another file with -o")


def write_report_file(path: Path, text: str) -> None:
    """Write a report whole or not at all."""
    with Publication() as publication:
        publication.prepare(path).write_text(text, encoding="utf-8")
        publication.commit()
