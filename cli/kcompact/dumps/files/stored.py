"""Finds the objects of a store that an argument names: one, all below a prefix, a glob, a dump of kcompact's.

A command asks several times for its files, so the answers of stores are kept until the command ends.
"""

import fnmatch
import glob
import re
import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from kcompact.dumps.files.listed_files import (
    ICEBERG,
    SIGNS,
    FileList,
    Reader,
    folders_with_lists,
    list_of,
    manifest_in,
)
from kcompact.dumps.files.marks import MANIFEST, REPORT, REPORT_FILES, doubtful_place, is_mark, is_of_runs
from kcompact.dumps.files.origin import refuse_changed
from kcompact.errors import InputError
from kcompact.storage.object_stores import StoredObject, child_names, list_objects, read

_MAGIC = re.compile(r"[*?\[]")
_listed: dict[str, list[StoredObject]] = {}
_named_objects: dict[str, StoredObject] = {}


@dataclass(frozen=True)
class Listing:
    """The files that an argument names; ``passed_over`` may be data, ``notes`` tell of others left out.

    ``unlisted`` (file: place of its writer's list) were left out as that list does not name them;
    ``read_as_named`` (likewise) are read though it does not.
    """

    files: list[str]
    passed_over: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    unlisted: dict[str, str] = field(default_factory=dict)
    read_as_named: dict[str, str] = field(default_factory=dict)


def forget_listings() -> None:
    """Forget the answers of stores, when a command begins."""
    _listed.clear()
    _named_objects.clear()


def stored_files(argument: str) -> Listing:
    """The objects that an address names, hidden and empty ones left out of prefixes. Raises InputError."""
    magic = _MAGIC.search(argument)
    root = argument if magic is None else argument[: argument.rindex("/", 0, magic.start()) + 1]
    prefix = argument.rstrip("/") + "/"
    objects = _listing(root)
    below = [entry for entry in objects if entry.address.startswith(prefix)]
    matches = [entry for entry in objects if entry.address == argument]  # a name may have wildcards
    listing = Listing([])
    if not matches and (magic is None or below):
        matches = _of_prefix(prefix, below, listing)
    elif magic:
        pattern = re.compile(_pattern(argument))
        matching = [entry for entry in objects if pattern.fullmatch(entry.address)]
        if matches:
            refuse_two_meanings(argument, [entry.address for entry in matching])
        counting = [entry for entry in matching if _counts(entry, root, listing.passed_over)]
        matches = matches or _listed_ones(root, objects, counting, listing.unlisted, is_whole=False)
    if not matches:
        refuse_unlisted_alone(argument, listing.unlisted)
        raise _nothing_named(argument, listing.passed_over)
    _named_objects.update((entry.address, entry) for entry in matches)
    listing.files.extend(entry.address for entry in matches)
    return listing


def refuse_two_meanings(argument: str, matches: Iterable[str]) -> None:
    """Raise InputError for a file that is called like a pattern which others match, too: ``*.json``.

    Brackets are frequent in names, such as ``orders[1].json``, and count as a part of the name.
    """
    others = sorted(path for path in matches if path != argument)
    if others and re.search(r"[*?]", argument):
        raise InputError(
            f"{argument}: this is the name of a file, and a pattern that matches others, too, such as"
            f" {others[0]}",
            hint=f"for that file alone: {shlex.quote(glob.escape(argument))}",
        )


def refuse_unlisted_alone(argument: str, unlisted: dict[str, str]) -> None:
    """Raise InputError where their writer's list names none of the files that an argument names."""
    if unlisted:
        path, place = next(iter(unlisted.items()))
        hint = f"to have such a file read all the same, name it: {shlex.quote(path)}"
        raise InputError(f"{argument}: {place} lists none of the files that are there", hint=hint)


def _nothing_named(argument: str, passed_over: list[str]) -> InputError:
    if passed_over:
        hint = f"what is there is hidden or a tool's own: name it, as {passed_over[0]}"
        return InputError(f"{argument}: no object here is read without being named", hint=hint)
    below = f"{argument.rstrip('/')}/**" if _MAGIC.search(argument.removesuffix("/**")) else None
    remedy = f"a pattern matches objects; all those below some prefixes are '{below}'" if below else None
    return InputError(f"{argument}: there is no such object, and nothing below it", hint=remedy)


def is_without_parts(argument: str) -> bool:
    """Whether an address is that of a dump that kcompact wrote, and that holds no record."""
    prefix = argument.rstrip("/") + "/"
    if _MAGIC.search(prefix):
        return False
    names = {entry.address.removeprefix(prefix) for entry in _listing(prefix)}
    return MANIFEST in names and not manifest_parts(prefix)


def stored_bytes(address: str) -> int:
    """The size of an object that ``stored_files`` found."""
    return _named_objects[address].size if address in _named_objects else 0


def check_unchanged(paths: Iterable[str]) -> None:
    """After all is read: raise InputError for an object that has changed since it was found.

    Tasks compare ETags before they read; this finds objects that were replaced after that.
    """
    before = {path: _named_objects[path] for path in paths if path in _named_objects}
    if before:
        now = {entry.address: entry for root in _listed for entry in list_objects(root)}
        for address, entry in before.items():
            refuse_changed(address, entry, now.get(address))


def stored_beside(folder: str) -> list[str]:
    """All objects directly in a folder, by address."""
    prefix = folder.rstrip("/") + "/"
    return [entry.address for entry in _listing(prefix) if "/" not in entry.address.removeprefix(prefix)]


def folder_of(address: str) -> str:
    """A path or an address without its last part; ``PurePath.parent`` would break an address."""
    return address.rpartition("/")[0] or ("/" if address.startswith("/") else ".")


def _listing(root: str) -> list[StoredObject]:
    above = next((parent for parent in _listed if parent.endswith("/") and root.startswith(parent)), None)
    if above is not None:
        return [entry for entry in _listed[above] if entry.address.startswith(root)]
    if root not in _listed:
        _listed[root] = list_objects(root)
    return _listed[root]


def _of_prefix(prefix: str, objects: list[StoredObject], listing: Listing) -> list[StoredObject]:
    names = {entry.address.removeprefix(prefix) for entry in objects}
    if MANIFEST in names:
        return _of_manifest(prefix, objects, listing.notes)
    reports = _reports(objects)
    listing.passed_over.extend(reports)
    counting = [entry for entry in objects if _counts(entry, prefix, listing.passed_over)]
    counting = [entry for entry in counting if folder_of(entry.address) not in reports]
    return _listed_ones(prefix, objects, counting, listing.unlisted, is_whole=True)


def _reports(objects: list[StoredObject]) -> list[str]:
    """The folders that hold a report of kcompact's and nothing else, left beside an earlier run's output."""
    names: dict[str, set[str]] = {}
    for entry in objects:
        folder, _, name = entry.address.rpartition("/")
        if folder.endswith(REPORT) and name:
            names.setdefault(folder, set()).add(name)
    return [folder for folder, held in names.items() if held == {*REPORT_FILES}]


def _listed_ones(
    root: str,
    objects: list[StoredObject],
    counting: list[StoredObject],
    unlisted: dict[str, str],
    *,
    is_whole: bool,
) -> list[StoredObject]:
    """The objects of ``counting`` that no list leaves out (listed_files.py).

    If ``is_whole``, all below the root is read, and every file that a list names has to be there.
    """
    for prefix, within, file_list in _lists(root, objects, counting, is_whole=is_whole):
        paths = {
            entry.address: within + entry.address.removeprefix(prefix)
            for entry in objects
            if entry.address.startswith(prefix)
        }
        names = set(paths.values())
        listed = file_list.of(names, within) if is_whole else set(filter(file_list.names, names))
        unlisted |= {
            entry.address: file_list.place
            for entry in counting
            if entry.address in paths and paths[entry.address] not in listed
        }
    return [entry for entry in counting if entry.address not in unlisted]


def _lists(
    root: str, objects: list[StoredObject], counting: list[StoredObject], *, is_whole: bool
) -> Iterator[tuple[str, str, FileList]]:
    """The lists that cover objects in question: a prefix, its path from the list's folder, and the list."""
    if counting and (above := _list_above(root)):
        yield (root, *above)
        return
    covered: list[str] = []
    for folder, signs in folders_with_lists(entry.address.removeprefix(root) for entry in objects).items():
        prefix = f"{root}{folder}/" if folder else root
        is_in_question = is_whole or any(entry.address.startswith(prefix) for entry in counting)
        if is_in_question and not prefix.startswith(tuple(covered)):
            file_list = list_of(prefix.rstrip("/"), signs, _READER)
            if file_list is not None:
                covered.append(prefix)
                yield prefix, "", file_list


def _list_above(prefix: str) -> tuple[str, FileList] | None:
    """As ``lists_on_disk.list_above``: the path of a prefix from the folder of the list, and the list."""
    folder, within = prefix.rstrip("/"), ""
    while "=" in (name := folder.rpartition("/")[2]) or name == ICEBERG[1]:
        folder, within = folder_of(folder), f"{name}/{within}"
        if file_list := list_of(folder, child_names(f"{folder}/", SIGNS), _READER):
            return within, file_list
    return None


def _names_in(folder: str) -> list[str]:
    return [address.rpartition("/")[2] for address in stored_beside(folder)]


_READER = Reader(_names_in, lambda address: read(address).splitlines())


def _of_manifest(prefix: str, objects: list[StoredObject], notes: list[str]) -> list[StoredObject]:
    """The part files of a dump that kcompact wrote: those of its manifest, and no others."""
    parts = manifest_parts(prefix)
    by_address = {entry.address: entry for entry in objects}
    for address, size in parts.items():
        if address not in by_address or by_address[address].size != size:
            raise InputError(
                f"{address}: the manifest {MANIFEST} names this part, and it is not there as it was written",
                hint="write the dump again with --overwrite",
            )
    if not parts:
        raise InputError(f"{prefix}: a compacted dump without any record")
    others = [
        address
        for address, entry in by_address.items()
        if address not in parts
        and _counts(entry, prefix, [])
        and not is_of_runs(address.removeprefix(prefix))  # parts of earlier runs that are not removed yet
    ]
    if others:
        more = f" and {len(others) - 1} more" if len(others) > 1 else ""
        notes.append(f"{others[0]}{more}: left out, as kcompact's manifest beside it does not name it")
    return [by_address[address] for address in parts]


def manifest_parts(prefix: str) -> dict[str, int]:
    """The sizes of the part files of a dump that kcompact wrote, by address, in their order."""
    parts = manifest_in(prefix + MANIFEST, _READER.lines(prefix + MANIFEST))
    return {prefix + name: size for name, size in parts.items()}


def _counts(entry: StoredObject, prefix: str, passed_over: list[str]) -> bool:
    parts = entry.address.removeprefix(prefix).split("/")
    if entry.size == 0 or not is_mark(parts):
        return entry.size > 0
    if shown := doubtful_place(parts):
        passed_over.append(prefix + "/".join(shown))
    return False


_PIECE_OF_A_GLOB = re.compile(r"\*\*/?|\*|\?|\[!?\]?[^\]/]*\]|.", re.DOTALL)


def _pattern(glob: str) -> str:
    """A glob as a regular expression: ``*`` and ``?`` stay within a folder, ``**`` goes through folders."""
    out = []
    for piece in _PIECE_OF_A_GLOB.findall(glob):
        wildcards = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
        out.append(wildcards.get(piece) or (_one_of(piece) if len(piece) > 1 else re.escape(piece)))
    return "".join(out)


def _one_of(brackets: str) -> str:
    """A regular expression for a glob's brackets: ``[!0]`` is any character but 0; a slash never matches."""
    return f"(?!/){fnmatch.translate(brackets).removesuffix(_END)}"


_END = fnmatch.translate("")[-2:]
