"""All changes to a disk by which a result is written. Each of them is one call of ``system``.

A test of faults replaces ``system`` by an object that passes calls on to ``os``, counts them, and raises
``OSError`` or writes less at a chosen one (``disk.system = Faulty(os, at=17)``). Files that workers write
into a run's private folder are no results yet, and do not go through this module.
"""

import errno
import io
import os
import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, cast

from kcompact.errors import OutputError
from kcompact.storage.lookup import is_folder, is_there, raise_error

system: Any = os
"""In use: open, write, copy_file_range, fsync, close, rename, link, unlink, mkdir, rmdir, chmod, chown."""

_ELSEWHERE = "choose another place, with -o, --report, --state or TMPDIR"
_BUFFER_BYTES = 1 << 20
_FLUSHED_AT_ONCE = 8
_NO_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK, errno.ENOSYS, errno.EXDEV}
_NO_COPYING = {errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP}


@contextmanager
def explained(place: str | Path) -> Iterator[None]:
    """In this context, raise an OSError as an OutputError that names ``place`` and has a hint."""
    try:
        yield
    except OSError as error:
        raise write_error(place, error) from error


def write_error(place: str | Path, error: OSError) -> OutputError:
    """The error to raise instead of ``error`` where writing to ``place`` failed."""
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return OutputError(
            f"{place}: the disk that it is to be written to is full ({error.strerror})",
            hint=f"free some space there, or {_ELSEWHERE}",
        )
    if error.errno == errno.EFBIG:
        return OutputError(
            f"{place}: larger than files may become here ({error.strerror})",
            hint="look at ulimit -f, and at the limits of the file system",
        )
    return OutputError(f"{place} cannot be written: {error.strerror}", hint=_ELSEWHERE)


class _File(io.FileIO):
    """A new file, unbuffered, that is opened, written and closed through ``system``."""

    def __init__(self, path: Path, mode: int) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        super().__init__(system.open(path, flags, mode), "wb", closefd=False)
        self.name = str(path)

    def write(self, data: Any, /) -> int:
        return system.write(self.fileno(), data)

    def close(self) -> None:
        if not self.closed:
            descriptor = self.fileno()
            super().close()
            system.close(descriptor)


def create(path: Path, mode: int = 0o666) -> BinaryIO:
    """A new file, open for writing. Nothing of its name may be there."""
    return cast(BinaryIO, io.BufferedWriter(_File(path, mode), _BUFFER_BYTES))


def write(path: Path, data: bytes) -> None:
    """Write a new file."""
    with create(path) as out:
        out.write(data)


def copy_range(source: BinaryIO, out: BinaryIO, length: int) -> int:
    """Append up to ``length`` bytes from the position of ``source``, within the kernel.

    Returns how many, or 0 if the file system cannot do that.
    """
    try:
        return system.copy_file_range(source.fileno(), out.fileno(), length)
    except OSError as error:
        if error.errno not in _NO_COPYING:
            raise
        return 0


def flush(path: str | Path) -> None:
    """Flush a file, or a folder's list of names."""
    descriptor = system.open(path, os.O_RDONLY)
    try:
        system.fsync(descriptor)
    finally:
        system.close(descriptor)


def flush_tree(path: Path) -> None:
    """Flush a file, or a folder with all that it holds.

    Several files are flushed at a time, so that the file system writes many small ones together: ten times as
    fast.
    """
    below = os.walk(path, onerror=raise_error) if is_folder(path) else ()
    paths = [str(path), *(f"{folder}/{name}" for folder, *names in below for name in chain(*names))]

    def flush_share(first: int) -> None:
        for entry in paths[first::_FLUSHED_AT_ONCE]:
            flush(entry)

    with ThreadPoolExecutor(_FLUSHED_AT_ONCE) as threads:
        # The list waits for all threads, and raises an error of any of them.
        list(threads.map(flush_share, range(min(_FLUSHED_AT_ONCE, len(paths)))))


def make_folder(path: Path, mode: int = 0o777) -> None:
    """Make one folder."""
    system.mkdir(path, mode)


def make_folders(path: Path) -> list[Path]:
    """Make a folder and those above it. Returns the folders that were made, the uppermost first."""
    missing = [folder for folder in (path, *path.parents) if not is_there(folder)]
    for folder in reversed(missing):
        try:
            system.mkdir(folder, 0o777)
        except FileExistsError:
            if not is_folder(folder):
                raise
    return missing[::-1]


def rename(path: Path, target: Path) -> None:
    """Rename a file, and replace the target if that is there."""
    system.rename(path, target)


def keep_permissions(replaced: Path, prepared: Path) -> None:
    """Give a prepared file or folder, and all in it, permissions and owner of what it replaces, name by name.

    A dump that nobody else could read must not become readable when it is compacted in its place.
    """
    if not is_there(replaced):
        return
    inside = [str(path.relative_to(prepared)) for path in prepared.rglob("*")] if is_folder(prepared) else []
    for name in (*inside, ""):
        new = prepared / name
        try:
            old, status = (replaced / name).lstat(), new.stat()
        except FileNotFoundError:
            continue
        if (old.st_uid, old.st_gid) != (status.st_uid, status.st_gid):
            with suppress(OSError):  # nobody but root may give a file away
                system.chown(new, old.st_uid, old.st_gid)
        if (mode := stat.S_IMODE(old.st_mode)) != stat.S_IMODE(status.st_mode):
            system.chmod(new, mode)


def link_or_rename(path: Path, target: Path) -> None:
    """Make ``target`` another name of the file, or its only name if the file system has no hard links."""
    try:
        system.link(path, target)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        system.rename(path, target)


def unlink(path: Path) -> None:
    """Remove a file."""
    system.unlink(path)


def remove_tree(path: Path) -> None:
    """Remove a file, or a folder with all that it holds. It is no error if it is gone already."""
    try:
        is_folder = stat.S_ISDIR(path.lstat().st_mode)
        if is_folder:
            for entry in os.scandir(path):
                remove_tree(Path(entry.path))
            system.rmdir(path)
        else:
            system.unlink(path)
    except FileNotFoundError:
        return


def may_be_written(path: str | Path) -> bool:
    """Whether this process may write a file, or make files in a folder."""
    return os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids)
