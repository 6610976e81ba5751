"""The lock of a prefix on a store: an object that one run creates, renews while it lives, and deletes.

A run that finds a lock watches it: if it is renewed, it belongs to a living run; if it is not renewed for
TAKEN_OVER_SECONDS, it is taken over. Only the seconds of this machine are counted, and no clocks are
compared. A run that is held up for longer loses its lock, but may go on. So the guarded object is itself
written on condition that nobody else has changed it; the lock only spares a second run its work.
"""

import json
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime

from kcompact.console import note
from kcompact.errors import InputError, KcompactError
from kcompact.storage.conditional_objects import ConditionalObjects, ConflictError, Version

LOCK = "lock"
RENEWED_SECONDS = 5.0
TAKEN_OVER_SECONDS = 30.0
_LOOK_SECONDS = 1.0
_NEVER = Version('"0"', "1")  # of no object


@dataclass(frozen=True)
class _Holder:
    """The holder of a lock. ``renewals`` makes its texts differ; the other fields are shown to the user."""

    run: str
    host: str
    process: int
    since: str
    renewals: int = 0

    def __str__(self) -> str:
        return f"process {self.process} on {self.host}, since {self.since}"

    def text(self) -> bytes:
        return json.dumps(asdict(self)).encode()


@contextmanager
def leased(objects: ConditionalObjects) -> Iterator[None]:
    """Hold the lock of a prefix in this context. Raises InputError if another run has it, and OutputError."""
    started = datetime.now(UTC).isoformat(timespec="seconds")
    holder = _Holder(os.urandom(8).hex(), socket.gethostname(), os.getpid(), started)
    version = _take(objects, holder)
    ended = threading.Event()
    renewing = threading.Thread(target=_renew, args=(objects, holder, version, ended), daemon=True)
    try:
        _check_conditions(objects, holder)
        renewing.start()
        yield
    finally:
        ended.set()
        if renewing.is_alive():
            renewing.join()
        with suppress(KcompactError):  # a lock that stays is taken over some time
            lock = objects.read(LOCK)
            if lock is not None and _holder(lock[0]).run == holder.run:
                objects.delete(LOCK)


def _take(objects: ConditionalObjects, holder: _Holder) -> Version:
    watched: Version | None = None
    deadline = 0.0
    while True:
        lock = objects.read(LOCK)
        expected = lock[1] if lock else None
        if lock is not None and watched is None:
            watched, deadline = expected, time.monotonic() + TAKEN_OVER_SECONDS
            note(
                f"{objects.prefix}: locked by another run ({_holder(lock[0])}); if that has died, this one"
                f" goes on in {TAKEN_OVER_SECONDS:.0f} s"
            )
        elif lock is not None and expected != watched:
            raise InputError(
                f"{objects.prefix}: in use by another run ({_holder(lock[0])}), which renews its lock",
                hint="wait until it has ended; the lock of a run that has died is taken over",
            )
        if lock is None or time.monotonic() >= deadline:
            with suppress(ConflictError):  # another run was quicker
                return objects.write(LOCK, holder.text(), expected)
            continue
        time.sleep(_LOOK_SECONDS)


def _renew(objects: ConditionalObjects, holder: _Holder, version: Version, ended: threading.Event) -> None:
    renewals = 0
    while not ended.wait(RENEWED_SECONDS):
        renewals += 1
        with suppress(KcompactError):  # the store cannot be reached for a while
            try:
                version = objects.write(LOCK, replace(holder, renewals=renewals).text(), version)
            except ConflictError:  # taken over: the guarded object is safe without the lock
                return


def _check_conditions(objects: ConditionalObjects, holder: _Holder) -> None:
    """Raise InputError for a store that ignores the conditions of writes, as some with an S3 interface do."""
    for number, expected in enumerate((None, _NEVER), start=1):
        with suppress(ConflictError):
            objects.write(LOCK, replace(holder, renewals=-number).text(), expected)
            raise InputError(
                f"{objects.prefix}: this store ignores conditions of writes (If-None-Match, If-Match),"
                " which keep two runs from changing one state at once",
                hint="keep the state on a store that heeds them, or with the dump on a disk",
            )


def _holder(content: bytes) -> _Holder:
    try:
        return _Holder(**json.loads(content))
    except (ValueError, TypeError):
        return _Holder("", "an unknown host", 0, "an unknown time")
