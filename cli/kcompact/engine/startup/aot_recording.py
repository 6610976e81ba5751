"""Making Java's ahead-of-time cache: one run that is watched by Java, in the background, one at a time."""

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

from kcompact.engine.session import SessionOptions, open_recorded_session
from kcompact.engine.startup.aot_cache import AotCache

_OPENED_AT_ONCE = os.O_RDWR | os.O_CREAT | os.O_NONBLOCK | os.O_NOFOLLOW
_FEWEST_BYTES = 1 << 20  # a real cache has more than a hundred times that


def record(path: Path, train: Callable[[], None]) -> None:
    """Make the cache at ``path`` from what Java does while ``train`` runs; nothing if another one does."""
    os.nice(10)
    with os.fdopen(os.open(path.parent / "recording.lock", _OPENED_AT_ONCE, 0o600), "wb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        cache = AotCache(path)
        if not cache.is_usable():
            path.with_suffix(".tried").touch()
            _record(cache, train)
            cache.remove_unused()


def _record(cache: AotCache, train: Callable[[], None]) -> None:
    unfinished = cache.path.with_suffix(f".{os.getpid()}.tmp")
    try:
        with open_recorded_session(SessionOptions(), unfinished):
            train()
        if unfinished.stat().st_size < _FEWEST_BYTES:
            return
        unfinished.chmod(0o600)
        with unfinished.open("rb") as file:
            os.fsync(file.fileno())
        unfinished.replace(cache.path)
        cache.seal()
        cache.path.with_suffix(".tried").unlink()
    finally:
        for path in cache.path.parent.glob(f"{unfinished.name}*"):
            path.unlink(missing_ok=True)
