"""Starting Spark before what needs it is imported: Java takes as long to start as Python to import."""

from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from kcompact.dumps.sources import STDIN, find_files
from kcompact.errors import InputError
from kcompact.options.run import RunOptions


def spark_starting(
    dumps: Iterable[str], run: RunOptions, *, light: bool = False
) -> AbstractContextManager[None]:
    """Start Spark for the command inside; not if a dump is missing, which that command will say at once.

    ``light``: as far as the options tell, Java will have little to do.
    """
    try:
        files = find_files(list(dumps))
        input_bytes = sum(Path(path).stat().st_size for path in files if path != STDIN)
    except (InputError, OSError):
        return nullcontext()
    from kcompact.engine.session import SessionOptions, spark_started

    return spark_started(SessionOptions(run.master, run.driver_memory, run.verbose, input_bytes, light))
