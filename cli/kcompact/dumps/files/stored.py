"""Which objects of a store an argument names: one, all below a prefix, a glob, or a dump that we wrote there.

A command asks several times which files it was given: what a store said is kept for the command.
"""

import re
from collections.abc import Iterable
from pathlib import PurePosixPath

import orjson

from kcompact.dumps.files.marks import MANIFEST, UNFINISHED, is_mark
from kcompact.dumps.files.origin import refuse_changed
from kcompact.errors import InputError
from kcompact.storage.object_stores import StoredObject, list_objects, read

_MAGIC = re.compile(r"[*?\[]")
_listed: dict[str, list[StoredObject]] = {}
_found: dict[str, StoredObject] = {}


def forget_listings() -> None:
    """When a command begins: ask the stores anew."""
    _listed.clear()
    _found.clear()


def stored_files(argument: str) -> list[str]:
    """The objects that an address names, hidden and empty ones left out of prefixes. Raises InputError."""
    magic = _MAGIC.search(argument)
    root = argument if magic is None else argument[: argument.rindex("/", 0, magic.start()) + 1]
    objects = _listing(root)
    if [one.address for one in objects] == [argument]:
        found = objects
    elif magic is None:
        found = _of_prefix(argument.rstrip("/") + "/", objects)
    else:
        wanted = re.compile(_pattern(argument))
        found = [one for one in objects if wanted.fullmatch(one.address) and _counts(one, root)]
    if not found:
        raise InputError(f"{argument}: there is no such object, and nothing below it")
    _found.update((one.address, one) for one in found)
    return [one.address for one in found]


def is_without_parts(argument: str) -> bool:
    """Whether an address is that of a dump that we wrote, and that holds no record."""
    prefix = argument.rstrip("/") + "/"
    if _MAGIC.search(prefix):
        return False
    names = {one.address.removeprefix(prefix) for one in _listing(prefix)}
    return MANIFEST in names and not manifest_parts(prefix)


def stored_bytes(address: str) -> int:
    """The size of an object that ``stored_files`` found."""
    return _found[address].size if address in _found else 0


def check_unchanged(paths: Iterable[str]) -> None:
    """When all is read: raise InputError for an object that is not what it was when it was found.

    Tasks look at ETags before they read; this finds what took an object's place after that.
    """
    before = {path: _found[path] for path in paths if path in _found}
    if before:
        now = {one.address: one for root in _listed for one in list_objects(root)}
        for address, one in before.items():
            refuse_changed(address, one, now.get(address))


def stored_beside(folder: str) -> list[str]:
    """All objects directly in a folder, by address."""
    prefix = folder.rstrip("/") + "/"
    return [one.address for one in _listing(prefix) if "/" not in one.address.removeprefix(prefix)]


def folder_of(address: str) -> str:
    """A path or an address without its last part; ``PurePath.parent`` would break an address."""
    return address.rpartition("/")[0] or ("/" if address.startswith("/") else ".")


def _listing(root: str) -> list[StoredObject]:
    above = next((known for known in _listed if known.endswith("/") and root.startswith(known)), None)
    if above is not None:
        return [one for one in _listed[above] if one.address.startswith(root)]
    if root not in _listed:
        _listed[root] = list_objects(root)
    return _listed[root]


def _of_prefix(prefix: str, objects: list[StoredObject]) -> list[StoredObject]:
    names = {one.address.removeprefix(prefix) for one in objects}
    if MANIFEST in names:
        return _of_manifest(prefix, objects)
    if any(name.startswith(UNFINISHED) for name in names):
        raise InputError(
            f"{prefix}: a run that has not finished wrote this, or is writing it: it is not a whole dump",
            hint="wait for that run; if it died, run it again with --overwrite",
        )
    return [one for one in objects if _counts(one, prefix)]


def _of_manifest(prefix: str, objects: list[StoredObject]) -> list[StoredObject]:
    """The part files of a dump that kcompact wrote: those of its manifest, and no others."""
    parts = manifest_parts(prefix)
    there = {one.address: one for one in objects}
    for address, size in parts.items():
        if address not in there or there[address].size != size:
            raise InputError(
                f"{address}: the manifest {MANIFEST} names this part, and it is not there as it was written",
                hint="write the dump again with --overwrite",
            )
    if not parts:
        raise InputError(f"{prefix}: a compacted dump without any record")
    return [there[address] for address in parts]


def manifest_parts(prefix: str) -> dict[str, int]:
    """The sizes of the part files of a dump that kcompact wrote, by address, in their order."""
    try:
        manifest = orjson.loads(read(prefix + MANIFEST))
        return {prefix + part["name"]: part["bytes"] for part in manifest["parts"]}
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{prefix}{MANIFEST}: not a manifest of kcompact") from error


def _counts(one: StoredObject, prefix: str) -> bool:
    parts = PurePosixPath(one.address.removeprefix(prefix)).parts
    return one.size > 0 and not any(map(is_mark, parts))


def _pattern(glob: str) -> str:
    """A glob as a regular expression: ``*`` and ``?`` stay within a folder, ``**`` goes through folders."""
    out = []
    for piece in re.findall(r"\*\*/?|\*|\?|\[[^\]]+\]|.", glob, re.DOTALL):
        known = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
        out.append(known.get(piece) or (piece if len(piece) > 1 else re.escape(piece)))
    return "".join(out)
