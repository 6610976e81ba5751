"""A dump: the files that the user named, recognised and cut into splits."""

import re
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, chdir
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Self

from kcompact.broker.log_names import FEW, few
from kcompact.dumps.files.sources import STDIN, find_files, notes_on_files
from kcompact.dumps.files.stamps import Stamp, check_stamps, stamp_of
from kcompact.dumps.files.stored import check_unchanged
from kcompact.dumps.files.unreadable import UnreadableFile, refuse
from kcompact.dumps.layouts import LAYOUTS
from kcompact.dumps.logs_by_name import put_into_logs
from kcompact.dumps.opened_files import TOPIC_BY_NAME, open_group, opened_apart
from kcompact.dumps.options import LeftOut, ReadOptions
from kcompact.dumps.paired.side_files import grouped, refuse_tombstones_apart
from kcompact.dumps.records.layout import DumpFile, Split
from kcompact.dumps.records.shown import some_files
from kcompact.errors import InputError, NoRecordsError, StoreError
from kcompact.storage.object_stores import is_address
from kcompact.storage.scratch import scratch_folder

OfShare = list[tuple[int, DumpFile | UnreadableFile]]  # (number, file) of each file that one task opens
Opening = Callable[[int, Callable[[int], OfShare]], list[OfShare]]
"""Runs a number of tasks, such as Spark's (``engine.tasks.run_tasks``), and returns their results."""

MOST_OPENING_TASKS = 256
_OPENED_AT_ONCE = 4  # objects of a store, by one task: recognising them takes time, not only fetching
_OPENED_BY_TASK = 1000  # files on a disk that all tasks see; with fewer, starting a task would cost more


class Dump:
    """The files of one dump. A context manager, which removes ``spool``, the folder of unpacked files.

    If an error is raised within the context and ``stamps`` show that a file has changed meanwhile, that
    change is reported instead (InputError). ``left_out`` names files of this dump only. ``numbers`` gives for
    each file id the file's place among all that were found (``find_files``), also those without any record.
    """

    def __init__(
        self,
        files: tuple[DumpFile, ...],
        options: ReadOptions,
        spool: ExitStack,
        stamps: dict[str, Stamp | None],
        left_out: LeftOut,
    ) -> None:
        self.files = files
        self.numbers = tuple(range(len(files)))
        self.options = options
        self.notes = _notes_of(files)
        self.left_out = left_out
        self._spool = spool
        self._stamps = stamps

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        self._spool.close()
        if isinstance(error, Exception):
            check_stamps(self._stamps)

    def __getstate__(self) -> dict[str, object]:
        """The state that workers get: the driver alone removes unpacked files and checks stamps."""
        return {**vars(self), "_spool": ExitStack(), "_stamps": {}}

    @property
    def data_bytes(self) -> int:
        """The unpacked bytes of all files."""
        return sum(file.data_bytes for file in self.files)

    def splits(self, split_bytes: int) -> list[Split]:
        """Byte ranges that cover all records, in the order of files and records; ids count from 0."""
        ranges: list[tuple[int, int, int]] = []
        for file in self.files:
            plan = file.origin.cut if file.origin else partial(LAYOUTS[file.layout].plan, file)
            ranges += [(file.file_id, start, end) for start, end in plan(split_bytes)]
        return [Split(number, *where) for number, where in enumerate(ranges)]

    def check_unmoved(self) -> None:
        """After all is read: raise InputError if a file is not as it was before it was opened."""
        check_stamps(self._stamps)
        check_unchanged(self._stamps)
        self._stamps = {}


def open_dump(
    paths: list[str], options: ReadOptions, opening: Opening | None = None, *, is_apart: bool = True
) -> Dump:
    """Find and recognise all files of a dump. Raises InputError.

    ``opening`` runs the tasks that open files; None: this process does. ``is_apart``: these tasks may see
    other disks than this process.
    """
    with ExitStack() as stack:
        left_out = options.left_out.of_files(named := find_files(paths))
        groups = grouped([path for path in named if path not in left_out.paths])
        stamps = {path: stamp_of(path) for group in groups for path in group.values()}
        spool = stack.enter_context(scratch_folder())
        if any(map(is_address, stamps)) or (opening is not None and is_apart):
            opened_files = _open_apart(groups, options, spool, opening or _in_threads)
        elif opening is not None:
            opened_files = _open_in_tasks(groups, options, spool, opening)
        else:
            opened_files = [file for _, file in _open_or_tell(range(len(groups)), groups, options, spool)]
        numbers = _numbers_with_records(opened_files, paths)
        files = [file for file in opened_files if isinstance(file, DumpFile)]
        unreadable = [file for n in numbers if isinstance(file := opened_files[n], UnreadableFile)]
        if unreadable:
            check_stamps(stamps)
            raise refuse(unreadable, keep_going=options.keep_going, is_all=not files)
        files = [replace(file, file_id=file_id) for file_id, file in enumerate(files)]
        dump = Dump(tuple(_agreed(files)), options, stack.pop_all(), stamps, left_out)
        dump.numbers = numbers
        if empty := sorted({*range(len(groups))} - {*numbers}):
            paths_of_empty = [next(iter(groups[n].values())) for n in empty]
            dump.notes.append(f"{some_files(paths_of_empty)}: without any record, left out")
        dump.notes += notes_on_files(paths)
        return dump


def _numbers_with_records(opened_files: list[DumpFile | UnreadableFile], paths: list[str]) -> tuple[int, ...]:
    """The numbers of the files to read: all but those without a record that were not named themselves.

    kcompact's own outputs may be empty. Raises NoRecordsError where no file has a record.
    """
    named = set(paths)
    empty = {
        number: file.error
        for number, file in enumerate(opened_files)
        if isinstance(file, UnreadableFile)
        and isinstance(file.error, NoRecordsError)
        and named.isdisjoint(file.paths)
    }
    if empty and len(empty) == len(opened_files):
        raise empty[0]
    return tuple(number for number in range(len(opened_files)) if number not in empty)


def _open_or_tell(
    numbers: Iterable[int], groups: list[dict[str, str]], options: ReadOptions, spool: Path
) -> OfShare:
    """Open each group (``open_group``); one that cannot be opened becomes an UnreadableFile."""
    opened_files: OfShare = []
    neighbour = None
    for number in numbers:
        try:
            neighbour = open_group(number, groups[number], options, spool, neighbour)
            opened_files.append((number, neighbour))
        except InputError as error:
            opened_files.append((number, UnreadableFile(tuple(groups[number].values()), error)))
    return opened_files


def _open_in_tasks(
    groups: list[dict[str, str]], options: ReadOptions, spool: Path, opening: Opening
) -> list[DumpFile | UnreadableFile]:
    """As ``_open_or_tell``, by tasks on this machine, which start in other working folders."""
    numbers, working_folder = range(len(groups)), Path.cwd()
    shares = [numbers[first : first + _OPENED_BY_TASK] for first in numbers[::_OPENED_BY_TASK]]

    def open_share(task: int) -> OfShare:
        with chdir(working_folder):
            return _open_or_tell(shares[task], groups, options, spool)

    return [file for share in opening(len(shares), open_share) for _, file in share]


def _open_apart(
    groups: list[dict[str, str]], options: ReadOptions, spool: Path, opening: Opening
) -> list[DumpFile | UnreadableFile]:
    """Open files in tasks, a share in each; files that only this process can read (stdin) are opened here."""
    local = [n for n, group in enumerate(groups) if _is_ours_alone(group)]
    remote = [n for n in range(len(groups)) if n not in set(local)]
    shares = [remote[first::MOST_OPENING_TASKS] for first in range(min(MOST_OPENING_TASKS, len(remote)))]

    def open_number(number: int) -> tuple[int, DumpFile | UnreadableFile]:
        try:
            return number, opened_apart(number, groups[number], options)
        except StoreError:
            raise  # the store itself fails: do not try all other objects, nor leave them out (--keep-going)
        except InputError as error:
            return number, UnreadableFile(tuple(groups[number].values()), error)

    def open_share(task: int) -> OfShare:
        with ThreadPoolExecutor(_OPENED_AT_ONCE) as threads:
            return list(threads.map(open_number, shares[task]))

    files = dict(_open_or_tell(local, groups, options, spool))
    files |= {number: file for share in opening(len(shares), open_share) for number, file in share}
    return [files[number] for number in sorted(files)]


def _is_ours_alone(group: dict[str, str]) -> bool:
    return any(path == STDIN or (not is_address(path) and stamp_of(path) is None) for path in group.values())


def _in_threads(tasks: int, do: Callable[[int], OfShare]) -> list[OfShare]:
    with ThreadPoolExecutor(_OPENED_AT_ONCE) as threads:
        return list(threads.map(do, range(tasks)))


_EXAMPLE = re.compile(r""", such as ('.*?'|".*?") for (b'.*?'|b".*?")[,:]""")


def _notes_of(files: tuple[DumpFile, ...]) -> list[str]:
    """The notes on files, each once and with one example; one note for many topics taken from file names."""
    paths: dict[str, list[str]] = {}
    first: dict[str, str] = {}  # a note without its example -> the first note of that kind
    for file in files:
        for note in file.notes:
            alike = first.setdefault(_EXAMPLE.sub("", note), note)
            paths.setdefault(alike, []).append(file.path)
    by_name = [note for note in paths if note.startswith(TOPIC_BY_NAME)]
    if len(by_name) > FEW:
        topics = few([note.removeprefix(TOPIC_BY_NAME) for note in by_name])
        paths[f"{TOPIC_BY_NAME}{topics}"] = [path for note in by_name for path in paths.pop(note)]
    return [f"{some_files(about)}: {note}" for note, about in paths.items()]


def _agreed(files: list[DumpFile]) -> list[DumpFile]:
    """The files, put into logs and read alike.

    Where keys of one file are read as JSON, so are the keys of text in all other files of the same dialect.
    """
    files = put_into_logs(files)
    refuse_tombstones_apart(files)
    typed = {file.dialect.name for file in files if file.dialect.key.encoding == "json"}
    dump_bytes = sum(file.data_bytes for file in files)
    files = [replace(file, dump_bytes=dump_bytes) for file in files]
    return [
        replace(file, dialect=replace(file.dialect, key=replace(file.dialect.key, encoding="json")))
        if file.dialect.key.encoding == "text" and file.dialect.name in typed
        else file
        for file in files
    ]
