"""Publishing: files are prepared in private folders beside their targets, flushed, and renamed, all or none.

``open_publication`` claims the targets before any work: it makes the folders, finds out whether they can be
written, settles a publication of a run that died there, and keeps other runs from the same targets. Nothing
that the user can see changes before ``commit``, which writes a journal beside the first target
(``journal.py``). If a run is killed during the renames, they are finished by the next run that writes to, or
reads the state of, any of these folders.
"""

import json
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import Any

from kcompact.console import note
from kcompact.errors import OutputError
from kcompact.storage import disk
from kcompact.storage.apart import real_place
from kcompact.storage.journal import JOURNAL, Step, carry_out, finish, folder_gone, mark_of, read_journal
from kcompact.storage.lookup import is_folder, is_there
from kcompact.storage.scratch import (
    Scratch,
    lock_of_dead,
    looking_round,
    make_scratch,
    was_made_here,
)

_CLAIM = "claim"
_WORK = "work"


class Publication:
    """The files of one run. ``scratches`` are private folders beside the targets, by the folder of these.

    The first one holds the journal.
    """

    def __init__(self, scratches: dict[Path, Scratch], check: Callable[[], None]) -> None:
        self._scratches = scratches
        self._check = check
        self._steps: list[tuple[Path, Path, Path]] = []  # prepared, target, replaced
        self.folder = next(iter(scratches.values())).folder

    @cached_property
    def work_folder(self) -> Path:
        """A folder for the run's own parts, on the disk of the first target. Raises OutputError."""
        folder = self.folder / _WORK
        with disk.explained(folder.parent.parent):
            disk.make_folder(folder, 0o700)
        return folder

    def prepare(self, target: Path) -> Path:
        """The path at which the caller writes a file, or makes a folder, that will become ``target``.

        Raises OutputError.
        """
        place = _place_of(target)
        folder, number = self._folder_beside(place, target), len(self._steps)
        self._steps.append((folder / f"new-{number}", place, folder / f"old-{number}"))
        return self._steps[-1][0]

    def _folder_beside(self, place: Path, target: Path) -> Path:
        """The private folder beside ``place``. Raises OutputError, naming ``target``, if it was moved."""
        scratch = self._scratches.get(place.parent)
        if scratch is None or not is_folder(scratch.folder):
            raise folder_gone(target)
        return scratch.folder

    def commit(self) -> None:
        """Flush everything to the disk, then rename in the order of ``prepare``. Raises OutputError."""
        self._check()
        with disk.explained(self._steps[0][1] if self._steps else self.folder):
            for prepared, target, _ in self._steps:
                self._folder_beside(target, target)
                disk.flush_tree(prepared)
                disk.keep_permissions(target, prepared)
            steps = [
                Step(prepared, target, replaced, str(mark_of(prepared)), mark_of(target))
                for prepared, target, replaced in self._steps
            ]
            for scratch in self._scratches.values():
                disk.flush(scratch.folder)
            carry_out(self.folder, steps)


@contextmanager
def open_publication(
    targets: Sequence[Path], check: Callable[[], None] = lambda: None
) -> Iterator[Publication]:
    """Claim ``targets``, with private folders beside them; the work folder of the run is beside the first.

    ``check`` raises OutputError if a target may not be replaced. It is called at once, and before the
    renames. Raises OutputError if nothing can be written, or if another run is writing there.
    """
    places = [_place_of(target) for target in targets]
    parents = list(dict.fromkeys(place.parent for place in places)) or [Path(tempfile.gettempdir())]
    scratches: dict[Path, Scratch] = {}
    with ExitStack() as stack:
        for parent in parents:
            with disk.explained(parent):
                stack.callback(_remove_empty, disk.make_folders(parent))
                parent_places = [place for place in places if place.parent == parent]
                scratches[parent] = stack.enter_context(_claimed(parent, parent_places, scratches))
        check()
        yield Publication(scratches, check)


@contextmanager
def _claimed(parent: Path, places: list[Path], scratches: dict[Path, Scratch]) -> Iterator[Scratch]:
    with looking_round(parent, settle_folder) as living:
        for folder in living:
            _refuse_copied(folder)
            _refuse_claimed(folder, {place.name for place in places})
        scratch = make_scratch(parent)
        first = next(iter(scratches.values()), scratch).folder
        try:
            claim = {
                "process": os.getpid(),
                "names": [place.name for place in places],
                "journal": os.path.relpath(first, scratch.folder),
            }
            disk.write(scratch.folder / _CLAIM, json.dumps(claim).encode())
        except BaseException:
            scratch.remove()
            raise
    try:
        yield scratch
    finally:
        if is_there(first / JOURNAL):  # neither finished nor undone, which the next run will do
            os.close(scratch.lock)
        else:
            scratch.remove()


def settle(parent: Path) -> None:
    """Finish the publication of a run that died in ``parent``; called before anything there is read."""
    with suppress(OSError), looking_round(parent, settle_folder) as living:
        for folder in living:
            _refuse_copied(folder)


def settle_folder(folder: Path) -> bool:
    """Finish the publication of a dead run by its private folder, whose lock is held.

    Returns whether the folder may be removed now. Raises OutputError if the publication can neither be
    finished nor undone.
    """
    claim = _claim_of(folder)
    if claim is None:
        return True
    first = Path(os.path.normpath(folder / claim["journal"]))
    if first == folder:
        _finish_dead(folder)
        return True
    if not is_folder(first):  # moved away, or not mounted here: replaced files are kept
        return not any(folder.glob("old-*"))
    with lock_of_dead(first) as lock:
        if lock is not None:
            _finish_dead(first)
        return lock is not None


def _finish_dead(folder: Path) -> None:
    steps = read_journal(folder)
    if steps is None:
        return
    names = ", ".join(str(step.target) for step in steps)
    try:
        finish(folder, steps)
    except OutputError:
        if is_there(folder / JOURNAL):
            raise
        note(f"a run died while it published {names}; all of it is as it was before")
    else:
        note(f"a run died while it published {names}; that is finished now")


def _refuse_copied(folder: Path) -> None:
    """Raise OutputError for a journal that no run has written in this folder, which may have been copied."""
    if not was_made_here(folder) and os.path.lexists(folder / JOURNAL):
        raise OutputError(
            f"{folder}: this folder was copied while a run was publishing, or was made to look so: what its"
            " journal asks for is not done",
            hint=f"{folder} holds what a run replaced and what it wrote: move it away",
        )


def _refuse_claimed(folder: Path, names: set[str]) -> None:
    claim = _claim_of(folder) or {}
    shared_names = sorted(names & set(claim.get("names", ())))
    if shared_names:
        raise OutputError(
            f"{folder.parent / shared_names[0]} is being written by another run (process {claim['process']})",
            hint="wait until it has ended, or choose another place with -o",
        )


def _claim_of(folder: Path) -> dict[str, Any] | None:
    if not was_made_here(folder):
        return None
    try:
        claim = json.loads((folder / _CLAIM).read_bytes())
    except (OSError, ValueError):  # of a run that died while it wrote the claim
        return None
    match claim:
        case {"process": int(), "names": [*_], "journal": str()}:
            return dict(claim)
    return None


def _place_of(target: Path) -> Path:
    return Path(real_place(target))


def _remove_empty(folders: list[Path]) -> None:
    """Remove the folders that a run made, if they are empty."""
    with suppress(OSError):
        for folder in reversed(folders):
            folder.rmdir()
