"""A state on an object store: one object, ``state.json``, replaced on condition that it has not changed.

A dump and its state cannot be replaced at one moment there. So the object holds two states while a dump is
published: the one before, and the one that belongs to the new dump; afterwards only the later one. If
a run dies between the two writes, the next one sees from its inputs which dump is there, by content, and goes
on with that one's state (``state_of_dump.py``). No dump is published before the object's first write has come
through: a run that another has overtaken leaves dump and state as they were.
"""

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from kcompact.broker.state.cleaner_state import STATE_NAMES, CleanerState, state_of, texts_of
from kcompact.broker.state.state_output import START_ANEW
from kcompact.errors import InputError, KcompactError, OutputError
from kcompact.storage.conditional_objects import ConditionalObjects, ConflictError
from kcompact.storage.lease import leased
from kcompact.storage.publication import Publication

STATE_NAME = "state.json"
_SCHEMA_VERSION = 1


class StoredState:
    """A state on a store, read when the run began; as a ``StateFolder`` is."""

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
        """Write both states. Raises OutputError, also where another run has written since this one began."""
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
        """Write the later one alone. Raises OutputError; the dump is published then."""
        try:
            self._write([self._after])
        except ConflictError as error:
            raise OutputError(
                f"{self.place}: another run has taken over this state; the dump that this run wrote is whole,"
                " and the state does not belong to it",
                hint=START_ANEW,
            ) from error
        except KcompactError as error:
            raise OutputError(
                f"{error.message}; the new dump is whole, and a run that is given it goes on with its state",
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
        """The state that somebody has copied there from a folder or a broker: files as of a state folder."""
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
