"""The journal of a publication: steps of which all are done or none, if need be by the next run.

It is written as a whole and flushed when everything is prepared, before the first rename, and removed after
the last one. A run that finds a journal goes on where the run that wrote it died: ``finish`` does the
remaining steps or, if that is no longer possible, undoes the others.
"""

import json
import os
import re
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from kcompact.errors import OutputError
from kcompact.storage import disk
from kcompact.storage.lookup import is_folder
from kcompact.storage.scratch import PREFIX, was_made_here

JOURNAL = "journal"
SCHEMA_VERSION = 1
_PREPARED, _REPLACED = re.compile(r"new-[0-9]{1,9}"), re.compile(r"old-[0-9]{1,9}")


@dataclass(frozen=True)
class Step:
    """``prepared`` becomes ``target``; the old target is kept as ``replaced`` until all steps are done.

    Marks tell files apart (``mark_of``): that of the prepared file, and of the old target (None: there is
    none).
    """

    prepared: Path
    target: Path
    replaced: Path
    prepared_mark: str
    target_mark: str | None


def mark_of(path: Path) -> str | None:
    """Facts that tell a file from any other, and from itself once it is changed; None if it is not there."""
    try:
        status = path.lstat()
    except FileNotFoundError:
        return None
    if is_folder(path) and not path.is_symlink():
        return f"folder {status.st_ino}"
    return f"file {status.st_ino} {status.st_size} {status.st_mtime_ns}"


def carry_out(folder: Path, steps: list[Step]) -> None:
    """Do all steps or none, with a journal in ``folder``. Raises OSError, and OutputError as ``finish``."""
    try:
        _write_journal(folder, steps)
    except BaseException:
        with suppress(OSError):
            disk.unlink(folder / JOURNAL)
        raise
    finish(folder, steps)


def _write_journal(folder: Path, steps: list[Step]) -> None:
    """Write the journal: from then on the steps count as done. Paths are relative, as mounts may change."""
    rows = [
        {name: os.path.relpath(value, folder) if isinstance(value, Path) else value for name, value in row}
        for row in (asdict(step).items() for step in steps)
    ]
    text = json.dumps({"schema_version": SCHEMA_VERSION, "steps": rows}, indent=1)
    unfinished = folder / f"{JOURNAL}.new"
    disk.write(unfinished, text.encode())
    disk.flush(unfinished)
    disk.rename(unfinished, folder / JOURNAL)
    disk.flush(folder)


def read_journal(folder: Path) -> list[Step] | None:
    """The steps of the journal in a private folder; None if there is none. Raises OutputError."""
    try:
        journal = json.loads((folder / JOURNAL).read_bytes())
        return [_step(folder, row) for row in {SCHEMA_VERSION: journal}[journal["schema_version"]]["steps"]]
    except FileNotFoundError:
        return None
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise OutputError(
            f"{folder / JOURNAL}: what a run was publishing when it died cannot be read: {error}",
            hint=f"{folder} holds what it replaced and what it wrote: move it away",
        ) from error


def _step(folder: Path, row: dict[str, str]) -> Step:
    prepared, target, replaced = (
        Path(os.path.normpath(folder / row[name])) for name in ("prepared", "target", "replaced")
    )
    private = prepared.parent  # as ``Publication.prepare`` names them
    if not (
        _PREPARED.fullmatch(prepared.name)
        and _REPLACED.fullmatch(replaced.name)
        and replaced.parent == private
        and target.parent == private.parent
        and private.name.startswith(PREFIX)
        and not target.name.startswith(PREFIX)
        and (was_made_here(private) or not os.path.lexists(private))
    ):
        raise ValueError("no run of this program has written it")
    return Step(prepared, target, replaced, row["prepared_mark"], row["target_mark"])


def finish(folder: Path, steps: list[Step]) -> None:
    """Do the remaining steps, then remove the journal. On any failure, all steps are undone first.

    Raises OutputError. The journal stays only if undoing fails, too.
    """
    target = steps[0].target if steps else folder
    try:
        for step in steps:
            target = step.target
            _do(step)
        for parent in {step.target.parent for step in steps}:
            disk.flush(parent)
    except BaseException as error:
        _undo_all(folder, steps)
        if isinstance(error, OSError):
            raise _not_published(target, error) from error
        raise
    with suppress(OSError):  # all steps are done, which a run that finds the journal would see
        for step in steps:
            disk.remove_tree(step.replaced)
        disk.unlink(folder / JOURNAL)


def folder_gone(target: Path) -> OutputError:
    """The error to raise if the folder of a target is not the one that it was when the run began."""
    return OutputError(
        f"{target}: its folder is gone; it was removed or moved while this ran",
        hint="nothing was changed; run again",
    )


def _not_published(target: Path, error: OSError) -> OutputError:
    if not is_folder(target.parent):
        return folder_gone(target)
    if isinstance(error, FileExistsError):
        return OutputError(f"{target} was created by another program meanwhile", hint="move it away first")
    return disk.write_error(target, error)


def _do(step: Step) -> None:
    """Replace the target. This can go on from every state in which a crash may have left the step."""
    if mark_of(step.prepared) is None:
        return
    current_mark = mark_of(step.target)
    if current_mark == step.prepared_mark:  # linked, and not yet unlinked
        disk.unlink(step.prepared)
        return
    if current_mark is not None and current_mark != step.target_mark:
        raise FileExistsError
    if current_mark is not None and is_folder(step.target):
        disk.rename(step.target, step.replaced)
    elif current_mark is not None and mark_of(step.replaced) is None:
        disk.link_or_rename(step.target, step.replaced)  # so that the target stays readable until the rename
    if step.target_mark is None and not is_folder(step.prepared):
        disk.link_or_rename(step.prepared, step.target)  # fails if anything has appeared there
        with suppress(FileNotFoundError):
            disk.unlink(step.prepared)
    else:
        disk.rename(step.prepared, step.target)


def _undo_all(folder: Path, steps: list[Step]) -> None:
    with suppress(OSError):  # the journal stays, and the next run goes on
        for step in reversed(steps):
            _undo(step)
        disk.unlink(folder / JOURNAL)


def _undo(step: Step) -> None:
    if mark_of(step.target) == step.prepared_mark:
        if mark_of(step.prepared) is None:
            disk.rename(step.target, step.prepared)
        else:
            disk.unlink(step.target)
    if mark_of(step.replaced) is None:
        return
    current_mark = mark_of(step.target)
    if current_mark is None:
        disk.rename(step.replaced, step.target)
    elif current_mark == step.target_mark:  # linked, and not yet replaced
        disk.unlink(step.replaced)
    else:
        raise FileExistsError  # another program's new file: both files stay
