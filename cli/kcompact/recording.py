"""``python -m kcompact.recording CACHE``: make Java's ahead-of-time cache (``engine.startup.aot_cache``).

Java records one training run, in the background; only one process does so at a time. Nobody sees its output,
so it prints nothing, and a failure leaves no cache.
"""

import fcntl
import os
import sys
import tempfile
from pathlib import Path

from kcompact.app import main
from kcompact.engine.session import SessionOptions, open_recorded_session
from kcompact.engine.startup.aot_cache import AotCache

_RECORDS = 2_000
_KEYS = 500
_OPENED_AT_ONCE = os.O_RDWR | os.O_CREAT | os.O_NONBLOCK | os.O_NOFOLLOW
_FEWEST_BYTES = 1 << 20  # a real cache has more than a hundred times that


def record(path: Path) -> None:
    """Make the cache at ``path`` from what Java does in training; nothing if another process makes it."""
    os.nice(10)
    with os.fdopen(os.open(path.parent / "recording.lock", _OPENED_AT_ONCE, 0o600), "wb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        cache = AotCache(path)
        if not cache.is_usable():
            path.with_suffix(".tried").touch()
            _record(cache)
            cache.remove_unused()


def _record(cache: AotCache) -> None:
    unfinished = cache.path.with_suffix(f".{os.getpid()}.tmp")
    try:
        with open_recorded_session(SessionOptions(), unfinished):
            _train()
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


def _train() -> None:
    """Run each command once on a small dump, so that Java meets the classes and methods they need."""
    with tempfile.TemporaryDirectory(prefix="kcompact-recording-") as name:
        before, after, lossy = (Path(name, f"{part}.jsonl") for part in ("training", "after", "lossy"))
        _write_dump(before)
        _run("compact", before, "-o", after)
        _run("compact", before, "-o", after, "--overwrite")
        lossy.write_bytes(b"".join(after.read_bytes().splitlines(keepends=True)[1:]))
        _run("verify", before, lossy)  # a loss, so that the rules are asked
        _run("inspect", before)


def _run(*arguments: object) -> None:
    main([str(argument) for argument in arguments])


def _write_dump(path: Path) -> None:
    """Keys over and over, some tombstones: a dump as ``kcat -J`` writes it."""
    with path.open("w") as out:
        for offset in range(_RECORDS):
            payload = "null" if offset % 7 == 0 else f'"{offset:0180}"'
            out.write(
                f'{{"topic":"training","partition":0,"offset":{offset},"tstype":"create",'
                f'"ts":{1_700_000_000_000 + offset},"key":"{offset % _KEYS}","payload":{payload}}}\n'
            )


if __name__ == "__main__":
    record(Path(sys.argv[1]))
