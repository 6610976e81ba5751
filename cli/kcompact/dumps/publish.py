"""Publishing: all is prepared beside its target and flushed, then renamed into place, or not at all."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from kcompact.errors import OutputError

_FLUSHED_AT_ONCE = 8


@contextmanager
def work_folder(beside: Path | None) -> Iterator[Path]:
    """A private folder for a run's parts, on the disk of the output, gone afterwards."""
    parent = beside.absolute().parent if beside is not None else None
    try:
        if parent is not None:
            parent.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=".kcompact-", dir=parent))
    except OSError as error:
        raise OutputError(
            f"cannot write in {parent}: {error.strerror}", hint="write elsewhere with -o"
        ) from error
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class Publication:
    """Prepared files and folders, in the order in which they are renamed into place.

    A context: until ``commit`` nothing that the user can see has changed, and what was not committed is
    removed at the end. What stood at a target before is kept beside it until all renames are done.
    """

    def __init__(self) -> None:
        self._steps: list[tuple[Path, Path]] = []  # prepared, target
        self._replaced: list[tuple[Path, Path]] = []  # old, target

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for hidden, _target in [*self._steps, *self._replaced]:
            if hidden.is_dir():
                shutil.rmtree(hidden, ignore_errors=True)
            else:
                hidden.unlink(missing_ok=True)

    def prepare(self, target: Path) -> Path:
        """Where to write what will be ``target`` (a file, or a folder to be made by the caller)."""
        prepared = self._hidden(target, "new")
        prepared.parent.mkdir(parents=True, exist_ok=True)
        self._steps.append((prepared, target))
        return prepared

    def commit(self) -> None:
        """Flush everything to the disk, then rename, in the order of ``prepare``."""
        for prepared, _ in self._steps:
            flush_tree(prepared)
        target = None
        try:
            for prepared, target in self._steps:
                self._set_aside(target)
                prepared.replace(target)
        except OSError as error:
            self._put_back()
            raise OutputError(f"cannot publish {target}: {error.strerror}") from error
        for _, target in self._steps:
            _flush(target.absolute().parent)

    def _set_aside(self, target: Path) -> None:
        if not os.path.lexists(target):
            return
        old = self._hidden(target, "old")
        if target.is_dir() and not target.is_symlink():
            target.rename(old)
        else:
            old.hardlink_to(target)  # the target stays readable until the very rename
        self._replaced.append((old, target))

    def _put_back(self) -> None:
        published = [target for prepared, target in self._steps if not os.path.lexists(prepared)]
        for target in published:
            if target.is_dir():
                shutil.rmtree(target, ignore_errors=True)
            else:
                target.unlink(missing_ok=True)
        for old, target in self._replaced:
            old.replace(target)

    @staticmethod
    def _hidden(target: Path, kind: str) -> Path:
        return target.absolute().with_name(f".{target.name}.kcompact-{os.getpid()}.{kind}")


def flush_tree(path: Path) -> None:
    """Flush a file, or a folder with all that it holds.

    Of many files several at a time: the file system then writes them down together, ten times as fast.
    """
    with ThreadPoolExecutor(_FLUSHED_AT_ONCE) as threads:
        # Waits for all, and raises what any of them met.
        list(threads.map(_flush, [path, *path.rglob("*")] if path.is_dir() else [path]))


def _flush(path: Path) -> None:
    """Flush a file, or a folder's list of names."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
