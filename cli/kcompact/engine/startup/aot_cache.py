"""Java's ahead-of-time cache of Spark's classes, already loaded and linked, which halves the time to start.

A cache is made once per user and per set of versions and flags, by a process in the background (see
``recording.py``), and kept in the user's cache folder. A cache is code: the folder is used only if it belongs
to the user, and nobody else can write in it. A missing, stale or damaged cache only means a slower start.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from kcompact.engine.startup.python_path import safe_environment
from kcompact.private_folders import (
    make_private,
    may_keep_caches,
    nearest_existing,
    opened_private,
    user_cache_folder,
)

_CHECKED_SECONDS = 24 * 3600  # how long a checksum is believed while size, inode and times stay as they were
_TRY_AGAIN_SECONDS = 24 * 3600  # after a recording that came to nothing
_UNUSED_SECONDS = 30 * 24 * 3600  # caches of other versions are removed after that long without a use
_FREE_BYTES_TO_RECORD = 2 << 30
_LONGEST_SEAL = 4096
_SUFFIX = ".aot"


@dataclass(frozen=True)
class AotCache:
    """One cache: ``path``, and beside it ``.json`` (its checksum) and ``.tried`` (the last recording)."""

    path: Path

    def is_usable(self) -> bool:
        """Whether the file is there, belongs to the user, and is byte for byte as it was recorded.

        Java maps the file without checking its content: one flipped bit can kill Java.
        """
        seal_path = self.path.with_suffix(".json")
        try:
            with opened_private(seal_path) as file:
                seal = json.loads(file.read(_LONGEST_SEAL))
            identity = self._identity()
            fresh = time.time() - seal["checked_at"] < _CHECKED_SECONDS
            if fresh and seal["identity"] == identity:
                os.utime(seal_path)  # its time tells when the cache was last used
                return True
            if seal["crc32"] != self._checksum():
                self.discard()
                return False
            self.seal(seal["crc32"])
        except (OSError, ValueError, KeyError, TypeError, RecursionError):  # the last: a deeply nested seal
            return False
        return True

    def seal(self, crc32: int | None = None) -> None:
        """Store size, times and checksum of the cache beside it; the checksum is computed unless given."""
        crc32 = self._checksum() if crc32 is None else crc32
        seal = {"crc32": crc32, "identity": self._identity(), "checked_at": time.time()}
        descriptor, unfinished = tempfile.mkstemp(suffix=".tmp", dir=self.path.parent)
        with os.fdopen(descriptor, "w") as file:
            json.dump(seal, file)
        Path(unfinished).replace(self.path.with_suffix(".json"))

    def _identity(self) -> list[int]:
        with opened_private(self.path) as file:
            status = os.fstat(file.fileno())
        return [status.st_size, status.st_ino, status.st_mtime_ns, status.st_ctime_ns]

    def _checksum(self) -> int:
        crc32 = 0
        with opened_private(self.path) as file:
            while block := file.read(4 << 20):
                crc32 = zlib.crc32(block, crc32)
        return crc32

    def discard(self) -> None:
        """Remove the cache and its checksum."""
        for path in (self.path.with_suffix(".json"), self.path):
            with suppress(OSError):
                path.unlink(missing_ok=True)

    def record_in_background(self) -> None:
        """Start a process of its own that makes this cache, if allowed, with room, and not tried lately."""
        with suppress(OSError):  # a run needs no cache
            if may_keep_caches() and self._is_due():
                make_private(self.path.parent)
                subprocess.Popen(
                    [sys.executable, "-m", "kcompact.recording", str(self.path)],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,
                    cwd="/",
                    env=safe_environment(os.environ),
                )

    def _is_due(self) -> bool:
        if shutil.disk_usage(nearest_existing(self.path)).free < _FREE_BYTES_TO_RECORD:
            return False
        tried = self.path.with_suffix(".tried")
        return not tried.exists() or time.time() - tried.stat().st_mtime > _TRY_AGAIN_SECONDS

    def remove_unused(self) -> None:
        """Remove caches of other versions that no run has used for a month."""
        for seal in self.path.parent.glob("*.json"):
            with suppress(OSError):
                if time.time() - seal.stat().st_mtime > _UNUSED_SECONDS:
                    AotCache(seal.with_suffix(_SUFFIX)).discard()


def aot_cache(java: Path, jars: Sequence[Path], flags: tuple[str, ...]) -> AotCache | None:
    """The cache for one Java, its class path and one set of flags; None if there is no safe place for it."""
    folder = user_cache_folder()
    if folder is None:
        return None
    home = java.parents[1]
    parts = [home / "release", home / "lib" / "modules", *jars]
    try:
        stats = [(str(part), part.stat().st_size, part.stat().st_mtime_ns) for part in parts]
    except OSError:
        return None
    key = hashlib.sha256(json.dumps([sys.platform, stats, flags]).encode()).hexdigest()[:16]
    return AotCache(folder / f"spark-{key}{_SUFFIX}")
