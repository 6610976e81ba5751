"""A state folder: the three texts of a state as files, published together with the dump."""

import fcntl
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from kcompact.broker.state.cleaner_state import STATE_NAMES, CleanerState, state_of, texts_of
from kcompact.broker.text_lines import read_text
from kcompact.errors import InputError, OutputError
from kcompact.storage import disk
from kcompact.storage.publication import Publication, settle

LOCK_NAME = "lock"


class StateFolder:
    """A state on a disk, read when the run began.

    ``place`` is as the user names it, ``files`` are those that a publication replaces. ``states`` is the
    content: one state, or, on a store, none, or two: the later one of a run that died while it published its
    dump. The dump decides which of them counts (``state_of_dump.py``).
    """

    def __init__(self, path: Path) -> None:
        settle(path)
        self.place = str(path)
        self.files: Sequence[Path] = [path / name for name in STATE_NAMES]
        try:
            names = os.listdir(path)  # noqa: PTH208  an error of the folder's own, unlike that of exists()
        except OSError as error:
            raise InputError(f"{path}: cannot be used as a state folder: {error.strerror}") from error
        texts = {file.name: read_text(str(file)) for file in self.files if file.name in names}
        self.states: tuple[CleanerState, ...] = (state_of(texts, self.place),)

    def prepare(self, before: CleanerState, after: CleanerState, publication: Publication) -> None:
        """Right before the dump is published: write what counts from then on, to be published with the dump.

        Raises OutputError. ``before`` counts until then.
        """
        del before
        texts = texts_of(after)
        for path in self.files:
            with disk.explained(path):
                disk.write(publication.prepare(path), texts[path.name].encode())

    def finish(self) -> None:
        """Right after the dump is published: nothing is left to do."""


@contextmanager
def open_state_folder(path: Path) -> Iterator[StateFolder]:
    """The folder, made if need be, locked for this run. Raises InputError, OutputError.

    A folder that the run made for nothing is gone afterwards.
    """
    existed = path.exists()
    try:
        path.mkdir(parents=True, exist_ok=True)
        lock = _open_lock(path)
    except OSError as error:
        raise OutputError(f"{path}: cannot be used as a state folder: {error.strerror}") from error
    try:
        yield StateFolder(path)
    finally:
        with suppress(OSError):
            (path / LOCK_NAME).unlink()  # while it is held: see _open_lock
        os.close(lock)
        if not existed:
            with suppress(OSError):
                path.rmdir()


def _open_lock(path: Path) -> int:
    """The folder's lock, held. Runs remove theirs when they end: one that is gone does not count."""
    while True:
        lock = os.open(path / LOCK_NAME, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
        try:
            _lock_or_explain(path, lock)
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(lock), (path / LOCK_NAME).lstat()):
                    return lock
        except BaseException:
            os.close(lock)
            raise
        os.close(lock)


def _lock_or_explain(path: Path, lock: int) -> None:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        holder = os.pread(lock, 32, 0).decode("ascii", "replace").strip()
        raise InputError(
            f"{path}: in use by another run" + (f" (process {holder})" if holder else ""),
            hint="wait until it has ended; the lock goes with the process, never remove it by hand",
        ) from error
    os.ftruncate(lock, 0)
    os.pwrite(lock, f"{os.getpid()}\n".encode("ascii"), 0)
