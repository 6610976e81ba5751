"""Opening a dump where the work is done: here, or by the workers of a cluster, which see other disks."""

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from kcompact.dumps.dump import Dump, open_dump
from kcompact.dumps.files.sources import STDIN, find_files
from kcompact.dumps.files.stamps import stamp_of
from kcompact.dumps.options import NOTHING_LEFT_OUT, LeftOut, ReadOptions
from kcompact.dumps.paired.side_files import ROLES, grouped
from kcompact.engine.progress import job_known
from kcompact.engine.session import SessionOptions, open_session, works_elsewhere
from kcompact.engine.tasks import run_tasks
from kcompact.engine.worker_check import check_workers
from kcompact.errors import InputError
from kcompact.storage.object_stores import is_address

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Result = TypeVar("Result")

MANY_FILES = 4_000  # recognising fewer takes no longer than Java, which starts meanwhile


class Workplaces:
    """Where dumps are opened and read. On a cluster, Spark is started first, since workers open the files."""

    def __init__(self, stack: ExitStack, options: SessionOptions) -> None:
        self._stack = stack
        self._options = options
        self._spark: SparkSession | None = None
        self.shares_folder = True  # whether tasks see the folder that they would write into

    @property
    def is_here(self) -> bool:
        """Whether all work is done on this machine."""
        return not works_elsewhere(self._options)

    def open(self, paths: list[str], options: ReadOptions, folder: Path | None = None) -> Dump:
        """Open a dump. ``folder``: where tasks will write; None: they write to no disk of this machine.

        Raises InputError for standard input where workers may be on other machines.
        """
        if self.is_here:
            return self._open_here(paths, options)
        if STDIN in paths:
            raise InputError(
                "-: workers of a cluster, or of spark-submit, cannot read the standard input of this machine",
                hint="name a file that they see; or run kcompact by itself, without a cluster",
            )
        paths = [_as_workers_name(path) for path in paths]
        local = [path for path in files_named(paths) if not is_address(path)]
        if self._spark is None:
            self._spark = self._stack.enter_context(open_session(self._options))
        is_shared = check_workers(self._spark, local, folder)
        if folder is not None:
            self.shares_folder = is_shared
        return open_dump(paths, options, self.run)

    def _open_here(self, paths: list[str], options: ReadOptions) -> Dump:
        """Open a dump on this machine; if it has MANY_FILES or more, in Spark's tasks."""
        files = find_files(paths)
        stamps = [stamp_of(path) for path in files] if len(files) >= MANY_FILES else []
        sizes = [stamp.size for stamp in stamps if stamp is not None]
        if not sizes or len(sizes) < len(files):  # few files, or some that no task can open (pipes, objects)
            return open_dump(paths, options)
        if self._spark is None:
            self._spark = self._stack.enter_context(self.session(sum(sizes)))
        return open_dump(paths, options, self.run, is_apart=False)

    def run(self, tasks: int, do: Callable[[int], Result]) -> list[Result]:
        """The results of ``do`` for each number below ``tasks``, called where dumps can be read."""
        if self._spark is None or not tasks:
            return list(map(do, range(tasks)))
        return run_tasks(self._spark, tasks, do)

    def session(self, input_bytes: int) -> AbstractContextManager[Any]:
        """The session to work on, for dumps of ``input_bytes``."""
        if self._spark is not None:
            job_known(input_bytes, writes=self._options.writes)
            return nullcontext(self._spark)
        return open_session(replace(self._options, input_bytes=input_bytes))


def files_named(dumps: list[str], left_out: LeftOut = NOTHING_LEFT_OUT) -> list[str]:
    """One path for each file of a dump, in their order; of paired files, the first."""
    absent_paths = left_out.paths
    paths = [
        path
        for path in find_files(dumps)
        if not absent_paths or absent_paths.isdisjoint((path, _as_workers_name(path)))
    ]
    groups = grouped(paths)
    return [next(group[role] for role in ROLES if role in group) for group in groups]


def _as_workers_name(path: str) -> str:
    """The path of a DUMP argument for workers of a cluster, which run in folders of their own."""
    return path if path == STDIN or is_address(path) else str(Path(path).absolute())


def shared_files(dump: Dump, other: Dump) -> list[str]:
    """The paths of files that both dumps have, as ``other`` names them, once for each of its files.

    Links count as files of their own: unchanged files of two dumps may be links to the same file.
    """
    places = {_place_of(file.path) for file in dump.files}
    return [file.path for file in other.files if _place_of(file.path) in places]


def _place_of(path: str) -> str:
    return path if is_address(path) else str(Path(path).parent.resolve() / Path(path).name)


def refuse_dump_in_committed(dump: Dump, committed: Dump) -> None:
    """Raise InputError if the read_committed dump is a folder or glob that includes files of the dump.

    The whole dump may be given as its own read_committed dump, which means that it has no transactions.
    """
    shared = shared_files(dump, committed)
    if shared and len(shared) < len(committed.files):
        raise InputError(
            f"{shared[0]} of --read-committed is a file of the dump itself: aborted records would count as"
            " committed",
            hint="name what a read_committed consumer wrote, and nothing else",
        )
