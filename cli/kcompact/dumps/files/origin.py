"""Files that tasks bring to their own disk before they read them: objects of a store, packed files."""

import hashlib
import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from kcompact.errors import InputError
from kcompact.storage.object_reading import ObjectStamp, fetch, open_object
from kcompact.storage.object_stores import is_address

_AT_ONCE = 8  # objects fetched at the same time: a store is slow to answer, not to send


@dataclass(frozen=True)
class Origin:
    """Where a file comes from, as it was when the dump was opened. Picklable.

    ``ranges`` of its plain bytes begin and end at records. ``is_plain``: these are the file's bytes as they
    are, neither unpacked nor converted to UTF-8.
    """

    stamps: tuple[tuple[str, ObjectStamp], ...]  # by path or address
    ranges: tuple[tuple[int, int], ...]
    is_plain: bool

    def cut(self, split_bytes: int) -> list[tuple[int, int]]:
        """Ranges of about ``split_bytes``; a single one where each task would have to unpack the whole."""
        ranges: list[tuple[int, int]] = []
        for start, end in self.ranges:
            if ranges and (not self.is_plain or end - ranges[-1][0] <= split_bytes):
                ranges[-1] = ranges[-1][0], end
            else:
                ranges.append((start, end))
        return ranges

    def bring(self, spool: Path) -> None:
        """Bring the whole file into a task's folder. Raises InputError if it has changed."""
        stamps = bring([path for path, _ in self.stamps], spool)
        for path, stamp in self.stamps:
            refuse_changed(path, stamp, stamps[path])

    def opened(self) -> BinaryIO:
        """A plain object, open for reading. Raises InputError if it has changed."""
        ((path, stamp),) = self.stamps
        source = open_object(path)
        try:
            refuse_changed(path, stamp, source.stamp)
        except InputError:
            source.close()
            raise
        return cast(BinaryIO, source)

    def bring_range(self, spool: Path, start: int, end: int) -> str:
        """Bring a range of a plain object into a file, at the same position; return the path of the file."""
        ((path, stamp),) = self.stamps
        target = place_in(spool, path)
        refuse_changed(path, stamp, fetch(path, target, start, end))
        return str(target)


def refuse_changed(path: str, before: object, now: object) -> None:
    """Raise InputError where a file has changed since the dump was opened."""
    if before != now:
        raise InputError(
            f"{path} changed while it was read", hint="wait until the export has finished, and run again"
        )


def bring(paths: Iterable[str], spool: Path) -> dict[str, ObjectStamp]:
    """Bring objects into a folder (``place_in``), several at a time; files of a disk stay where they are."""
    paths = list(paths)
    with ThreadPoolExecutor(min(_AT_ONCE, len(paths))) as threads:
        return dict(zip(paths, threads.map(lambda path: _brought(path, spool), paths), strict=True))


def _brought(path: str, spool: Path) -> ObjectStamp:
    if is_address(path):
        return fetch(path, place_in(spool, path))
    status = os.stat(path)  # noqa: PTH116  follows links, as reading does
    return ObjectStamp(status.st_size, f"{status.st_mtime_ns} {status.st_ctime_ns}")


def place_in(spool: Path, address: str) -> Path:
    """Where ``bring`` leaves an object."""
    return spool / hashlib.sha256(address.encode()).hexdigest()[:32]
