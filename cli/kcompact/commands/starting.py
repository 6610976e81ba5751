"""Starting Spark in the background while the modules that need it are imported, which takes as long."""

import os
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext

from kcompact.dumps.files.sources import STDIN, find_files, listings_kept
from kcompact.dumps.files.stored import stored_bytes
from kcompact.dumps.loops.readiness import is_numba_missed, likely_layouts
from kcompact.errors import InputError
from kcompact.options.run_options import RunOptions
from kcompact.storage.object_stores import is_address

NUMBA_MISSED = (
    "numba is not installed for this Python: large dumps are read several times slower (pip install numba)"
)
_NAMES_LOOKED_AT = 100  # of files: as a rule the first ones show which loops all will need


@contextmanager
def spark_starting(dumps: Iterable[str], run: RunOptions, worker_module: str) -> Iterator[None]:
    """Start Spark for the command that runs within, quietly if asked. Raises InputError for a missing dump.

    ``worker_module``: the module that the command's tasks need; workers import it while Java starts.
    """
    dumps = list(dumps)
    with ExitStack() as stack:
        stack.enter_context(listings_kept())
        input_bytes = _input_bytes(dumps)
        files = [] if input_bytes is None else find_files(dumps)[:_NAMES_LOOKED_AT]
        if run.quiet:  # first, so that notes made while Java is started are not shown either
            from kcompact.console import quietly  # if not quiet, later: its library would delay Java by 40 ms

            stack.enter_context(quietly(True))
        if input_bytes is not None:
            stack.enter_context(_java_starting(files, input_bytes, run, worker_module))
        from kcompact.console import note
        from kcompact.engine.progress import progress_shown

        if is_numba_missed(files, input_bytes or 0):
            note(NUMBA_MISSED)
        stack.enter_context(nullcontext() if run.quiet else progress_shown(input_bytes or 0))
        find_files(dumps)  # a missing file is reported before Spark is imported
        yield


def _bytes_of(path: str) -> int:
    return stored_bytes(path) if is_address(path) else os.stat(path).st_size  # noqa: PTH116  for every file of a dump


def _input_bytes(dumps: list[str]) -> int | None:
    """The size of all dumps but standard input; None: one is missing, which the command will report."""
    try:
        return sum(_bytes_of(path) for path in find_files(dumps) if path != STDIN)
    except (InputError, OSError):
        return None


def _java_starting(
    files: list[str], input_bytes: int, run: RunOptions, worker_module: str
) -> AbstractContextManager[None]:
    from kcompact.engine.session import spark_started

    layouts = likely_layouts(files, input_bytes)
    return spark_started(run.session_options(input_bytes, layouts=layouts, worker_modules=(worker_module,)))
