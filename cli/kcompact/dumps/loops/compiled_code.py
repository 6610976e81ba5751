"""Compiled code, made once per user and version and then loaded.

It is kept like Java's ahead-of-time cache: in a folder that no other user can write, with checksums, and
written under another name before it is renamed. One process compiles, under a lock: numba can crash where
several compile and cache the same function at once (its issue 4807).
"""

import fcntl
import gc
import hashlib
import importlib
import json
import os
import platform
import shutil
import sys
import tempfile
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from kcompact.private_folders import (
    is_private,
    make_private,
    may_keep_caches,
    opened_private,
    user_cache_folder,
)

RUN_FOLDER = "KCOMPACT_RUN_FOLDER"  # the variable that names the run's own folder to workers
_SEAL = "seal.json"
_LONGEST_SEAL = 1 << 16
_WAIT_SECONDS = 120  # for another process that compiles
_UNUSED_SECONDS = 30 * 24 * 3600
_FAMILIES = "/proc/cpuinfo"  # numba compiles for one model of processor


def compile_into(folder: Path, names: list[str]) -> None:
    """Compile the loops of modules into a folder, or wait while another process does so.

    Raises PermissionError if another user can write the folder around it.
    """
    make_private(folder.parent)
    if not is_private(folder.parent):
        raise PermissionError(folder.parent)
    with _locked(folder.with_name(f"{folder.name}.lock")) as is_locked:
        if not is_locked or is_sealed(folder):
            return
        shutil.rmtree(folder, ignore_errors=True)
        unfinished = Path(tempfile.mkdtemp(prefix=f"{folder.name}.", suffix=".tmp", dir=folder.parent))
        try:
            import_with(unfinished, names)
            (unfinished / _SEAL).write_text(json.dumps(_checksums(unfinished)))
            unfinished.rename(folder)
            _remove_unused(folder.parent)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)


@contextmanager
def _locked(path: Path) -> Iterator[bool]:
    """Hold the lock within the context; yields False where another process has kept it for too long."""
    with path.open("w") as lock:
        deadline = time.monotonic() + _WAIT_SECONDS
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > deadline:
                    yield False
                    return
                time.sleep(0.05)
            else:
                yield True
                return


def import_with(folder: Path, names: list[str]) -> None:
    """Import modules; numba loads their loops from ``folder``, or keeps them there. Raises ImportError."""
    try:
        with _kept_in(importlib.import_module("numba").config, folder):
            for name in names:
                importlib.import_module(name)
        gc.freeze()  # PySpark collects garbage after each task: it need not walk through all of numba
    except ImportError:
        raise
    except Exception as error:  # numba may raise anything in a version that we do not know
        raise ImportError(str(names)) from error


@contextmanager
def _kept_in(config: Any, folder: Path) -> Iterator[None]:
    """Within the context, numba keeps compiled code in ``folder``."""
    cache_folder = config.CACHE_DIR
    config.CACHE_DIR = str(folder)
    try:
        yield
    finally:
        config.CACHE_DIR = cache_folder


def folder_of(layout: str) -> Path:
    """The folder of a layout's compiled code: in the user's cache, the run's folder, or a temporary one."""
    kept = kept_folder_of(layout)
    if kept is not None:
        return kept
    run = os.environ.get(RUN_FOLDER)
    root = Path(run, "loops") if run else Path(tempfile.gettempdir(), f"kcompact-loops-{os.geteuid()}")
    return root / f"{layout}-{_digest()}"


def kept_folder_of(layout: str) -> Path | None:
    """The folder of a layout's compiled code in the user's cache, for later runs.

    None on a build machine, without a home folder, or where the cache cannot be written.
    """
    user = user_cache_folder()
    if user is None or not may_keep_caches():
        return None
    folder = user / "loops" / f"{layout}-{_digest()}"
    return folder if (folder / _SEAL).exists() or _can_be_written(folder.parent) else None


def _can_be_written(folder: Path) -> bool:
    """Whether the folder can be written, or made: not in an image that is mounted read-only."""
    try:
        make_private(folder)
    except OSError:
        return False
    return os.access(folder, os.W_OK)


@cache
def _digest() -> str:
    """A digest of all that compiled code depends on: sources, settings, versions and the processor."""
    sources = sorted(Path(__file__).parent.rglob("*.py"))
    stamps = [(source.name, source.stat().st_mtime_ns, source.read_text()) for source in sources]
    settings = sorted((name, value) for name, value in os.environ.items() if name.startswith("NUMBA_"))
    parts = [
        stamps,
        str(Path(__file__)),
        settings,
        version("numba"),
        version("numpy"),
        sys.version,
        _processor(),
    ]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def _processor() -> list[str]:
    """The model and abilities of the processor, as far as the system names them."""
    facts = [platform.machine(), platform.processor()]
    with suppress(OSError):
        lines = Path(_FAMILIES).read_text().splitlines()
        facts += sorted({line for line in lines if line.startswith(("model name", "flags", "Features"))})
    return facts


def is_sealed(folder: Path) -> bool:
    """Whether the folder has compiled code that is private to this user and matches its checksums."""
    try:
        seal = folder / _SEAL
        if not (is_private(folder.parent) and is_private(folder)):
            return False
        with opened_private(seal) as file:
            sealed: bool = json.loads(file.read(_LONGEST_SEAL)) == _checksums(folder)
        if sealed:
            with suppress(OSError):  # a read-only cache
                os.utime(seal)  # when it was last used
    except (OSError, ValueError, RecursionError):
        return False
    return sealed


def _checksums(folder: Path) -> dict[str, int]:
    files = (path for path in sorted(folder.rglob("*")) if path.suffix in {".nbi", ".nbc"})
    return {str(path.relative_to(folder)): _checksum(path) for path in files}


def _checksum(path: Path) -> int:
    with opened_private(path) as file:
        return zlib.crc32(file.read())


def _remove_unused(root: Path) -> None:
    """Remove compiled code that no run has used for a month."""
    for seal in root.glob(f"*/{_SEAL}"):
        with suppress(OSError):
            if time.time() - seal.stat().st_mtime > _UNUSED_SECONDS:
                shutil.rmtree(seal.parent)
