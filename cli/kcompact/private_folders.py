"""Folders for code that is kept from run to run: only if they are ours, and nobody else can write them."""

import os
import stat
import sys
from pathlib import Path
from typing import BinaryIO


def user_cache_folder() -> Path | None:
    """``kcompact`` in the user's cache folder, which need not exist yet; None: it is not ours alone."""
    home = os.environ.get("HOME")
    cache_home = os.environ.get("XDG_CACHE_HOME")
    if not home or not (cache_home or Path(home).is_dir()):
        return None
    usual = Path(home, "Library/Caches") if sys.platform == "darwin" else Path(home, ".cache")
    folder = Path(cache_home or usual) / "kcompact"
    try:
        parent = nearest_existing(folder)
        private = is_private(folder) if folder.exists() else parent.stat().st_uid == os.geteuid()
    except OSError:
        return None
    return folder if folder.is_absolute() and private else None


def nearest_existing(path: Path) -> Path:
    """The nearest folder above a path that exists."""
    return next(parent for parent in path.parents if parent.exists())


def is_private(path: Path) -> bool:
    """Whether only we can write it, and it is no link to elsewhere."""
    return _is_ours_alone(path.lstat()) and not path.is_symlink()


def _is_ours_alone(status: os.stat_result) -> bool:
    return status.st_uid == os.geteuid() and not status.st_mode & 0o022


def opened_private(path: Path) -> BinaryIO:
    """Open a regular file that only we can write, without following a link or waiting at a pipe.

    Raises OSError.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode) or not _is_ours_alone(status):
        os.close(descriptor)
        raise PermissionError(path)
    return os.fdopen(descriptor, "rb")


def make_private(folder: Path) -> None:
    """Make the folder, and those above it, for us alone."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)


def may_keep_caches() -> bool:
    """Whether caches are worth making: not on a build machine, which throws them away after each job."""
    return os.environ.get("CI", "").lower() in ("", "0", "false")
