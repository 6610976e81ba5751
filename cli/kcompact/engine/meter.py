"""Progress in bytes of the dump: each task writes its sum into a file beside its part; the bar adds them up.

Tasks run in processes of their own, and share the run's folder with the driver.
"""

import os
import struct
import time
from pathlib import Path

READ, WRITTEN = "read", "written"
_EVERY_SECONDS = 0.1
_COUNT = struct.Struct("<q")


class Meter:
    """The bytes of the dump that one task has dealt with. ``kind``: READ or WRITTEN."""

    def __init__(self, folder: Path, kind: str, task: str, total_bytes: int) -> None:
        self._path = folder / f"meter-{kind}-{task}"
        self._total_bytes = total_bytes
        self._bytes = 0
        self._next = 0.0

    def add(self, record_bytes: int) -> None:
        """Count ``record_bytes`` as done, up to the task's total: unpacked records may be more than that."""
        self._bytes = min(self._bytes + record_bytes, self._total_bytes)
        now = time.monotonic()
        if now >= self._next:
            self._next = now + _EVERY_SECONDS
            self._write()

    def finish(self) -> None:
        """Count all bytes of the task as done, whatever was left out."""
        self._bytes = self._total_bytes
        self._write()

    def _write(self) -> None:
        """Write the sum for the progress bar. Errors are ignored, since no result depends on it."""
        try:
            file = os.open(self._path, os.O_WRONLY | os.O_CREAT, 0o600)
            try:
                os.pwrite(file, _COUNT.pack(self._bytes), 0)
            finally:
                os.close(file)
        except OSError:
            return


def done_bytes(folder: Path, kind: str) -> int:
    """The sum of the bytes that tasks have noted in a folder so far, of reading or of writing (``kind``)."""
    return sum(map(_read, folder.glob(f"meter-{kind}-*")))


def _read(path: Path) -> int:
    try:
        content = path.read_bytes()
    except OSError:
        return 0
    return int(_COUNT.unpack(content)[0]) if len(content) == _COUNT.size else 0
