"""Decides whether a dump is read by loops, and loads or compiles them. numba is imported only when needed."""

import importlib
import importlib.util
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import PurePath
from types import ModuleType
from typing import TYPE_CHECKING, Any

from kcompact.dumps.loops.compiled_code import (
    compile_into,
    folder_of,
    import_with,
    is_sealed,
    kept_folder_of,
)
from kcompact.private_folders import may_keep_caches, user_cache_folder

if TYPE_CHECKING:
    # Imports pyarrow, which the command line does not need to choose loops.
    from kcompact.dumps.records.layout import DumpFile, SplitToIndex

SMALLEST_DUMP_BYTES = {"json_lines": 16 << 20, "csv_lines": 10 << 20, "avro": 10 << 20}
"""Below that, importing numba and loading compiled code (half a CPU second) costs more than loops save."""
WORTH_COMPILING_BYTES = 256 << 20  # for smaller dumps, no run waits for the compiler
_FOR_ALL = "all"
LOOPS = {
    _FOR_ALL: ("hash_loops", "log_figures_loop", "offset_map_loop", "range_loop"),
    "json_lines": ("json.json_lines_loop", "json.json_text_loop", "json.lines_of_values_loop"),
    "csv_lines": ("csv.csv_lines_loop", "csv.csv_cells"),
    "avro": ("avro.avro_loop",),
}
"""The modules with the loops of each layout, and of all layouts: each entry has a folder of compiled code."""
_SCANNERS = {"json_lines": "json.json_scanner", "csv_lines": "csv.csv_scanner", "avro": "avro.avro_scanner"}
_READ_AS = {"json_array": "json_lines", "json_objects": "json_lines"}
"""Layouts that are read by the loops of another layout."""

_SUFFIXES = {
    "json_lines": {".jsonl", ".json", ".ndjson"},
    "csv_lines": {".csv", ".tsv", ".txt", ".log"},
    "avro": {".avro"},
}


def are_loops_worth_it(file: "DumpFile") -> bool:
    """Whether the dump of this file is large enough for loops, and numba is installed."""
    return file.dump_bytes >= SMALLEST_DUMP_BYTES[_read_as(file.layout)] and is_numba_installed()


def is_numba_installed() -> bool:
    """Whether numba is installed, without importing it."""
    return importlib.util.find_spec("numba") is not None


def scanner_of(part: "SplitToIndex", extra: frozenset[str]) -> Any:
    """The scanner that reads a part of a file by loops; None where the reference has to read it.

    For a large dump, the first process compiles loops, which takes some ten seconds, and others wait for it.
    If that fails, notes count ``read_without_loops``.
    """
    file, notes = part.file, part.notes
    if not are_loops_worth_it(file):
        return None
    is_large = file.dump_bytes >= WORTH_COMPILING_BYTES
    if not load_loops(file.layout, compile_now=is_large):
        if is_large:
            notes.count("read_without_loops")
        return None
    module = importlib.import_module(f"kcompact.dumps.loops.{_SCANNERS[_read_as(file.layout)]}")
    return module.scanner_for(part, extra)


def load_loops(layout: str, *, compile_now: bool = True) -> bool:
    """Import a layout's compiled loops; False if they cannot be compiled, or ``compile_now`` forbids it."""
    return all(_load(part, compile_now=compile_now) for part in (_FOR_ALL, _read_as(layout)))


def _load(part: str, *, compile_now: bool) -> bool:
    names = [f"kcompact.dumps.loops.{module}" for module in LOOPS[part]]
    if _are_imported(names):
        return True
    try:
        folder = folder_of(part)
        if compile_now and not is_sealed(folder):
            compile_into(folder, names)
        if not _are_imported(names) and is_sealed(folder):
            import_with(folder, names)
    except (ImportError, OSError):  # numba does not fit this Python or numpy; there is no place for files
        return False
    return _are_imported(names)


def _read_as(layout: str) -> str:
    return _READ_AS.get(layout, layout)


def loaded_loop(module: str) -> ModuleType | None:
    """A module with a loop, if this process has imported it."""
    return sys.modules.get(f"kcompact.dumps.loops.{module}")


def _is_ready(layout: str) -> bool:
    try:
        return is_sealed(folder_of(_FOR_ALL)) and is_sealed(folder_of(layout))
    except (ImportError, OSError):
        return False


def _are_imported(names: list[str]) -> bool:
    return all(name in sys.modules for name in names)


def likely_layouts(paths: Iterable[str], dump_bytes: int) -> tuple[str, ...]:
    """The layouts whose loops a dump will need, as its file names suggest.

    Empty for a small dump, without numba, or where compiling helps no later run and is not worth it for this.
    """
    is_kept = user_cache_folder() is not None and may_keep_caches()
    if not is_numba_installed() or not (is_kept or dump_bytes >= WORTH_COMPILING_BYTES):
        return ()
    return _layouts_worth_it(paths, dump_bytes)


def is_numba_missed(paths: Iterable[str], dump_bytes: int) -> bool:
    """Whether a dump would be read much faster if numba were installed."""
    is_large = dump_bytes >= WORTH_COMPILING_BYTES
    return is_large and not is_numba_installed() and bool(_layouts_worth_it(paths, dump_bytes))


def _layouts_worth_it(paths: Iterable[str], dump_bytes: int) -> tuple[str, ...]:
    suffixes = {suffix for path in paths for suffix in PurePath(path).suffixes}
    return tuple(
        layout
        for layout, names in _SUFFIXES.items()
        if names & suffixes and dump_bytes >= SMALLEST_DUMP_BYTES[layout]
    )


@contextmanager
def prepared_in_background(layouts: Iterable[str], environment: Mapping[str, str]) -> Iterator[None]:
    """Compile loops that are not compiled yet in a background process with this environment.

    The process is ended with the context, or with this process, unless its work is kept for later runs.
    """
    layouts = [layout for layout in layouts if not _is_ready(layout)]
    process = None
    with suppress(ImportError, OSError):
        if layouts:
            is_kept = kept_folder_of(_FOR_ALL) is not None
            process = _compiler(layouts, environment, subprocess.DEVNULL if is_kept else subprocess.PIPE)
    try:
        yield
    finally:
        if process is not None and process.stdin is not None:
            with process:
                process.kill()


def _compiler(layouts: list[str], environment: Mapping[str, str], stdin: int) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "-m", "kcompact.dumps.loops.readiness", *layouts],
        stdin=stdin,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        cwd="/",
        env=dict(environment),
    )


def _end_with_caller() -> None:
    """End this process when its caller has ended: nobody needs loops of a run that was killed."""
    sys.stdin.read()
    os._exit(1)


if __name__ == "__main__":
    if stat.S_ISFIFO(os.fstat(0).st_mode):
        threading.Thread(target=_end_with_caller, daemon=True).start()
    for layout_name in sys.argv[1:]:
        load_loops(layout_name)
