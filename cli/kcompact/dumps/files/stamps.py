"""Checks that the files of a dump have not changed since they were opened."""

import os
import stat
from dataclasses import dataclass

from kcompact.errors import InputError


@dataclass(frozen=True)
class Stamp:
    """Facts that differ if a file has changed or was replaced, even if its modification time was set back."""

    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int
    device: int


def check_stamps(stamps: dict[str, Stamp | None]) -> None:
    """Raise InputError for a file that has changed since its stamp was taken."""
    for path, stamp in stamps.items():
        if stamp_of(path) != stamp:
            raise InputError(
                f"{path} changed while it was read",
                hint="wait until the export has finished, or copy the file, and run again",
            )


def stamp_of(path: str) -> Stamp | None:
    """The stamp of a file; None for a path that is no regular file, or not there."""
    try:
        status = os.stat(path)  # noqa: PTH116  inode and nanoseconds in one call
        if not stat.S_ISREG(status.st_mode):  # a pipe: spooled, so that nothing can change any more
            return None
    except OSError:
        return None
    return Stamp(status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_dev)
