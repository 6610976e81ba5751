"""Looks at paths of a disk: is a file there, or a folder?

From Python 3.14 on, ``exists``, ``is_dir`` and ``is_file`` of pathlib say no where nobody may look, or where
a name is too long. Here these raise OSError, so that they can be named.
"""

import errno
import os
import stat
from pathlib import Path
from typing import NoReturn

_NOTHING_THERE = {errno.ENOENT, errno.ENOTDIR, errno.EBADF, errno.ELOOP}


def mode_of(path: str | Path) -> int:
    """The mode of what a path leads to; 0 where nothing is there."""
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
    """As ``is_file``, of an entry of a folder, which is asked for less."""
    return is_file(entry.path) if entry.is_symlink() else entry.is_file()


def leads_back(path: str) -> bool:
    """Whether a link leads to a folder that it lies in, at whatever depth."""
    target = os.path.realpath(path)  # Path.resolve raises for a circle of links
    return Path(os.path.realpath(Path(path).parent)).is_relative_to(target)


def raise_error(error: OSError) -> NoReturn:
    """For ``os.walk``, which else passes over a folder that it may not look into."""
    raise error
