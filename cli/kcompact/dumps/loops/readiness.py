"""Whether a dump is read by loops, and their compiled code: made once per user and version, then loaded.

Compiled code is kept as the ahead-of-time cache of Java is: in a folder of ours that nobody else can write,
written aside and renamed, with a checksum. One process compiles, under a lock; several that compile and cache
the same function at once can crash numba (its issue 4807). Nothing here imports numba before it is needed.
"""

import fcntl
import gc
import hashlib
import importlib
import importlib.util
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from kcompact.private_folders import (
    is_private,
    make_private,
    may_keep_caches,
    opened_private,
    user_cache_folder,
)

if TYPE_CHECKING:
    # Imports pyarrow, which a process that forks must not.
    from kcompact.dumps.records.layout import DumpFile, SplitToIndex

SMALLEST_DUMP_BYTES = {"json_lines": 16 << 20, "csv_lines": 10 << 20, "avro": 10 << 20}
"""Below, importing numba and loading compiled code (half a CPU second) cost more than they save."""
WORTH_COMPILING_BYTES = 256 << 20  # for smaller dumps no run waits until loops are compiled
RUN_FOLDER = "KCOMPACT_RUN_FOLDER"  # the variable that names the run's own folder to workers
LOOPS = {
    "json_lines": ("json.json_lines_loop", "json.json_text_loop"),
    "csv_lines": ("csv.csv_lines_loop", "csv.csv_cells"),
    "avro": ("avro.avro_loop",),
}
"""The modules with the loops of each layout."""
_SCANNERS = {"json_lines": "json.json_scanner", "csv_lines": "csv.csv_scanner", "avro": "avro.avro_scanner"}

_SUFFIXES = {
    "json_lines": {".jsonl", ".json", ".ndjson"},
    "csv_lines": {".csv", ".tsv", ".txt"},
    "avro": {".avro"},
}
_SEAL = "seal.json"
_LONGEST_SEAL = 1 << 16
_WAIT_SECONDS = 120  # for another process that compiles
_UNUSED_SECONDS = 30 * 24 * 3600
_FAMILIES = "/proc/cpuinfo"  # numba compiles for one model of processor


def are_loops_worth_it(file: "DumpFile") -> bool:
    """Whether a file of this dump is to be read by loops."""
    return file.dump_bytes >= SMALLEST_DUMP_BYTES[file.layout] and is_numba_there()


def is_numba_there() -> bool:
    """Whether numba is installed; nothing is imported."""
    return importlib.util.find_spec("numba") is not None


def scanner_of(part: "SplitToIndex", extra: frozenset[str]) -> Any:
    """The scanner that reads a part of a file by loops; None where the reference reads it.

    For a large dump the first process compiles, which takes some ten seconds; others wait for it. It is noted
    where that fails.
    """
    file, _, notes = part
    if not are_loops_worth_it(file):
        return None
    is_large = file.dump_bytes >= WORTH_COMPILING_BYTES
    if not load_loops(file.layout, compile_now=is_large):
        if is_large:
            notes.count("read_without_loops")
        return None
    module = importlib.import_module(f"kcompact.dumps.loops.{_SCANNERS[file.layout]}")
    return module.scanner_for(file, extra)


def load_loops(layout: str, *, compile_now: bool = True) -> bool:
    """Import a layout's loops, compiled; False where that cannot be had, or not without compiling."""
    names = [f"kcompact.dumps.loops.{module}" for module in LOOPS[layout]]
    if _are_imported(names):
        return True
    try:
        folder = _folder_of(layout)
        if compile_now and not _is_sealed(folder):
            _compile(folder, names)
        if not _are_imported(names) and _is_sealed(folder):
            _import_with(folder, names)
    except (ImportError, OSError):  # numba does not fit this Python or numpy; there is no place for files
        return False
    return _are_imported(names)


def _is_ready(layout: str) -> bool:
    try:
        return _is_sealed(_folder_of(layout))
    except (ImportError, OSError):
        return False


def _are_imported(names: list[str]) -> bool:
    return all(name in sys.modules for name in names)


def likely_layouts(paths: Iterable[str], dump_bytes: int) -> tuple[str, ...]:
    """Whose loops a dump will need, as far as names tell; none for a small one, or without numba."""
    is_kept = user_cache_folder() is not None and may_keep_caches()
    if not is_numba_there() or not (is_kept or dump_bytes >= WORTH_COMPILING_BYTES):
        return ()
    return _layouts_worth_it(paths, dump_bytes)


def is_numba_missed(paths: Iterable[str], dump_bytes: int) -> bool:
    """Whether a dump would be read much faster if numba were installed."""
    is_large = dump_bytes >= WORTH_COMPILING_BYTES
    return is_large and not is_numba_there() and bool(_layouts_worth_it(paths, dump_bytes))


def _layouts_worth_it(paths: Iterable[str], dump_bytes: int) -> tuple[str, ...]:
    suffixes = {suffix for path in paths for suffix in PurePath(path).suffixes}
    return tuple(
        layout
        for layout, names in _SUFFIXES.items()
        if names & suffixes and dump_bytes >= SMALLEST_DUMP_BYTES[layout]
    )


def prepare_in_background(layouts: Iterable[str], environment: Mapping[str, str]) -> None:
    """Have a process of its own, in this environment, compile what is not compiled yet."""
    layouts = [layout for layout in layouts if not _is_ready(layout)]
    if not layouts:
        return
    with suppress(OSError):
        subprocess.Popen(
            [sys.executable, "-m", "kcompact.dumps.loops.readiness", *layouts],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            cwd="/",
            env=dict(environment),
        )


def _compile(folder: Path, names: list[str]) -> None:
    """Compile in this process, unless another one does: then wait for it."""
    make_private(folder.parent)
    if not is_private(folder.parent):
        raise PermissionError(folder.parent)
    with _locked(folder.with_name(f"{folder.name}.lock")) as is_locked:
        if not is_locked or _is_sealed(folder):
            return
        shutil.rmtree(folder, ignore_errors=True)
        unfinished = Path(tempfile.mkdtemp(prefix=f"{folder.name}.", suffix=".tmp", dir=folder.parent))
        try:
            _import_with(unfinished, names)
            _seal(unfinished)
            unfinished.rename(folder)
            _remove_unused(folder.parent)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)


@contextmanager
def _locked(path: Path) -> Iterator[bool]:
    """Inside, we alone have the lock; False where another process has kept it too long."""
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


def _import_with(folder: Path, names: list[str]) -> None:
    """Import modules whose loops numba keeps in ``folder``. Raises ImportError."""
    try:
        with _kept_in(importlib.import_module("numba").config, folder):
            for name in names:
                importlib.import_module(name)
        gc.freeze()  # PySpark collects garbage after each task: it need not walk through all of numba
    except ImportError:
        raise
    except Exception as error:  # whatever numba raises: a version that we do not know
        raise ImportError(str(names)) from error


@contextmanager
def _kept_in(config: Any, folder: Path) -> Iterator[None]:
    """Inside, numba keeps compiled code there."""
    kept = config.CACHE_DIR
    config.CACHE_DIR = str(folder)
    try:
        yield
    finally:
        config.CACHE_DIR = kept


def _folder_of(layout: str) -> Path:
    return _root() / f"{layout}-{_digest()}"


@cache
def _digest() -> str:
    """Of all that compiled code depends on."""
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
    """The model and abilities of the processor, as far as the system tells."""
    told = [platform.machine(), platform.processor()]
    with suppress(OSError):
        lines = Path(_FAMILIES).read_text().splitlines()
        told += sorted({line for line in lines if line.startswith(("model name", "flags", "Features"))})
    return told


def _root() -> Path:
    """The user's cache; on a build machine, or without a home, the run's folder or one of the machine's."""
    user = user_cache_folder()
    if user is not None and may_keep_caches():
        return user / "loops"
    run = os.environ.get(RUN_FOLDER)
    return Path(run, "loops") if run else Path(tempfile.gettempdir(), f"kcompact-loops-{os.geteuid()}")


def _seal(folder: Path) -> None:
    (folder / _SEAL).write_text(json.dumps(_checksums(folder)))


def _is_sealed(folder: Path) -> bool:
    """Whether the compiled code is there, ours, and byte for byte what was written."""
    try:
        seal = folder / _SEAL
        if not (is_private(folder.parent) and is_private(folder)):
            return False
        with opened_private(seal) as file:
            sealed: bool = json.loads(file.read(_LONGEST_SEAL)) == _checksums(folder)
        if sealed:
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
    """Remove what no run has used for a month."""
    for seal in root.glob(f"*/{_SEAL}"):
        with suppress(OSError):
            if time.time() - seal.stat().st_mtime > _UNUSED_SECONDS:
                shutil.rmtree(seal.parent)


if __name__ == "__main__":
    for asked in sys.argv[1:]:
        load_loops(asked)
