"""Lists that writers keep of the files in a folder that count; others are of aborted writes or old versions.

Spark's streaming file sink keeps ``_spark_metadata/`` (FileStreamSinkLog), Delta ``_delta_log/``, and
kcompact a manifest of its output on a store, which may have been copied to a disk. Paths in a list may be
hostile, or those of another machine: they are compared with names in the folder, and never opened.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import unquote

import orjson

from kcompact.dumps.files.marks import MANIFEST, UNFINISHED
from kcompact.dumps.records.shown import LONGEST, shown
from kcompact.errors import InputError

SPARK = "_spark_metadata"
DELTA = "_delta_log"
_HUDI = (".hoodie", ".hoodie_partition_metadata")
ICEBERG = ("metadata", "data")
SIGNS = (SPARK, DELTA, *_HUDI, *ICEBERG, MANIFEST)
_SIGNS_AS_FILES = (_HUDI[1], MANIFEST)
_BATCH = re.compile(r"(0|[1-9]\d{0,17})(\.compact)?")
_COMMIT = re.compile(r"\d{20}\.json")
_CHECKPOINT = re.compile(r"(\d{20})\.checkpoint\..*")
_ABSOLUTE = re.compile(r"/|[A-Za-z][A-Za-z0-9+.-]*:")
_DELTA_READER_VERSION = 3  # the last one whose lists of files are known
_NOT_FOLLOWED = "holds a table of {}, whose list of the files that count kcompact does not follow"
_COPY_AGAIN = "copy the folder again, as a whole, from where it was written, while nothing writes to it"


@dataclass(frozen=True)
class Reader:
    """How a list is read: the names of files in a folder, and the lines of a file."""

    names: Callable[[str], Iterable[str]]
    lines: Callable[[str], Iterable[bytes]]


@dataclass(frozen=True)
class FileList:
    """The list, at ``place``, of a folder's files: paths below the folder, or absolute ones of its writer."""

    place: str
    paths: tuple[str, ...]

    def names(self, name: str) -> bool:
        """Whether the list names a file, which is given by its path below the folder."""
        paths = self._by_last_part.get(name.rpartition("/")[2], ())
        return any(path == name or (_ABSOLUTE.match(path) and path.endswith(f"/{name}")) for path in paths)

    @cached_property
    def _by_last_part(self) -> dict[str, list[str]]:
        paths: dict[str, list[str]] = {}
        for path in self.paths:
            paths.setdefault(path.rpartition("/")[2], []).append(path)
        return paths

    def of(self, names: Collection[str], within: str = "") -> set[str]:
        """Those of ``names``, the folder's files by their paths below it, that the list names.

        Raises InputError for a file that the list names, below the folder ``within``, but ``names`` do not.
        """
        listed: set[str] = set()
        for path in self.paths:
            name = next((ending for ending in _endings(path) if ending in names), None)
            if name is not None and name not in listed:
                listed.add(name)
            elif f"/{within}" in f"/{path}":
                shown_path = shown(path if len(path) <= LONGEST else path.rpartition("/")[2])
                raise _refusal(self.place, f"lists a file that is not there: {shown_path}")
        return listed


def list_of(folder: str, names: Collection[str], reader: Reader) -> FileList | None:
    """The list of a folder that holds these names, or None if its writer keeps none. Raises InputError."""
    place = folder.removeprefix("./") or "."
    if any(sign in names for sign in _HUDI):
        table = place if _HUDI[0] in names else "TABLE"
        raise _refusal(place, _NOT_FOLLOWED.format("Hudi"), _written(table, "hudi"))
    if all(sign in names for sign in ICEBERG) and any(
        name.endswith(".metadata.json") for name in reader.names(f"{folder}/{ICEBERG[0]}")
    ):
        raise _refusal(place, _NOT_FOLLOWED.format("Iceberg"), _written(place, "iceberg"))
    if SPARK in names and DELTA in names:
        hint = "copy the files that count to a folder of their own"
        raise _refusal(place, f"holds two lists of its files, {SPARK} and {DELTA}", hint)
    if SPARK in names:
        return _spark_list(folder, reader)
    return _delta_list(folder, reader) if DELTA in names else _list_of_ours(folder, names, reader)


def _list_of_ours(folder: str, names: Collection[str], reader: Reader) -> FileList | None:
    """The parts of a dump that kcompact wrote to a store. Raises InputError where a run has not finished."""
    place = f"{folder.removeprefix('./')}/{MANIFEST}"
    if MANIFEST in names:
        return FileList(place, tuple(manifest_in(place, reader.lines(f"{folder}/{MANIFEST}"))))
    if any(name.startswith(UNFINISHED) for name in names):
        reason = "an unfinished run wrote this, or is still writing it: the dump is incomplete"
        hint = "wait for that run; if it died, run it again with --overwrite; copy again what was copied"
        raise _refusal(folder, reason, hint)
    return None


def manifest_in(place: str, lines: Iterable[bytes]) -> dict[str, int]:
    """The sizes of the part files of a dump that kcompact wrote, by name, in their order."""
    try:
        return {part["name"]: part["bytes"] for part in orjson.loads(b"".join(lines))["parts"]}
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{place}: not a manifest of kcompact") from error


def _spark_list(folder: str, reader: Reader) -> FileList:
    """The files of all batches from the last compact one on, as in Spark's CompactibleFileStreamLog."""
    place = f"{folder}/{SPARK}"
    batches: dict[int, str] = {}
    for name in sorted(reader.names(place)):
        if match := _BATCH.fullmatch(name):
            batches[int(match[1])] = name  # 9.compact is sorted after 9, and includes its entries
    first = max((number for number, name in batches.items() if name.endswith(".compact")), default=0)
    last = max(batches, default=None)
    if last is None:
        raise _refusal(place, "lists no batch that was committed", "run the stream until a batch has ended")
    added: dict[str, None] = {}
    deleted: dict[str, None] = {}
    changes = {"add": added, "delete": deleted}
    for number in range(first, last + 1):
        if number not in batches:
            raise _refusal(place, f"lacks batch {number}, which says which files count")
        for line, entry in _spark_entries(f"{place}/{batches[number]}", folder, reader):
            try:
                changes[entry["action"]][_path_of(entry)] = None
            except (LookupError, TypeError) as error:
                raise _unreadable(f"{place}/{batches[number]}", line) from error
    return FileList(place.removeprefix("./"), tuple(path for path in added if path not in deleted))


def _spark_entries(file: str, folder: str, reader: Reader) -> Iterator[tuple[int, dict[str, Any]]]:
    lines = iter(reader.lines(file))
    version = next(lines, b"").strip()
    if re.fullmatch(rb"v\d+", version) is None:
        raise _unreadable(file, 1)
    if version != b"v1":
        reason = f"a list of version {version[1:12].decode()}, and kcompact knows version 1"
        command = f"spark.read.json({folder!r}).write.json('ANOTHER_FOLDER')"
        raise _refusal(file, reason, f"have Spark write it out, of JSON as {command}, and name that folder")
    return _entries(file, lines, first=2)


def _delta_list(folder: str, reader: Reader) -> FileList:
    """The files that are left after all commits. A commit may remove a file and add it anew."""
    place = f"{folder}/{DELTA}"
    names = list(reader.names(place))
    commits = sorted(name for name in names if _COMMIT.fullmatch(name))
    checkpoints = [int(match[1]) for name in names if (match := _CHECKPOINT.fullmatch(name))]
    if not commits and not checkpoints:
        raise _refusal(place, "holds no commit, which would say which files count")
    is_whole = commits == [f"{number:020}.json" for number in range(len(commits))]
    if not is_whole or len(commits) <= max(checkpoints, default=0):
        reason = "lacks commits that only checkpoints hold, and kcompact reads nothing but commits"
        raise _refusal(place, reason, _written(folder, "delta"))
    live: dict[str, bool] = {}
    for name in commits:
        added: dict[str, bool] = {}
        for line, entry in _entries(f"{place}/{name}", reader.lines(f"{place}/{name}"), first=1):
            try:
                if "remove" in entry:
                    live.pop(_path_of(entry["remove"]), None)
                elif "add" in entry:
                    added[_path_of(entry["add"])] = bool(entry["add"].get("deletionVector"))
                elif "protocol" in entry:
                    _check_protocol(entry["protocol"], place, folder)
            except (LookupError, TypeError, AttributeError) as error:
                raise _unreadable(f"{place}/{name}", line) from error
        live |= added
    if any(live.values()):
        reason = "deletes rows of files by deletion vectors, which kcompact does not read"
        raise _refusal(place, reason, _written(folder, "delta"))
    return FileList(place.removeprefix("./"), tuple(live))


def _path_of(entry: dict[str, Any]) -> str:
    """The path in an entry. Paths are URIs in both lists: a file ``a b`` is ``a%20b`` there."""
    if not isinstance(entry["path"], str):
        raise TypeError
    return unquote(entry["path"], errors="surrogateescape")


def _check_protocol(protocol: dict[str, Any], place: str, folder: str) -> None:
    """Raise InputError for tables that need a later Delta, or whose newest commits are in a catalog."""
    features = [*(protocol.get("readerFeatures") or ()), *(protocol.get("writerFeatures") or ())]
    if protocol["minReaderVersion"] > _DELTA_READER_VERSION or any("catalog" in name for name in features):
        reason = "is of a later version of Delta than kcompact knows"
        raise _refusal(place, reason, _written(folder, "delta"))


def _entries(file: str, lines: Iterable[bytes], first: int) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a file, each with the number of its line."""
    for number, line in enumerate(lines, start=first):
        if line.strip():
            try:
                entry = orjson.loads(line)
            except ValueError as error:
                raise _unreadable(file, number) from error
            if not isinstance(entry, dict):
                raise _unreadable(file, number)
            yield number, entry


def _endings(path: str) -> list[str]:
    """The paths below a folder that a listed path may mean, longest first, as folders may have been moved."""
    if not _ABSOLUTE.match(path):
        return [path]
    parts = path.split("/")
    return ["/".join(parts[start:]) for start in range(len(parts))]


def _refusal(place: str, reason: str, hint: str = _COPY_AGAIN) -> InputError:
    return InputError(f"{place.removeprefix('./')}: {reason}", hint=hint)


def _unreadable(file: str, line: int) -> InputError:
    return _refusal(f"{file}:{line}", "not a line of a list of the files that count")


def _written(folder: str, source: str) -> str:
    """The hint to have Spark write the table out: the table's own reader knows which files count."""
    table = f"spark.read.format({source!r}).load({folder.removeprefix('./')!r})"
    return f"have Spark write it out, and name that folder: {table}.write.parquet('ANOTHER_FOLDER')"


def folders_with_lists(names: Iterable[str]) -> dict[str, set[str]]:
    """Of files below a prefix: the folders that show signs of a list, upper ones first, and these signs."""
    folders: dict[str, set[str]] = {}
    for name in names:
        parts = name.split("/")
        for number, part in enumerate(parts):
            is_file = number == len(parts) - 1
            if part in (_SIGNS_AS_FILES if is_file else SIGNS) or (is_file and part.startswith(UNFINISHED)):
                folders.setdefault("/".join(parts[:number]), set()).add(part)
    return dict(sorted(folders.items()))
