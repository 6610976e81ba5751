"""Reads objects of a store: by ranges, with a request for each, or from copies on this machine's disk."""

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kcompact.errors import InputError, OutputError
from kcompact.storage.file_systems import located
from kcompact.storage.store_errors import explained

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem

_CHUNK_BYTES = 8 << 20


@dataclass(frozen=True)
class ObjectStamp:
    """Facts that change if an object is replaced. ``version`` is its ETag if the store has one."""

    size: int
    version: str


class StoredReader(io.RawIOBase):
    """An object, open for reading. A range that ``bring`` has not copied is requested from the store.

    Errors name the address.
    """

    def __init__(self, address: str, source: Any, stamp: ObjectStamp) -> None:
        super().__init__()
        self.stamp = stamp
        self._address, self._source, self._position = address, source, 0
        self._brought: list[tuple[Path, int, int]] = []

    def readable(self) -> bool:
        """True."""
        return True

    def seekable(self) -> bool:
        """True."""
        return True

    def tell(self) -> int:
        """The position of the byte that is read next."""
        return self._position

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Set the position of the byte that is read next, and return it."""
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self.stamp.size}[whence]
        self._position = max(0, base + offset)
        return self._position

    def readinto(self, buffer: Any, /) -> int:
        """Fill a buffer as far as the object reaches; return how many bytes were read. Raises InputError."""
        view = memoryview(buffer)
        length = min(len(view), max(0, self.stamp.size - self._position))
        if not length:
            return 0
        data = self._read_range(self._position, self._position + length)
        view[: len(data)] = data
        self._position += len(data)
        return len(data)

    def close(self) -> None:
        """Close the object's source."""
        if not self.closed:
            super().close()
            self._source.close()

    def bring(self, target: Path, *ranges: tuple[int, int]) -> None:
        """Copy ranges of bytes to their places in the file ``target``, which gets the length of the object.

        The rest of the file are holes. If the file is there already, the ranges are added to it.
        """
        with _room_for(target), target.open("r+b" if target.exists() else "wb") as out:
            out.truncate(self.stamp.size)
            for start, end in ranges:
                out.seek(start)
                for chunk in self._chunks(start, end):
                    out.write(chunk)
        self._brought += [(target, *brought) for brought in ranges]

    def _read_range(self, start: int, end: int) -> bytes:
        """The bytes of a range, from the disk if they were copied, else from the store."""
        for target, first, behind in self._brought:
            if first <= start and end <= behind:
                with target.open("rb") as source:
                    source.seek(start)
                    return source.read(end - start)
        with explained(self._address):
            return bytes(self._source.read_at(end - start, start))

    def _chunks(self, position: int, end: int) -> Iterator[bytes]:
        self.seek(position)
        while position < end:
            chunk = self.read(min(_CHUNK_BYTES, end - position))
            if not chunk:
                raise InputError(
                    f"{self._address} changed while it was read", hint="run again when it is complete"
                )
            yield chunk
            position += len(chunk)


def open_object(address: str) -> StoredReader:
    """An object, open for reading, with its present stamp. Raises InputError."""
    system, path = located(address)
    with explained(address):
        source = system.open_input_file(path)
        return StoredReader(address, source, ObjectStamp(source.size(), _version(system, path, source)))


def fetch(address: str, target: Path, start: int = 0, end: int | None = None) -> ObjectStamp:
    """Copy an object, or bytes [start, end) of it, into a new file: see ``StoredReader.bring``."""
    with open_object(address) as source:
        size = source.stamp.size
        source.bring(target, (start, size if end is None else min(end, size)))
        return source.stamp


@contextmanager
def _room_for(target: Path) -> Iterator[None]:
    """In this context, raise errors of this machine's disk as OutputError. Those of a store pass through."""
    try:
        yield
    except OSError as error:
        raise OutputError(
            f"{target.parent}: an object cannot be copied to this disk: {error.strerror}",
            hint="give Spark's workers a folder with room for one object each (spark.local.dir, TMPDIR)",
        ) from error


def _version(system: "FileSystem", path: str, source: Any) -> str:
    metadata = source.metadata() or {}
    for name in ("ETag", "etag", "Last-Modified"):
        if name in metadata:
            return str(metadata[name].decode())
    return str(system.get_file_info(path).mtime_ns)
