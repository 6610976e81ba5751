"""Starting Spark before what needs it is imported: Java takes as long to start as Python to import."""

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

from kcompact.dumps.sources import STDIN, find_files
from kcompact.errors import InputError
from kcompact.options.run import RunOptions


@contextmanager
def spark_starting(dumps: Iterable[str], run: RunOptions, *, light: bool = False) -> Iterator[None]:
    """Start Spark for the command inside, which is quiet if asked to be.

    ``light``: as far as the options tell, Java will have little to do.
    """
    with _java_starting(dumps, run, light):
        from kcompact.console import quietly

        with quietly(run.quiet):
            yield


def _java_starting(dumps: Iterable[str], run: RunOptions, light: bool) -> AbstractContextManager[None]:
    """Not if a dump is missing, which the command will say at once."""
    try:
        files = find_files(list(dumps))
        input_bytes = sum(Path(path).stat().st_size for path in files if path != STDIN)
    except (InputError, OSError):
        return nullcontext()
    from kcompact.engine.session import SessionOptions, spark_started

    return spark_started(SessionOptions(run.master, run.driver_memory, run.verbose, input_bytes, light))
