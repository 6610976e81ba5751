"""Publishing on a store: a marker first, then parts, report, manifest, ``_SUCCESS``; old files go last.

A run that fails before its manifest is there deletes what it wrote. One that is killed leaves its marker, by
which the next knows that what lies there is no dump; with ``--overwrite`` it then replaces it.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import orjson

from kcompact.compact.totals import Outcome, PartRange
from kcompact.dumps.files.stored import MANIFEST, SUCCESS, UNFINISHED
from kcompact.dumps.output.outputs import REPORT_FILES
from kcompact.dumps.output.stored_output import StoredOutput
from kcompact.errors import KcompactError, OutputError
from kcompact.storage.object_stores import StoredObject, delete, fetch, list_objects, read, write

_SCHEMA_VERSION = 1


class StoredPublication:
    """The objects of one run, and those of the run before, which they replace."""

    def __init__(self, output: StoredOutput, old: list[str]) -> None:
        self._output = output
        self._old = old

    def bring_pieces(self, outcome: Outcome, folder: Path) -> None:
        """Bring the pieces of reports that tasks left on the store to the driver's work folder."""
        pieces = [*outcome.removed_keys, *outcome.gaps]
        names = {p.name for p in pieces if isinstance(p, PartRange) and p.end > p.start}
        for name in sorted(names):
            fetch(self._output.work + name, folder / name)

    def publish(self, parts: Iterable[str], report_folder: Path | None) -> None:
        """Publish part files, by their names in order, and the report that lies in a folder."""
        prefix = self._output.prefix
        sizes = {one.address: one.size for one in list_objects(prefix)}
        names = list(parts)
        rows = [{"name": name, "bytes": _size(sizes, prefix + name)} for name in names]
        if report_folder is not None and self._output.report is not None:
            for name in REPORT_FILES:
                write(self._output.report + name, (report_folder / name).read_bytes())
        manifest = {"schema_version": _SCHEMA_VERSION, "run": self._output.run, "parts": rows}
        write(prefix + MANIFEST, orjson.dumps(manifest, option=orjson.OPT_INDENT_2))
        kept = {prefix + name for name in (MANIFEST, *names)}
        self._delete(address for address in {*sizes, *self._old} - kept if address != self._output.marker)
        write(prefix + SUCCESS, b"")
        delete(self._output.marker)

    def undo(self) -> None:
        """Delete what this run wrote; what was there before is whole again.

        Once the manifest names this run its parts are the dump, whatever failed after that: old parts may be
        gone by then. The next run with ``--overwrite`` clears up what is left beside them.
        """
        prefix = self._output.prefix
        if self._is_published():
            return
        mine = [
            one.address
            for one in list_objects(prefix)
            if self._output.is_of_run(one.address.removeprefix(prefix))
        ]
        self._delete(mine)
        if prefix + SUCCESS in self._old:
            write(prefix + SUCCESS, b"")
        delete(self._output.marker)

    def _is_published(self) -> bool:
        """As the store says: a manifest whose writing failed may have arrived all the same."""
        manifest = self._output.prefix + MANIFEST
        if not list_objects(manifest):
            return False
        return bool(orjson.loads(read(manifest)).get("run") == self._output.run)

    def _delete(self, addresses: Iterable[str]) -> None:
        for address in sorted(addresses):
            delete(address)


@contextmanager
def open_stored(output: StoredOutput, *, overwrite: bool) -> Iterator[StoredPublication]:
    """Claim a prefix before any work, so that what cannot be written is known at once. Raises OutputError."""
    old = _check_replaceable(output, overwrite=overwrite)
    write(output.marker, b"")
    publication = StoredPublication(output, [one.address for one in old])
    try:
        # Until the old parts are gone, only the manifest says which are the dump.
        if any(one.address == output.prefix + SUCCESS for one in old):
            delete(output.prefix + SUCCESS)
        yield publication
    except BaseException:
        with suppress(KcompactError):  # the first error is the one to tell; the marker says the rest
            publication.undo()
        raise


def _check_replaceable(output: StoredOutput, *, overwrite: bool) -> list[StoredObject]:
    old = list_objects(output.prefix)
    names = [one.address.removeprefix(output.prefix) for one in old]
    for name in names:
        if not output.is_known(name):
            raise OutputError(
                f"{output.prefix} holds {name}, which kcompact did not write: the prefix is not replaced",
                hint="choose another prefix with -o",
            )
    reports = list_objects(output.report) if output.report else []
    for one in reports:
        name = one.address.removeprefix(output.report or "")
        if name not in REPORT_FILES:
            raise OutputError(
                f"{output.report} holds {name}, which this run will not write",
                hint="choose another prefix with --report, or --no-report",
            )
    if (old or reports) and not overwrite:
        unfinished = MANIFEST not in names and any(name.startswith(UNFINISHED) for name in names)
        what = "holds what a run left that has not finished" if unfinished else "exists already"
        raise OutputError(
            f"{output.prefix if old else output.report} {what}",
            hint="add --overwrite to replace it, or choose another prefix with -o",
        )
    return old


def _size(sizes: dict[str, int], address: str) -> int:
    if address not in sizes:
        raise OutputError(f"{address}: this part was written, and is not there any more")
    return sizes[address]
