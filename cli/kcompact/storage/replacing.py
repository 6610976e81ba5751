"""Replacing, if the user asks for it: a file, or a folder that holds nothing but names that are written."""

import errno
import os
import shlex
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from kcompact.errors import OutputError
from kcompact.storage.disk import may_be_written
from kcompact.storage.lookup import is_file, is_folder, is_there

_LONGEST_NAME_BYTES = 255
_STDOUT_HINT = "-o - is standard output; to see the report alone, compact has --dry-run"
_NO_REPORT_HINT = "name a folder with --report, or write no report with --no-report"


def check_replaceable(
    path: Path, *, overwrite: bool, option: str = "-o", names: Iterable[str] | None = None
) -> None:
    """Raise OutputError if ``path`` may not be written, or the file or folder there may not be replaced.

    ``names`` holds the relative paths in the folder that will be written; None: it will be a file.
    """
    status = _status_of(path)
    if status is None:
        return
    is_device = is_there(path) and not (is_file(path) or is_folder(path))
    if stat.S_ISLNK(status.st_mode) and not is_device:
        leads_to = f"name the target of the link with {option}: {os.path.realpath(path)}"
        raise OutputError(
            f"{path} is a symbolic link, and only files and folders are replaced",
            hint=_STDOUT_HINT if _is_stdout(path) else leads_to,
        )
    if is_device:
        raise OutputError(
            f"{path} is neither a file nor a folder: it is not replaced",
            hint=_NO_REPORT_HINT if option == "--report" else _STDOUT_HINT,
        )
    _check_kind(path, is_folder=stat.S_ISDIR(status.st_mode), to_folder=names is not None, option=option)
    if not overwrite:
        raise OutputError(
            f"{path} exists already",
            hint=f"add --overwrite to replace it, or choose another with {option}",
        )
    if not may_be_written(path):
        raise OutputError(
            f"{path} may not be written by this user, so it is not replaced",
            hint=f"make it writable (chmod u+w), or choose another with {option}",
        )
    if names is not None:
        _check_folder(path, names, option)


def _is_stdout(path: Path) -> bool:
    """Whether a path leads to the file that standard output goes to, as ``/dev/stdout`` does."""
    try:
        return os.path.samestat(path.stat(), os.fstat(1))
    except OSError:
        return False


def too_long(path: str) -> str:
    """The message for a path, or a name in it, that is longer than the file system allows."""
    long = max(path.split("/"), key=lambda part: len(os.fsencode(part)))
    if len(os.fsencode(long)) <= _LONGEST_NAME_BYTES:
        return f"a path of {len(os.fsencode(path))} bytes is too long for a file: {path[:40]}..."
    return f"a name of {len(os.fsencode(long))} bytes is too long for a file: {long[:40]}..."


def _status_of(path: Path) -> os.stat_result | None:
    try:
        return path.lstat()
    except FileNotFoundError:
        return None
    except OSError as error:
        is_long = error.errno == errno.ENAMETOOLONG
        text = too_long(str(path)) if is_long else f"{path} cannot be written: {error.strerror}"
        raise OutputError(text, hint="choose another place for it") from error


def _check_kind(path: Path, *, is_folder: bool, to_folder: bool, option: str) -> None:
    if is_folder == to_folder:
        return
    kind, new_kind = ("folder", "file") if is_folder else ("file", "folder")
    raise OutputError(
        f"{path} is a {kind}, and {option} will be a {new_kind}", hint=f"choose another name with {option}"
    )


def _check_folder(path: Path, names: Iterable[str], option: str) -> None:
    if os.path.ismount(path):
        raise OutputError(
            f"{path} is a mount point, and a folder is replaced as a whole",
            hint=f"name a folder in it, such as {option} {shlex.quote(f'{path}/compacted/')}",
        )
    new_paths = {name for relative in names for name in (relative, *map(str, Path(relative).parents))}
    for name, is_plain in _entries(path):
        if name not in new_paths or not is_plain:
            raise OutputError(
                f"{path} holds {name}, which this run will not write: the folder is not replaced",
                hint=f"move it away, or choose another folder with {option}",
            )


def _entries(folder: Path) -> Iterator[tuple[str, bool]]:
    """Everything in a folder by its relative path, in order, and whether it is a regular file or a folder."""
    for inside, folders, files in os.walk(folder, onerror=_raise):
        folders.sort()
        for name in sorted([*folders, *files]):
            entry = Path(inside, name)
            mode = entry.lstat().st_mode
            yield str(entry.relative_to(folder)), stat.S_ISREG(mode) or stat.S_ISDIR(mode)


def _raise(error: OSError) -> None:
    raise OutputError(f"{error.filename} cannot be looked at: {error.strerror}") from error
