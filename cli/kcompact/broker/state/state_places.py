"""The place of a state: a folder on this machine, or a prefix on a store."""

import fcntl
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

from kcompact.broker.state.cleaner_state import STATE_NAMES, CleanerState, state_of, texts_of
from kcompact.broker.state.state_output import START_ANEW
from kcompact.broker.text_lines import read_text
from kcompact.errors import InputError, KcompactError, OutputError
from kcompact.storage import disk
from kcompact.storage.conditional_objects import ConditionalObjects, ConflictError
from kcompact.storage.disk import may_be_written
from kcompact.storage.lease import leased
from kcompact.storage.lookup import is_folder, is_there
from kcompact.storage.object_stores import is_address
from kcompact.storage.publication import Publication, settle

LOCK_NAME = "lock"
STATE_NAME = "state.json"
_SCHEMA_VERSION = 1


class StateFolder:
    """A state on a disk, read when the run began. Its texts are files, published together with the dump.

    ``place`` is the user's name for it, ``files`` are the files that a publication replaces. ``states`` is
    the content: one state here; on a store also none, or two, the later one being that of a run that died
    while it published its dump. The dump decides which of the two counts (``state_of_dump.py``).
    """

    def __init__(self, path: Path) -> None:
        settle(path)
        self.place = str(path)
        self.files: Sequence[Path] = [path / name for name in STATE_NAMES]
        try:
            with os.scandir(path) as entries:
                are_files = {entry.name: entry.is_file() for entry in entries}
        except OSError as error:
            raise InputError(f"{path}: cannot be used as a state folder: {error.strerror}") from error
        files = [file for file in self.files if file.name in are_files]
        odd = [file for file in files if not are_files[file.name]]
        if odd:  # reading a pipe, for example, would block
            raise InputError(f"{odd[0]}: not a file, and so not written by kcompact", hint=START_ANEW)
        texts = {file.name: read_text(str(file)) for file in files}
        self.states: tuple[CleanerState, ...] = (state_of(texts, self.place),)

    def prepare(self, before: CleanerState, after: CleanerState, publication: Publication) -> None:
        """Right before the dump is published: write the state ``after``, to be published with the dump.

        ``before`` counts until then. Raises OutputError.
        """
        del before
        texts = texts_of(after)
        for path in self.files:
            with disk.explained(path):
                disk.write(publication.prepare(path), texts[path.name].encode())

    def finish(self) -> None:
        """Right after the dump is published: nothing is left to do here."""


@contextmanager
def open_state_folder(path: Path) -> Iterator[StateFolder]:
    """The state folder, made if necessary, and locked for this run. Raises InputError, OutputError.

    A folder that the run made is removed again if it is empty at the end.
    """
    existed = is_there(path)
    try:
        path.mkdir(parents=True, exist_ok=True)
        lock = _open_lock(path)
    except OSError as error:
        _remove_empty(path, existed)
        raise OutputError(
            f"{path}: cannot be used as a state folder: {error.strerror}",
            hint="name a folder with --state that may be written, on a disk that has some space",
        ) from error
    try:
        yield StateFolder(path)
    finally:
        with suppress(OSError):
            (path / LOCK_NAME).unlink()  # while it is held: see _open_lock
        os.close(lock)
        _remove_empty(path, existed)


def _remove_empty(path: Path, existed: bool) -> None:
    """Remove a folder that the run made, if it is empty."""
    if not existed:
        with suppress(OSError):
            path.rmdir()


def _open_lock(path: Path) -> int:
    """Take the folder's lock, and return its descriptor. A run removes its lock file when it ends.

    So a lock on a file that was removed meanwhile does not count, and is taken anew.
    """
    while True:
        lock = os.open(path / LOCK_NAME, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
        try:
            _lock_or_explain(path, lock)
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(lock), (path / LOCK_NAME).lstat()):
                    _name_holder(path, lock)
                    return lock
        except BaseException:
            os.close(lock)
            raise
        os.close(lock)


def _lock_or_explain(path: Path, lock: int) -> None:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        holder = os.pread(lock, 32, 0).decode("ascii", "replace").strip()
        raise InputError(
            f"{path}: in use by another run" + (f" (process {holder})" if holder else ""),
            hint="wait until it has ended; the lock goes with the process, never remove it by hand",
        ) from error


def _name_holder(path: Path, lock: int) -> None:
    """Write the holder into the lock file, whose lock is held. If the disk is full, the file is removed."""
    try:
        os.ftruncate(lock, 0)
        os.pwrite(lock, f"{os.getpid()}\n".encode("ascii"), 0)
    except OSError:
        (path / LOCK_NAME).unlink(missing_ok=True)
        raise


class StoredState:
    """A state on a store: one object, replaced on condition that it has not changed since the run began.

    A dump and its state cannot be replaced in one step on a store. So the object holds two states while a
    dump is published: the one before, and the one that belongs to the new dump. Afterwards it holds only the
    later one. If a run dies between the two writes, the next run tells by the content of its inputs which
    dump is there, and goes on with the state of this dump (``state_of_dump.py``). No dump is published before
    the first write of the object has succeeded: a run that another run has overtaken leaves dump and state as
    they were.
    """

    files: Sequence[Path] = ()

    def __init__(self, objects: ConditionalObjects) -> None:
        self.place = objects.prefix
        self._objects = objects
        state_object = objects.read(STATE_NAME)
        self._version = state_object[1] if state_object else None
        self.states = self._states(state_object[0]) if state_object else self._copied_state()
        self._after = CleanerState()
        self._run = os.urandom(8).hex()

    def prepare(self, before: CleanerState, after: CleanerState, publication: Publication) -> None:
        """Write both states. Raises OutputError, also if another run has written since this one began."""
        del publication
        self._after = after
        try:
            self._write([before, after])
        except ConflictError as error:
            raise OutputError(
                f"{self.place}: another run has changed this state since this one began; nothing was written",
                hint="run again",
            ) from error

    def finish(self) -> None:
        """Write the later state alone. Raises OutputError; the dump is published in any case."""
        try:
            self._write([self._after])
        except ConflictError as error:
            raise OutputError(
                f"{self.place}: another run has taken over this state; the dump that this run wrote is"
                " complete, but the state does not belong to it",
                hint=START_ANEW,
            ) from error
        except KcompactError as error:
            raise OutputError(
                f"{error.message}; the new dump is complete, and a run that reads it goes on with its state",
                hint=error.hint,
            ) from error

    def _write(self, states: Sequence[CleanerState]) -> None:
        texts = [texts_of(state) for state in states]
        body = {"schema_version": _SCHEMA_VERSION, "run": self._run, "states": texts}
        self._version = self._objects.write(STATE_NAME, json.dumps(body, indent=1).encode(), self._version)

    def _states(self, content: bytes) -> tuple[CleanerState, ...]:
        place = self.place + STATE_NAME
        try:
            body = json.loads(content)
            entries: Any = {_SCHEMA_VERSION: body}[body["schema_version"]]["states"]
            texts = [{name: _text(entry[name]) for name in STATE_NAMES if name in entry} for entry in entries]
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise InputError(f"{place}: not written by kcompact", hint=START_ANEW) from error
        return tuple(state_of(by_name, place) for by_name in texts)

    def _copied_state(self) -> tuple[CleanerState, ...]:
        """A state that somebody has copied there from a folder or a broker: the files of a state folder."""
        files = {name: self._objects.read(name) for name in STATE_NAMES}
        try:
            texts = {name: file[0].decode() for name, file in files.items() if file}
        except UnicodeDecodeError as error:
            raise InputError(f"{self.place}: a file of this state is not UTF-8 text") from error
        return (state_of(texts, self.place),) if texts else ()


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


@contextmanager
def open_stored_state(prefix: str, *, writes: bool) -> Iterator[StoredState]:
    """The state below a prefix, locked for this run if it ``writes``. Raises InputError, OutputError."""
    objects = ConditionalObjects(prefix)
    with leased(objects) if writes else nullcontext():
        yield StoredState(objects)


StatePlace = StateFolder | StoredState
"""A state in use by this run."""


@contextmanager
def open_state(place: str, *, writes: bool, must_exist: bool = False) -> Iterator[StatePlace]:
    """A state in use by this run. Raises InputError, OutputError.

    A run that ``writes`` keeps other runs out. In a folder, whose files change one by one, a reading run does
    so, too.
    """
    if is_address(place):
        with open_stored_state(place, writes=writes) as stored:
            if must_exist and not stored.states:
                raise _missing(place)
            yield stored
        return
    if must_exist and not is_folder(place):
        raise _missing(place)
    if not writes and is_folder(place) and not may_be_written(place):  # no lock can be made in it
        yield StateFolder(Path(place))
        return
    with open_state_folder(Path(place)) as folder:
        yield folder


def read_states(place: str) -> tuple[CleanerState, ...]:
    """The content of a state, without keeping other runs out. Raises InputError."""
    if is_address(place):
        with open_state(place, writes=False, must_exist=True) as stored:
            return stored.states
    if not is_folder(place):
        raise _missing(place)
    return StateFolder(Path(place)).states


def _missing(place: str) -> InputError:
    return InputError(f"{place}: no such state folder", hint="kcompact compact --state makes one")
