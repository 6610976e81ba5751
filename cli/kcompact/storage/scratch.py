"""Private folders of a run, for parts, unpacked copies and files that are about to be published.

Such a folder is called ``.kcompact-`` and something unguessable, nobody else may enter it (0700), and the run
holds a lock on a file in it as long as it lives. So the next run recognises a folder that a dead run has
left: it belongs to the same user and holds this file, whose lock is free. The next run finishes a half-done
publication, and removes the folder. A folder without the file is not of kcompact, and stays. The lock is
``flock``, which the kernel keeps, so that neither containers nor repeated process numbers matter.

An archive might be unpacked to a folder that only looks like one of these, with a journal of files to remove.
Therefore a second file, the mark, holds the inode of the lock file, and the time of its last change in
nanoseconds, which cannot be known of a file that is yet to be unpacked. Without it, nothing in a folder is
trusted.
"""

import fcntl
import io
import os
import re
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

from kcompact.errors import OutputError
from kcompact.storage import disk

PREFIX = ".kcompact-"
_REMOVED_PREFIX = f"{PREFIX}removed-"  # of folders that are being removed, perhaps already without a lock
_LOCK = "lock"
_MARK = "mark"
_BUFFER_BYTES = 1 << 17
_PATIENCE_SECONDS = 10.0  # for another run that looks round in the same folder, which takes an instant


def folder_outside(path: Path) -> Path:
    """The folder above the private folder that holds ``path``: it is one that the user knows."""
    return next(parent for parent in path.parents if PREFIX not in str(parent))


def removed_in_use(text: str) -> OutputError | None:
    """The error if ``text``, of another error, tells that a path in a private folder is missing; or None."""
    match = _LOST_PATH.search(text)
    if match is None:
        return None
    place = folder_outside(Path(match[1]))
    return OutputError(
        f"{place}: a folder of this run, {PREFIX}..., was removed there while it ran",
        hint="exclude it from what cleans that place up, or let kcompact work elsewhere: TMPDIR, or -o",
    )


_LOST_PATH = re.compile(
    rf"(?:No such file or directory: '|NoSuchFileException: )(/[^'\n]*/{re.escape(PREFIX)}\w+)"
)


class _Part(io.FileIO):
    """A file of a private folder; its errors name the disk."""

    def __init__(self, path: Path, permissions: int = 0o600) -> None:
        self._path = path
        with disk.explained(folder_outside(path)):  # the private folder may have been removed
            super().__init__(path, "wb", opener=lambda name, flags: os.open(name, flags, permissions))

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data) or 0
        except OSError as error:
            raise disk.write_error(folder_outside(self._path), error) from error


def create_part(path: Path) -> BinaryIO:
    """Open a part in a private folder for writing. A task that is tried again writes it from the start."""
    return cast(BinaryIO, io.BufferedWriter(_Part(path), _BUFFER_BYTES))


def create_whole(path: Path) -> BinaryIO:
    """Like ``create_part``, for a file that is to become an output, with the permissions of an output."""
    return cast(BinaryIO, io.BufferedWriter(_Part(path, permissions=0o666), _BUFFER_BYTES))


@dataclass(frozen=True)
class Scratch:
    """A private folder in use by this run, and the descriptor of its lock."""

    folder: Path
    lock: int

    def remove(self) -> None:
        """Remove the folder with all that it holds, then release the lock."""
        with suppress(OSError):  # the next run removes what is left
            _remove(self.folder)
        os.close(self.lock)


def _remove(folder: Path) -> None:
    """Remove a folder whose lock is held. If the run is killed meanwhile, the next one removes the rest."""
    for entry in list(folder.iterdir()):
        if entry.name not in {_LOCK, _MARK}:
            disk.remove_tree(entry)
    emptied = folder.with_name(folder.name.replace(PREFIX, _REMOVED_PREFIX, 1))
    disk.rename(folder, emptied)
    disk.remove_tree(emptied)


@contextmanager
def open_scratch(parent: Path | None = None) -> Iterator[Scratch]:
    """A private folder in ``parent`` (None: the folder for temporary files), removed afterwards."""
    parent = Path(tempfile.gettempdir()) if parent is None else parent
    with disk.explained(parent), looking_round(parent):
        scratch = make_scratch(parent)
    try:
        yield scratch
    finally:
        scratch.remove()


@contextmanager
def scratch_folder(parent: Path | None = None) -> Iterator[Path]:
    """Like ``open_scratch``, but gives the path of the folder."""
    with open_scratch(parent) as scratch:
        yield scratch.folder


@contextmanager
def looking_round(parent: Path, settle: Callable[[Path], bool] = lambda _: True) -> Iterator[list[Path]]:
    """In this context, no other run makes a private folder in ``parent``. Gives the folders of living runs.

    Folders of dead runs are removed first, unless ``settle`` returns that a folder is still needed (False).
    """
    with _alone_in(parent):
        yield _living(parent, settle)


def make_scratch(parent: Path) -> Scratch:
    """Make a private folder, within the context of ``looking_round``. Raises OSError."""
    folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
    try:
        unlocked = folder / f"{_LOCK}.new"
        lock = os.open(unlocked, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        with suppress(OSError):  # a file system without locks: no run ever counts as dead there
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        unlocked.rename(folder / _LOCK)  # not before it is locked may another run try it
        disk.write(folder / _MARK, _mark_of(os.fstat(lock)))
    except BaseException:
        disk.remove_tree(folder)
        raise
    return Scratch(folder, lock)


def _living(parent: Path, settle: Callable[[Path], bool]) -> list[Path]:
    living, removed = [], 0
    for folder in sorted(parent.glob(f"{PREFIX}*")):
        if folder.name.startswith(_REMOVED_PREFIX) or not was_made_here(folder):
            _remove_emptied(folder)
            living += [folder] if os.path.lexists(folder) else []
            continue
        with lock_of_dead(folder) as lock:
            if lock is None or not settle(folder):
                living.append(folder)
                continue
            with suppress(OSError):
                _remove(folder)
                removed += 1
    if removed:
        from kcompact.console import note  # its library would keep Java from starting for 40 ms

        folders = "a folder" if removed == 1 else f"{removed} folders"
        note(f"{parent}: removed {folders} that runs which died had left")
    return living


def was_made_here(folder: Path) -> bool:
    """Whether a run of this user made the private folder, here or where it was moved from as a whole."""
    try:
        status, lock = folder.lstat(), (folder / _LOCK).lstat()
        is_ours = stat.S_ISDIR(status.st_mode) and stat.S_ISREG(lock.st_mode)
        return is_ours and status.st_uid == os.geteuid() and (folder / _MARK).read_bytes() == _mark_of(lock)
    except OSError:
        return False


def _mark_of(lock: os.stat_result) -> bytes:
    return f"{lock.st_ino} {lock.st_ctime_ns}".encode()


def _remove_emptied(folder: Path) -> None:
    """Remove a folder that holds no more than lock and mark, if a run died while it made or removed it."""
    with suppress(OSError):
        opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            names = os.listdir(opened)  # noqa: PTH208  pathlib could not list an opened folder
            is_ours = os.fstat(opened).st_uid == os.geteuid() and {_LOCK, _MARK}.issuperset(names)
            if not is_ours or not (_LOCK in names or folder.name.startswith(_REMOVED_PREFIX)):
                return
            for name in names:
                _unlink_unlocked(name, opened)
        finally:
            os.close(opened)
        folder.rmdir()


def _unlink_unlocked(name: str, folder: int) -> None:
    """Remove a file of an open folder, if nobody holds a lock on it."""
    file = os.open(name, os.O_RDWR | os.O_NOFOLLOW, dir_fd=folder)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.unlink(name, dir_fd=folder)
    finally:
        os.close(file)


@contextmanager
def lock_of_dead(folder: Path) -> Iterator[int | None]:
    """Hold the lock of a folder that a dead run of this user left; None if the run lives, or may live."""
    lock = None
    try:
        if was_made_here(folder):
            lock = os.open(folder / _LOCK, os.O_RDWR | os.O_NOFOLLOW)
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            is_held = os.path.samestat(os.fstat(lock), (folder / _LOCK).lstat())
        else:
            is_held = False
    except OSError:
        is_held = False
    try:
        yield lock if is_held else None
    finally:
        if lock is not None:
            os.close(lock)


@contextmanager
def _alone_in(parent: Path) -> Iterator[None]:
    """Hold the lock of the folder ``parent`` itself, if it can be had in time."""
    descriptor = os.open(parent, os.O_RDONLY)
    try:
        _lock_in_time(descriptor)
        yield
    finally:
        os.close(descriptor)


def _lock_in_time(descriptor: int) -> None:
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while time.monotonic() < deadline:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(0.02)
        except OSError:  # network file systems lock no folders
            return
        else:
            return
