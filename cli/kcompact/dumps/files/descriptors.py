"""Paths such as ``/dev/stdin`` or ``/proc/self/cwd/x``, which lead to other files in another process."""

import os
import re
from pathlib import Path

_FOLDER = re.compile(r"/proc/\d+(?:/task/\d+)?/fd")
_MOST_LINKS = 40  # as Linux
_OF_THIS_PROCESS = ("/proc/self/", "/proc/thread-self/")


def is_descriptor(path: str) -> bool:
    """Whether a path, or a link on its way, is a descriptor that a process has open."""
    for _ in range(_MOST_LINKS):
        folder, name = os.path.split(path)
        if name.isdecimal() and _FOLDER.fullmatch(os.path.realpath(folder)):
            return True
        if not os.path.islink(path):  # noqa: PTH114  asked for every file of ten thousand
            return False
        path = os.path.join(folder, os.readlink(path))  # noqa: PTH115, PTH118  likewise
    return False


def own_path(path: str) -> str:
    """The path under which other processes find the same file or folder; ``path`` itself if there is none."""
    if not is_descriptor(path) and not path.startswith(_OF_THIS_PROCESS):
        return path
    real = os.path.realpath(path)
    try:
        return real if Path(real).samefile(path) else path
    except OSError:  # removed while it is open
        return path
