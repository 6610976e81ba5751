"""Checks of the paths that a command line asks to write, before anything runs."""

import os
import tempfile
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from kcompact.commands.outgoing.telling_ci import STEP_SUMMARY, summary_file
from kcompact.dumps.files.descriptors import is_descriptor
from kcompact.dumps.files.sources import STDIN, find_files
from kcompact.dumps.paired.side_files import grouped
from kcompact.errors import InputError, OutputError
from kcompact.storage.apart import ReadPath, WrittenPath, check_apart, is_inside
from kcompact.storage.lookup import is_file, is_folder
from kcompact.storage.object_stores import is_address


def check_paths(
    dumps: Iterable[str],
    others: Iterable[str | None],
    targets: Sequence[WrittenPath],
    annotations: bool | None,
) -> None:
    """Raise OutputError where a path that is written meets one that is read, or another that is written.

    Raises InputError for a standard input that would be read twice.

    ``dumps`` are DUMP arguments, ``others`` whatever else is read; None where an option is not given.
    ``annotations`` tell whether the summary of a CI step is written, too (``summary_file``).
    """
    dumps, others = list(dumps), list(others)
    if [*map(_is_standard_input, filter(None, [*dumps, *others]))].count(True) > 1:
        raise InputError("standard input is named twice, and can be read once", hint="name a file")
    summary = summary_file(annotations)
    if summary is not None:
        targets = [*targets, WrittenPath(summary, STEP_SUMMARY)]
    sources = [source for dump in dumps if not is_address(dump) for source in _sources(dump)]
    sources += [source for other in others if other for source in _sources_or_missing(other)]
    check_apart(sources, targets)
    for source in sources:
        if source.files:
            _check_temporary_folder(source)


def _is_standard_input(path: str) -> bool:
    """Whether a path is ``-``, or another name of the same pipe."""
    if path == STDIN:
        return True
    with suppress(OSError):  # closed
        is_pipe = is_descriptor(path) and not is_file(path)
        return is_pipe and os.path.samestat(os.fstat(0), Path(path).stat())
    return False


def _sources(dump: str) -> list[ReadPath]:
    if dump == STDIN:
        return [ReadPath("/dev/stdin")]  # it may be a file
    files = tuple(path for group in grouped(find_files([dump])) for path in group.values())
    if is_folder(dump):
        return [ReadPath(dump, files, is_compacted=True)]
    is_named = not is_descriptor(dump)  # a descriptor is not the file's own path: it must not be replaced
    return [ReadPath(path, is_compacted=is_named) for path in files]


def _sources_or_missing(other: str) -> list[ReadPath]:
    """A path that cannot be found counts as one file; the error comes from whatever reads it."""
    try:
        return [replace(source, is_compacted=False) for source in _sources(other)]
    except InputError:
        return [ReadPath(other)]


def _check_temporary_folder(source: ReadPath) -> None:
    """Refuse a scratch folder inside a folder that is read: its files would turn up among the dump's."""
    temporary = Path(tempfile.gettempdir())
    if is_inside(temporary, source.path):
        raise OutputError(
            f"temporary files go to {temporary}, which is inside the input {source.path}",
            hint=f"name the files, such as {source.path.rstrip('/')}/*.jsonl, or another folder with TMPDIR",
        )
