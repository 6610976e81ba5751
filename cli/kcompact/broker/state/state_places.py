"""Where a state is stored: in a folder of this machine, or below a prefix of a store."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kcompact.broker.state.cleaner_state import CleanerState
from kcompact.broker.state.state_folder import StateFolder, open_state_folder
from kcompact.broker.state.stored_state import StoredState, open_stored_state
from kcompact.errors import InputError
from kcompact.storage.disk import may_be_written
from kcompact.storage.object_stores import is_address

StatePlace = StateFolder | StoredState
"""A state in use by this run."""


@contextmanager
def open_state(place: str, *, writes: bool, must_exist: bool = False) -> Iterator[StatePlace]:
    """A state in use by this run. Raises InputError, OutputError.

    A run that ``writes`` keeps others out; in a folder, whose files change one by one, so does any.
    """
    if is_address(place):
        with open_stored_state(place, writes=writes) as stored:
            if must_exist and not stored.states:
                raise _missing(place)
            yield stored
        return
    if must_exist and not Path(place).is_dir():
        raise _missing(place)
    if not writes and Path(place).is_dir() and not may_be_written(place):  # so no lock can be made in it
        yield StateFolder(Path(place))
        return
    with open_state_folder(Path(place)) as folder:
        yield folder


def read_states(place: str) -> tuple[CleanerState, ...]:
    """The content of a state, without keeping anybody out. Raises InputError."""
    if is_address(place):
        with open_state(place, writes=False, must_exist=True) as stored:
            return stored.states
    if not Path(place).is_dir():
        raise _missing(place)
    return StateFolder(Path(place)).states


def _missing(place: str) -> InputError:
    return InputError(f"{place}: no such state folder", hint="kcompact compact --state makes one")
