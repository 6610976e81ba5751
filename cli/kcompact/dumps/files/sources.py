"""Finds the files that a command line names: files, folders, globs, in natural order."""

import errno
import glob
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from pathlib import Path

from kcompact.counted import counted
from kcompact.dumps.files.descriptors import own_path
from kcompact.dumps.files.listed_files import FileList
from kcompact.dumps.files.lists_on_disk import file_lists_kept, list_above, list_around, list_on_disk
from kcompact.dumps.files.marks import doubtful_place, is_mark, is_marked_folder, is_of_earlier_run
from kcompact.dumps.files.stored import (
    Listing,
    forget_listings,
    refuse_two_meanings,
    refuse_unlisted_alone,
    stored_files,
)
from kcompact.errors import InputError
from kcompact.storage.lookup import is_file, is_file_entry, is_folder, is_there, leads_back, raise_error
from kcompact.storage.object_stores import address_hint, is_address

STDIN = "-"
_ANY_DEPTH = re.compile(r"(?<![^/])\*\*(?![^/])")  # ** as a whole part of a path
_DIGITS = re.compile(r"(\d+)")
_LISTINGS: ContextVar[dict[str, Listing]] = ContextVar("listings")
_MOST_NAMES = 3
_SPARK_PARTS = "part-"  # begins names of Spark's and Delta's files; a file named otherwise needs no look-up
_PASSED_OVER = "hidden, a tool's own, a link to a folder, or no file"
_UNREADABLE = "make it readable, move it out of the folder, or name the files; nothing is left out silently"


@contextmanager
def listings_kept() -> Iterator[None]:
    """Within the context, for one command, each argument is looked up once: a folder may hold many files."""
    forget_listings()
    token = _LISTINGS.set({})
    try:
        with file_lists_kept():
            yield
    finally:
        _LISTINGS.reset(token)


def find_files(arguments: list[str]) -> list[str]:
    """All files of a dump, in the order of the arguments; within a folder or glob in natural order.

    From folders and globs, marks such as ``_SUCCESS`` (marks.py), empty files, and files that their writer's
    list does not name (listed_files.py) are left out. Raises InputError where an argument names nothing.
    """
    if not arguments:
        raise InputError("no dump given")
    listings = _listings_of(arguments)
    if len(listings) == 1:
        return [*listings[0].files]
    files: dict[str | Path, str] = {}  # by absolute path: a file that is named in two ways is read once
    for listing in listings:
        for path in listing.files:
            # Not normalised: what ``..`` means after a link, only the disk knows.
            files.setdefault(path if path == STDIN or is_address(path) else Path(path).absolute(), path)
    return list(files.values())


def notes_on_files(arguments: list[str]) -> list[str]:
    """Notes on files that ``find_files`` passed over, though they may be data."""
    listings = _listings_of(arguments)
    passed_over = list(dict.fromkeys(path for listing in listings for path in listing.passed_over))
    hidden = [f"{_shown(passed_over)}: left out, as {_PASSED_OVER}; name it to have it read"]
    unnamed = [note for listing in listings for note in listing.notes]
    return (hidden if passed_over else []) + unnamed + _notes_on_unlisted(listings)


def _notes_on_unlisted(listings: list[Listing]) -> list[str]:
    notes = []
    files = {path for listing in listings for path in listing.files}
    unlisted = {
        path: place for listing in listings for path, place in listing.unlisted.items() if path not in files
    }
    if unlisted:
        count = counted(len(unlisted), "file")
        notes.append(
            f"{_shown(sorted(unlisted, key=natural_order))}: {count} left out, as {_not_listed(unlisted)}"
        )
    if named := {path: place for listing in listings for path, place in listing.read_as_named.items()}:
        count = counted(len(named), "file")
        notes.append(
            f"{_shown(list(named))}: {count} read as named, though {_not_listed(named)};"
            " name the folder to have it read as its writer reads it"
        )
    return notes


def _not_listed(places: dict[str, str]) -> str:
    """Words that say that lists do not name some files; ``places``: by file, the place of the list."""
    lists = list(dict.fromkeys(places.values()))
    verb = "does" if len(lists) == 1 else "do"
    return f"{_shown(lists)} {verb} not list {'it' if len(places) == 1 else 'them'}"


def _shown(paths: list[str]) -> str:
    more = len(paths) - _MOST_NAMES
    return ", ".join(paths[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


def _listings_of(arguments: list[str]) -> list[Listing]:
    listings = _LISTINGS.get({})
    for argument in arguments:
        if argument not in listings:
            listings[argument] = Listing([argument]) if argument == STDIN else _files_of(argument)
    return [listings[argument] for argument in arguments]


def natural_order(path: str) -> list[tuple[int, int, str]]:
    """Sort key: ``part-10`` after ``part-9``."""
    return [(0, int(piece), piece) if piece.isdecimal() else (1, 0, piece) for piece in _DIGITS.split(path)]


def _files_of(argument: str) -> Listing:
    if is_address(argument):
        stored = stored_files(argument)
        return replace(stored, files=sorted(stored.files, key=natural_order))
    try:
        return _local_files(argument)
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise  # reported in the same way for all arguments
        hint = None if error.filename == argument and not os.path.isdir(argument) else _UNREADABLE  # noqa: PTH112
        raise InputError(f"{error.filename or argument}: {error.strerror}", hint=hint) from error


def _local_files(argument: str) -> Listing:
    """The files on a disk that an argument names. Raises OSError where a folder cannot be looked into."""
    path = Path(argument)
    if glob.has_magic(argument):
        if not os.path.lexists(argument):
            return _matching(argument)
        refuse_two_meanings(argument, glob.glob(argument))  # noqa: PTH207  absolute patterns too
    if is_file(path):
        return _named_file(own_path(argument))
    if is_folder(path):
        return _files_of_folder(own_path(argument))
    if is_there(path):  # a FIFO, as of process substitution
        return Listing([argument])
    _refuse_address(argument)
    raise InputError(f"{argument}: no such file or folder")


def _named_file(path: str) -> Listing:
    """The file, which is read in any case; noted if it is called like Spark's and a list does not name it."""
    listing = Listing([path])
    if path.rpartition("/")[2].startswith(_SPARK_PARTS) and (around := list_around(path)):
        file_list, name = around
        if not file_list.names(name):
            listing.read_as_named[path] = file_list.place
    return listing


def _files_of_folder(argument: str) -> Listing:
    folder, listing = str(Path(argument)), Listing([])
    above = list_above(folder)
    paths = _listed_files(folder, *above, listing) if above else _files_in(folder, listing)
    listing.files.extend(sorted((file.removeprefix("./") for file in paths), key=natural_order))
    if not listing.files:
        refuse_unlisted_alone(argument, listing.unlisted)
        passed_over = listing.passed_over
        hint = f"{passed_over[0]} is there, but {_PASSED_OVER}: name it" if passed_over else None
        raise InputError(f"{argument}: no dump files in this folder", hint=hint)
    return listing


def _matching(argument: str) -> Listing:
    _refuse_address(argument)
    _require_listable(argument)
    listing = Listing([])
    files = sorted(_matches(argument, listing.passed_over), key=natural_order)
    for file in files:
        around = list_around(file)
        if around is not None and not around[0].names(around[1]):
            listing.unlisted[file] = around[0].place
        else:
            listing.files.append(file)
    if not listing.files:
        refuse_unlisted_alone(argument, listing.unlisted)
        raise InputError(f"{argument}: no file matches this pattern")
    return listing


def _refuse_address(argument: str) -> None:
    hint = address_hint(argument)
    if argument.startswith(("http://", "https://")):
        hint = f"pipe it: curl -s {argument} | kcompact compact -"
    if hint is not None:
        raise InputError(f"{argument}: an address that kcompact cannot read", hint=hint)


def _require_listable(pattern: str) -> None:
    """Raise OSError for a folder that cannot be looked into, which a glob would silently pass over."""
    parts = Path(pattern).parts
    first = next(number for number, part in enumerate(parts) if glob.has_magic(part))
    for number, part in enumerate(parts[first:], start=first):
        for folder in glob.glob(str(Path(*parts[:number]))):  # noqa: PTH207  absolute patterns too
            if is_marked_folder(Path(folder).name) or not _is_folder(folder):
                continue
            if part == "**":
                for _ in os.walk(folder, onerror=raise_error):
                    pass
            elif glob.has_magic(part):
                os.scandir(folder).close()
            else:
                _is_folder(str(Path(folder, part)))


def _is_folder(path: str) -> bool:
    try:
        return stat.S_ISDIR(os.stat(path).st_mode)  # noqa: PTH116  isdir is False without permission
    except (FileNotFoundError, NotADirectoryError):
        return False


def _matches(pattern: str, passed_over: list[str]) -> Iterator[str]:
    """The files that match a pattern. ``**`` follows no links to folders: two that lead upwards never end."""
    whole = _ANY_DEPTH.search(pattern)
    if whole is None:
        for match in map(Path, glob.glob(pattern)):  # noqa: PTH207  absolute patterns too
            if _counts(match, match.parent, passed_over):
                yield str(match)
        return
    upper, below = pattern[: whole.start()], pattern[whole.start() :]
    for folder in map(Path, glob.glob(upper or ".")):  # noqa: PTH207  likewise
        for match in folder.glob(f"{below}/*" if below.endswith("**") else below):
            if _counts(match, folder, passed_over):
                yield str(match)


def _files_in(folder: str, listing: Listing, seen: set[str] | None = None) -> Iterator[str]:
    """All files of a folder that count, at any depth; links to folders are not followed.

    ``seen``, given where a list says which files count, collects all files, also empty and hidden ones.
    """
    with os.scandir(folder) as scanned:
        entries = list(scanned)
    if seen is None and (file_list := list_on_disk(folder, {entry.name for entry in entries})):
        yield from _listed_files(folder, file_list, "", listing)
        return
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            if is_marked_folder(entry.name):
                if doubtful_place((entry.name, "")) and _holds_anything(entry.path):
                    listing.passed_over.append(entry.path)
            elif is_of_earlier_run(entry.path, {inside.name for inside in os.scandir(entry.path)}):
                listing.passed_over.append(entry.path)
            else:
                yield from _files_in(entry.path, listing, seen)
        else:
            if seen is not None and is_file_entry(entry):
                seen.add(entry.path)
            if _is_data(entry, listing):
                yield entry.path


def _is_data(entry: os.DirEntry[str], listing: Listing) -> bool:
    is_marked, is_data = is_mark([entry.name]), is_file_entry(entry)
    if is_data and (entry.stat().st_size == 0 or not is_marked):
        return entry.stat().st_size > 0  # the entry caches its stat
    if doubtful_place([entry.name]) if is_marked else not is_data and not leads_back(entry.path):
        listing.passed_over.append(entry.path)
    return False


def _listed_files(folder: str, file_list: FileList, within: str, listing: Listing) -> list[str]:
    """The files of a folder that a list names; ``within``: its path from the folder of the list, or empty."""
    seen: set[str] = set()
    files = list(_files_in(folder, listing, seen))  # after the list was read: all files that it names exist
    below = len(folder.rstrip("/")) + 1
    listed = file_list.of({within + path[below:] for path in seen}, within)
    unlisted = {path for path in files if within + path[below:] not in listed}
    listing.unlisted.update((path.removeprefix("./"), file_list.place) for path in files if path in unlisted)
    return [path for path in files if path not in unlisted]


def _holds_anything(folder: str) -> bool:
    paths = (Path(inside, name) for inside, _, files in os.walk(folder) for name in files)
    return any(path.lstat().st_size > 0 for path in paths)


def _counts(path: Path, folder: Path, passed_over: list[str]) -> bool:
    inside = path.relative_to(folder).parts
    if not is_file(path) or path.stat().st_size == 0:
        return False
    if is_mark(inside) and (parts := doubtful_place(inside)):
        passed_over.append(str(Path(folder, *parts)))
    return not is_mark(inside)
