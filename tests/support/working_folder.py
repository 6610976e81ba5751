"""A folder as a user may download it: a dump, and traps for programs that look for code or settings there."""

import ctypes
import os
import struct
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import packages_distributions
from pathlib import Path

_SETTINGS = (
    "spark-defaults.conf",
    "spark-env.sh",
    "log4j2.properties",
    "log4j2.xml",
    "metrics.properties",
    "fairscheduler.xml",
    "core-site.xml",
    "hive-site.xml",
    "hadoop-metrics2.properties",
    "java-opts",
    ".hotspotrc",
    ".hotspot_compiler",
    ".env",
    "pyvenv.cfg",
    "python311._pth",
    "trap.pth",
    "setup.cfg",
    "pyproject.toml",
    "fastavro.json",
)
_PROGRAMS = ("bash", "sh", "setsid", "id", "whoami", "uname", "java", "python3", "getconf", "ps", "stty")
# Python itself imports these before any code of ours, if PYTHONPATH names the folder.
OF_PYTHONS_START = {"sitecustomize", "usercustomize", "kcompact"}
_IN_OPEN = 0x20
_NON_BLOCKING = os.O_NONBLOCK


def module_names() -> set[str]:
    """The names of all modules that could be imported: Python's own, those installed, and kcompact's."""
    installed = {name for name in packages_distributions() if name.isidentifier()}
    return sys.stdlib_module_names | installed | OF_PYTHONS_START | {"numpy", "orjson", "pandas", "pyspark"}


def plant(folder: Path, sprung: Path, *, without: set[str] = frozenset()) -> None:
    """Fill ``folder``; a trap that is executed leaves a file of its name in ``sprung``."""
    sprung.mkdir()
    for name in sorted(module_names() - without):
        code = f"open({str(sprung / name)!r}, 'w').close()\n"
        (folder / f"{name}.py").write_text(code)
        (folder / name).mkdir()  # a package comes before a module of the same name
        (folder / name / "__init__.py").write_text(code)
        (folder / name / "__main__.py").write_text(code)
    for place in (folder, folder / "conf"):
        place.mkdir(exist_ok=True)
        for name in _SETTINGS:
            (place / name).write_text("spark.driver.extraClassPath=/nowhere\n")
    (folder / "metastore_db").mkdir()
    for name in _PROGRAMS:
        (folder / name).write_text(f"#!/bin/sh\n: > {sprung}/{name}\nexit 1\n")
        (folder / name).chmod(0o755)


@contextmanager
def opened_files(folder: Path) -> Iterator[set[str]]:
    """The names directly in ``folder`` that any process opened within the context, filled in at its end.

    Linux only (inotify); empty on other systems.
    """
    opened: set[str] = set()
    if sys.platform != "linux":
        yield opened
        return
    libc = ctypes.CDLL(None, use_errno=True)
    watch = libc.inotify_init1(_NON_BLOCKING)
    try:
        for place in (folder, folder / "conf"):
            assert libc.inotify_add_watch(watch, os.fsencode(place), _IN_OPEN) > 0
        yield opened
        with os.fdopen(watch, "rb", closefd=False) as events:
            opened |= set(_names(events.read() or b""))
    finally:
        os.close(watch)


def _names(events: bytes) -> Iterator[str]:
    while events:
        length = struct.unpack_from("iIII", events)[3]
        name = os.fsdecode(events[16 : 16 + length].rstrip(b"\0"))
        if name:  # without a name: the folder itself was listed
            yield name
        events = events[16 + length :]
