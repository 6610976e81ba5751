"""The rule that keeps dumps whole: no written path is an input of the run, holds one, or lies inside one.

Paths are compared by device and inode, up the tree, so that no link, ``..``, hard link, mount point or other
spelling hides that two of them meet. Written paths are kept apart from each other in the same way. A folder
that would be replaced may not hold the working folder either.
"""

import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from kcompact.errors import OutputError
from kcompact.storage.lookup import is_folder

_MOST_LINKS = 40  # as in Linux: a path with more links cannot be opened

Identity = tuple[int, int]
"""Device and inode."""


@dataclass(frozen=True)
class ReadPath:
    """A file or folder that is read, as the user named it, and the files found in a folder.

    ``is_compacted``: it is read to its end before anything is replaced, so that it may be replaced itself.
    """

    path: str
    files: tuple[str, ...] = ()
    is_compacted: bool = False


@dataclass(frozen=True)
class WrittenPath:
    """A file or folder that is written. ``replaces_input``: it may be the compacted input, at its path."""

    path: Path
    option: str  # by which the user chooses the path
    replaces_input: bool = False


def check_apart(sources: Iterable[ReadPath], written: Sequence[WrittenPath]) -> None:
    """Raise OutputError if a path to be written meets one that is read, or another one to be written."""
    sources = list(sources)
    inputs, of_sources = _Inputs(sources), sources
    for target in written:
        others = [source for source in sources if not _is_replaced(source, target)]
        if others != of_sources:
            inputs, of_sources = _Inputs(others), others
        inputs.check(target)
    for number, target in enumerate(written):
        for other in written[number + 1 :]:
            _check_pair(target, other)
    _check_stdout(sources)


def real_place(path: str | Path) -> str:
    """The path with links followed in all but its last part."""
    folder, name = os.path.split(str(path).rstrip("/") or "/")
    if name in {"", ".", ".."}:
        return os.path.realpath(path)
    return os.path.join(os.path.realpath(folder), name)  # noqa: PTH118  strings, as realpath gives


def same_entry(path: str | Path, other: str | Path) -> bool:
    """Whether two paths name the same entry of the same folder, and the entry is no link."""
    place = real_place(path)
    return place == real_place(other) and not Path(place).is_symlink()


def is_inside(path: Path, folder: str) -> bool:
    """Whether ``path`` is ``folder``, or is inside it at any depth."""
    place = os.path.realpath(path)
    return _is_among(folder, [place, *_parents(place)])


def _is_replaced(source: ReadPath, written: WrittenPath) -> bool:
    may_be = source.is_compacted and written.replaces_input
    return may_be and same_entry(source.path, written.path)


class _Inputs:
    """All inputs by identity: files and folders, folders that are read as a whole, and the folders above."""

    def __init__(self, sources: Sequence[ReadPath]) -> None:
        self._things: dict[Identity, str] = {}
        self._folders: dict[Identity, str] = {}
        self._above: dict[Identity, str] = {}
        self._climbed: set[str] = set()
        self._climb(str(Path.cwd()), "the working folder")
        for source in sources:
            self._add(source)

    def check(self, written: WrittenPath) -> None:
        """Raise OutputError if ``written`` meets any of them."""
        place = real_place(written.path)
        for identity in (_identity(place), _identity(place, follow=False)):
            if identity in self._things:
                raise _refused(written, f"is an input of this run, {self._things[identity]}")
            if identity in self._above:
                raise _refused(written, f"holds {self._above[identity]}")
        for folder in _parents(place):
            if (identity := _identity(folder)) in self._folders:
                raise _refused(written, f"lies inside {self._folders[identity]}, which is read")
        for inner in _identities_in(place):
            if (input_name := self._things.get(inner) or self._above.get(inner)) is not None:
                raise _refused(written, f"holds {input_name}")

    def _add(self, source: ReadPath) -> None:
        holds_files = is_folder(source.path)
        for path in (source.path, *source.files):
            _note(self._things, path, path)
            folder = os.path.dirname(path.rstrip("/"))  # noqa: PTH120  many files: strings are much faster
            if os.path.islink(path) or path == source.path:  # noqa: PTH114
                for place in _places(path):
                    self._climb(os.path.dirname(place), f"{path}, which is read")  # noqa: PTH120
            elif folder not in self._climbed:
                self._climbed.add(folder)
                _note(self._folders, folder, source.path)
                for place in _places(folder):
                    self._climb(place, f"{path}, which is read")
        if holds_files:
            _note(self._folders, source.path, source.path)

    def _climb(self, folder: str, shown: str) -> None:
        for place in (folder, *_parents(folder)):
            _note(self._above, place, shown)


def _check_pair(target: WrittenPath, other: WrittenPath) -> None:
    for outer, inner in ((target, other), (other, target)):
        upper, lower = real_place(outer.path), real_place(inner.path)
        if _is_among(upper, [lower]):
            raise _refused(inner, f"is {outer.option} too")
        if _is_among(upper, _parents(lower)):
            raise _refused(inner, f"lies inside {outer.path}, which is {outer.option}")


def _is_among(path: str, paths: Sequence[str]) -> bool:
    identity = _identity(path)
    return path in paths or (identity is not None and identity in map(_identity, paths))


def _check_stdout(sources: Sequence[ReadPath]) -> None:
    """Raise OutputError, as ``cat`` does, if standard output goes to a file that is read."""
    try:
        status = os.fstat(1)
    except OSError:
        return
    if not stat.S_ISREG(status.st_mode):
        return
    for path in (path for source in sources for path in (source.path, *source.files)):
        if _identity(path) == (status.st_dev, status.st_ino):
            raise OutputError(f"standard output goes to {path}, an input of this run")


def _refused(written: WrittenPath, why: str) -> OutputError:
    hint = f"choose another place with {written.option}"
    return OutputError(f"{written.option} {written.path} {why}", hint=hint)


def _identity(path: str, *, follow: bool = True) -> Identity | None:
    try:
        status = os.stat(path, follow_symlinks=follow)  # noqa: PTH116
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _note(names: dict[Identity, str], path: str, shown: str) -> None:
    identity = _identity(path)
    if identity is not None:
        names.setdefault(identity, shown)


def _parents(path: str) -> list[str]:
    """The folders above an absolute path, the nearest first."""
    return [str(parent) for parent in Path(path).parents]


def _places(path: str) -> list[str]:
    """The place that ``path`` leads to, and every link on the way to it, all by their real paths."""
    folder, ahead = str(Path.cwd()), path.split("/")[::-1]
    if path.startswith("/"):
        folder = "/"
    links: list[str] = []
    while ahead:
        name = ahead.pop()
        step = os.path.normpath(f"{folder}/{name}")  # the folder is real, so that ".." is its parent
        if Path(step).is_symlink() and len(links) < _MOST_LINKS:
            links.append(step)
            target = str(Path(step).readlink())
            ahead += target.split("/")[::-1]
            folder = "/" if target.startswith("/") else folder
        else:
            folder = step
    return [*links, folder]


def _identities_in(folder: str) -> Iterator[Identity]:
    """The identity of everything in a folder, at any depth; nothing if there is no such folder."""
    if Path(folder).is_symlink() or not is_folder(folder):
        return
    for inside, folders, files in os.walk(folder):
        for name in (*folders, *files):
            identity = _identity(str(Path(inside, name)), follow=False)
            if identity is not None:
                yield identity
