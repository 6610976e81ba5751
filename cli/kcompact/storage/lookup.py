"""Whether a file or a folder is at a path of a disk.

From Python 3.14 on, ``exists``, ``is_dir`` and ``is_file`` of pathlib return False if access is denied, or a
name is too long. The functions here raise OSError, so that such paths can be reported.
"""

import errno
import os
import stat
from pathlib import Path
from typing import NoReturn

_NOTHING_THERE = {errno.ENOENT, errno.ENOTDIR, errno.EBADF, errno.ELOOP}


def mode_of(path: str | Path) -> int:
    """The mode of the file or folder that a path leads to, 0 if nothing is there."""
    try:
        return Path(path).stat().st_mode
    except ValueError:  # a byte of zero, which no name has
        return 0
    except OSError as error:
        if error.errno in _NOTHING_THERE:
            return 0
        raise


def is_there(path: str | Path) -> bool:
    """Whether anything is there."""
    return mode_of(path) != 0


def is_folder(path: str | Path) -> bool:
    """Whether a folder is there."""
    return stat.S_ISDIR(mode_of(path))


def is_file(path: str | Path) -> bool:
    """Whether a regular file is there."""
    return stat.S_ISREG(mode_of(path))


def is_file_entry(entry: os.DirEntry[str]) -> bool:
    """The same as ``is_file`` for an entry of a folder, with fewer calls of the system."""
    return is_file(entry.path) if entry.is_symlink() else entry.is_file()


def leads_back(path: str) -> bool:
    """Whether a link leads to a folder in which it lies, at any depth."""
    target = os.path.realpath(path)  # Path.resolve raises for a circle of links
    return Path(os.path.realpath(Path(path).parent)).is_relative_to(target)


def raise_error(error: OSError) -> NoReturn:
    """For ``os.walk``, which would otherwise skip a folder that it may not read."""
    raise error
