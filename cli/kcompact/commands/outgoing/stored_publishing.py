"""Publishing on a store: markers first, then parts, manifest, report, ``_SUCCESS``; old files go last.

A run that fails before its manifest is there deletes what it wrote. One that is killed leaves its marker, by
which the next run knows that the prefix holds no whole dump; with ``--overwrite`` it then replaces it.

There is no lock that all stores have. Of runs that write one prefix at the same time, the one with the latest
marker publishes; the others find that out before they change anything, and give way.
"""

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import orjson

from kcompact.compact.totals import CompactionOutcome, PartRange
from kcompact.console import note
from kcompact.dumps.files.marks import MANIFEST, REPORT_FILES, SUCCESS, UNFINISHED, is_of_runs
from kcompact.dumps.files.unreadable import LeavingOutError
from kcompact.dumps.output.stored_output import StoredOutput
from kcompact.errors import KcompactError, OutputError
from kcompact.storage.object_reading import fetch
from kcompact.storage.object_stores import (
    StoredObject,
    delete,
    delete_folder,
    list_objects,
    read,
    write,
)

_SCHEMA_VERSION = 1
_AT_ONCE = 8  # objects to be deleted


class StoredPublication:
    """The objects of one run, and those of the run before, which they replace."""

    def __init__(self, output: StoredOutput, old: list[str]) -> None:
        self._output = output
        self._old = old

    def bring_pieces(self, outcome: CompactionOutcome, folder: Path) -> None:
        """Bring the pieces of reports that tasks left on the store to the driver's work folder."""
        pieces = [*outcome.removed_keys, *outcome.gaps]
        names = {p.name for p in pieces if isinstance(p, PartRange) and p.end > p.start}
        for name in sorted(names):
            fetch(self._output.work + name, folder / name)

    def publish(self, parts: Iterable[str], report_folder: Path | None) -> None:
        """Publish part files, by their names in order, and the report in a folder."""
        prefix = self._output.prefix
        listing = list_objects(prefix)
        if self._is_overtaken(listing):
            raise OutputError(
                f"{prefix}: another run has begun to write there after this one, so this one stops",
                hint="wait until that run has ended, or choose another prefix with -o",
            )
        sizes = {entry.address: entry.size for entry in listing}
        names = list(parts)
        for name in names:
            if prefix + name not in sizes:
                raise OutputError(f"{prefix + name}: this part was written, and is not there any more")
        rows = [{"name": name, "bytes": sizes[prefix + name]} for name in names]
        manifest = {"schema_version": _SCHEMA_VERSION, "run": self._output.run, "parts": rows}
        write(prefix + MANIFEST, orjson.dumps(manifest, option=orjson.OPT_INDENT_2))
        new_addresses = {prefix + name for name in (MANIFEST, *names)}
        try:
            self._switch_report(report_folder)
            of_runs = {address for address in sizes if is_of_runs(address.removeprefix(prefix))}
            self._delete({*of_runs, *self._old} - new_addresses - {*self._output.markers})
            _note_others({*sizes} - of_runs)
            if not self._is_overtaken(list_objects(prefix)):
                write(prefix + SUCCESS, b"")
            self._delete(self._output.markers)
        except KcompactError as error:
            raise OutputError(
                f"{error.message}; the new dump is complete in {prefix}, but the old one is not deleted",
                hint="run again with --overwrite; until then there is no _SUCCESS, and maybe no report",
            ) from error

    def _switch_report(self, folder: Path | None) -> None:
        """Replace the report. No old one is left beside the new dump, whatever fails."""
        if folder is None or self._output.report is None:
            return
        try:
            for name in REPORT_FILES:
                write(self._output.report + name, (folder / name).read_bytes())
        except KcompactError:
            with suppress(KcompactError):  # then the marker shows that the report is of no dump
                self._delete(self._output.report + name for name in REPORT_FILES)
            raise

    def undo(self) -> None:
        """Delete what this run wrote, so that what was there before is whole again.

        Nothing is deleted once the manifest names this run: its parts are the dump then, as old parts may be
        gone. The next run with ``--overwrite`` clears up what is left beside them.
        """
        if self._is_published():
            return
        prefix = self._output.prefix
        listing = list_objects(prefix)
        of_run = self._output.is_of_run
        self._delete(entry.address for entry in listing if of_run(entry.address.removeprefix(prefix)))
        if prefix + SUCCESS in self._old and not self._is_overtaken(listing):
            write(prefix + SUCCESS, b"")
        self._delete(self._output.markers)

    def _is_overtaken(self, listing: list[StoredObject]) -> bool:
        """Whether a later run writes the prefix, or has published: then this run's marker is gone."""
        claims = {
            entry.address: (entry.mtime_ns or 0, entry.address)
            for entry in listing
            if entry.address.startswith(self._output.prefix + UNFINISHED)
        }
        own = claims.get(self._output.marker)
        return own is None or own < max(claims.values())

    def _is_published(self) -> bool:
        """Whether the store has this run's manifest: it may have arrived although writing it failed.

        The name of the run is in no other run's manifest. It is searched for as text, since a damaged
        manifest could not be parsed.
        """
        manifest = self._output.prefix + MANIFEST
        return bool(list_objects(manifest)) and self._output.run.encode() in read(manifest)

    def _delete(self, addresses: Iterable[str]) -> None:
        """Delete objects; folders of pieces as a whole, as some stores would keep the empty folder."""
        address_set = set(addresses)
        folders = {folder for address in address_set if (folder := self._output.work_folder_of(address))}
        for folder in sorted(folders):
            delete_folder(folder)
        singly = sorted(address for address in address_set if not self._output.work_folder_of(address))
        with ThreadPoolExecutor(_AT_ONCE) as threads:
            list(threads.map(delete, singly))


def _note_others(addresses: set[str]) -> None:
    """Name objects that somebody else has put into the prefix since the run began; they stay there."""
    if addresses:
        more = f" and {len(addresses) - 1} more" if len(addresses) > 1 else ""
        note(f"{min(addresses)}{more}: put there by somebody else while this ran; it is no part of the dump")


@contextmanager
def open_stored(output: StoredOutput, *, overwrite: bool) -> Iterator[StoredPublication]:
    """Claim a prefix before any work, so that what cannot be written is known at once. Raises OutputError."""
    old = _check_replaceable(output, overwrite=overwrite)
    publication = StoredPublication(output, [entry.address for entry in old])
    try:
        for marker in output.markers:
            write(marker, b"")
        # Until the old parts are deleted, only the manifest tells which parts are the dump.
        if any(entry.address == output.prefix + SUCCESS for entry in old):
            delete(output.prefix + SUCCESS)
        yield publication
    except BaseException as error:
        try:
            publication.undo()
        except KcompactError:
            if isinstance(error, KcompactError) and not isinstance(error, LeavingOutError):
                raise OutputError(
                    f"{error.message}; what this run wrote is left in {output.prefix}, where {output.marker}"
                    " marks it",
                    hint=error.hint,
                ) from error
        raise


def _check_replaceable(output: StoredOutput, *, overwrite: bool) -> list[StoredObject]:
    old = list_objects(output.prefix)
    names = [entry.address.removeprefix(output.prefix) for entry in old]
    for name in names:
        if not is_of_runs(name):
            raise OutputError(
                f"{output.prefix} holds {name}, which kcompact did not write: the prefix is not replaced",
                hint="choose another prefix with -o",
            )
    reports = list_objects(output.report) if output.report else []
    for entry in reports:
        name = entry.address.removeprefix(output.report or "")
        if name not in REPORT_FILES and not (name.startswith(UNFINISHED) and is_of_runs(name)):
            raise OutputError(
                f"{output.report} holds {name}, which this run will not write",
                hint="choose another prefix with --report, or --no-report",
            )
    if (old or reports) and not overwrite:
        unfinished = MANIFEST not in names and any(name.startswith(UNFINISHED) for name in names)
        problem = "holds what an unfinished run left" if unfinished else "exists already"
        raise OutputError(
            f"{output.prefix if old else output.report} {problem}",
            hint="add --overwrite to replace it, or choose another prefix with -o",
        )
    return old + [entry for entry in reports if UNFINISHED in entry.address]
