"""Starting Spark before what needs it is imported: Java takes as long to start as Python to import."""

import glob
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from kcompact.options.run import RunOptions


def spark_starting(dumps: Iterable[str], run: RunOptions) -> AbstractContextManager[None]:
    """Start Spark for the command inside; not if a dump is missing, which that command will say at once."""
    try:
        input_bytes = sum(_bytes_of(path) for dump in dumps for path in _paths(dump))
    except OSError:
        return nullcontext()
    from kcompact.engine.session import SessionOptions, spark_started

    return spark_started(SessionOptions(run.master, run.driver_memory, run.verbose, input_bytes))


def _paths(dump: str) -> list[Path]:
    if dump == "-" or Path(dump).exists():
        return [] if dump == "-" else [Path(dump)]
    return [Path(path) for path in glob.glob(dump, recursive=True)] or [Path(dump)]  # noqa: PTH207  any path


def _bytes_of(path: Path) -> int:
    if path.is_dir():
        return sum(part.stat().st_size for part in path.rglob("*") if part.is_file())
    return path.stat().st_size
