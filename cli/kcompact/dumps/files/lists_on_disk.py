"""Finds lists of the files that count (``listed_files.py``) on a disk: for a folder, or for a file."""

import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from kcompact.dumps.files.listed_files import ICEBERG, SIGNS, FileList, Reader, list_of
from kcompact.dumps.files.marks import UNFINISHED
from kcompact.errors import InputError
from kcompact.storage.lookup import is_folder, is_there

_KEPT: ContextVar[dict[str, FileList | None]] = ContextVar("file_lists")


@contextmanager
def file_lists_kept() -> Iterator[None]:
    """Within the context, for one command, a folder's list is read once, however many files are named."""
    token = _KEPT.set({})
    try:
        yield
    finally:
        _KEPT.reset(token)


def list_around(file: str) -> tuple[FileList, str] | None:
    """The list that covers a file, beside it or above (``list_above``), and its path from there."""
    folder, _, name = file.rpartition("/")
    folder = folder or ("/" if file.startswith("/") else ".")
    if own := _list_at(folder):
        return own, name
    above = list_above(folder)
    return above and (above[0], above[1] + name)


def list_above(folder: str) -> tuple[FileList, str] | None:
    """The list of a folder above a folder such as ``partition=0``, and the path from there, with a slash."""
    path, within = _with_a_name(Path(folder)), ""
    while "=" in path.name or path.name == ICEBERG[1]:
        within = f"{path.name}/{within}"
        if file_list := _list_at(str(path.parent)):
            return file_list, within
        path = _with_a_name(path.parent)
    return None


def _with_a_name(folder: Path) -> Path:
    """The path of a folder, ending in its name where it was given as ``.`` or ``..``."""
    return folder if folder.name not in {"", ".."} else Path(os.path.normpath(folder.absolute()))


def _list_at(folder: str) -> FileList | None:
    kept = _KEPT.get({})
    if folder not in kept:
        signs = [sign for sign in SIGNS if is_there(Path(folder, sign))]
        markers = [path.name for path in Path(folder).glob(f"{UNFINISHED}*")]
        kept[folder] = list_on_disk(folder, [*signs, *markers])
    return kept[folder]


def list_on_disk(folder: str, names: Collection[str]) -> FileList | None:
    """The list of a folder that holds files of these names (``list_of``). Raises InputError."""
    try:
        return list_of(folder, names, Reader(_names_on_disk, _lines_on_disk))
    except OSError as error:
        hint = "make it readable: it says which files of the folder count"
        raise InputError(f"{error.filename}: {error.strerror}", hint=hint) from error


def _names_on_disk(folder: str) -> list[str]:
    """The names of plain files in a folder. Reading a pipe with such a name would block."""
    if not is_folder(folder):
        return []
    with os.scandir(folder) as entries:
        return [entry.name for entry in entries if entry.is_file()]


def _lines_on_disk(path: str) -> Iterator[bytes]:
    with Path(path).open("rb") as file:
        yield from file
