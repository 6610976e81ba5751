"""Compressed files around a dump: unpacked once into a spool folder, since two passes need the bytes."""

import bz2
import gzip
import io
import lzma
import os
import stat
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePath
from typing import Any, BinaryIO

import lz4.frame

from kcompact.dumps.files.copying import first_bytes
from kcompact.dumps.files.descriptors import is_descriptor, own_path
from kcompact.dumps.files.origin import place_in
from kcompact.dumps.files.sources import STDIN
from kcompact.errors import InputError, OutputError
from kcompact.storage import disk
from kcompact.storage.object_stores import is_address

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

_CHUNK_BYTES = 4 << 20
_PACKED_BYTES = 1 << 20
_MAGIC_BYTES = 6
_ANY_WINDOW = {  # zstd --long=31 asks for 2 GiB, beyond what its library takes by itself
    zstd.DecompressionParameter.window_log_max: zstd.DecompressionParameter.window_log_max.bounds()[1]
}
_SKIPPED = b"\x50\x2a\x4d\x18"  # begins a frame without data, as pzstd writes first; so do 15 others


class _Members(io.RawIOBase):
    """The unpacked bytes of all streams of an archive; zeros between and after them are padding.

    ``bz2.BZ2File`` and ``lzma.LZMAFile`` silently skip bytes after a complete stream that do not begin
    another one: a stream with a damaged beginning would be lost unnoticed, and all streams after it.

    Reading raises EOFError where a stream is cut off, and whatever the decompressor raises for damage.
    """

    def __init__(
        self, path: str, new_stream: Callable[[], bz2.BZ2Decompressor | lzma.LZMADecompressor]
    ) -> None:
        super().__init__()
        self._file = Path(path).open("rb")  # noqa: SIM115  closed with this
        self._new_stream = new_stream
        self._stream = new_stream()

    def readable(self) -> bool:
        """Whether it can be read: always."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a part of the buffer; 0 at the end."""
        while True:
            packed = b""
            if self._stream.eof:
                packed = self._following()
                if not packed:
                    return 0
                self._stream = self._new_stream()
            elif self._stream.needs_input and not (packed := self._file.read(_PACKED_BYTES)):
                raise EOFError("Compressed file ended before the end-of-stream marker was reached")
            plain = self._stream.decompress(packed, len(buffer))
            if plain:
                buffer[: len(plain)] = plain
                return len(plain)

    def _following(self) -> bytes:
        """The next bytes after a stream, without padding; empty at the end."""
        packed = self._stream.unused_data.lstrip(b"\0")
        while not packed and (chunk := self._file.read(_PACKED_BYTES)):
            packed = chunk.lstrip(b"\0")
        return packed

    def close(self) -> None:
        """Close the archive, too."""
        self._file.close()
        super().close()


@dataclass(frozen=True)
class Container:
    """One compressed format: how it begins, its usual suffixes, how to open it, what damage raises."""

    magic: bytes
    suffixes: tuple[str, ...]
    read: Callable[..., Any]
    write: Callable[..., Any]
    errors: tuple[type[Exception], ...]


CONTAINERS = {
    "gzip": Container(
        magic=b"\x1f\x8b",
        suffixes=(".gz",),
        read=gzip.GzipFile,
        # Without name and time the same records give the same bytes.
        write=lambda out: gzip.GzipFile(filename="", mode="wb", fileobj=out, mtime=0),
        errors=(EOFError, gzip.BadGzipFile, zlib.error),
    ),
    "bzip2": Container(
        magic=b"BZh",
        suffixes=(".bz2",),
        read=partial(_Members, new_stream=bz2.BZ2Decompressor),
        write=partial(bz2.BZ2File, mode="wb"),
        errors=(EOFError, ValueError),
    ),
    "zstd": Container(
        magic=b"\x28\xb5\x2f\xfd",
        suffixes=(".zst", ".zstd"),
        read=partial(zstd.ZstdFile, options=_ANY_WINDOW),
        write=partial(zstd.ZstdFile, mode="wb", options={zstd.CompressionParameter.checksum_flag: 1}),
        errors=(EOFError, zstd.ZstdError),
    ),
    "xz": Container(
        magic=b"\xfd7zXZ\0",
        suffixes=(".xz",),
        read=partial(_Members, new_stream=lzma.LZMADecompressor),
        write=partial(lzma.LZMAFile, mode="wb"),
        errors=(EOFError, lzma.LZMAError),
    ),
    "lz4": Container(
        magic=b"\x04\x22\x4d\x18",
        suffixes=(".lz4",),
        read=lz4.frame.LZ4FrameFile,
        write=partial(lz4.frame.LZ4FrameFile, mode="wb", content_checksum=True),
        errors=(EOFError, RuntimeError),
    ),
}
"""By name, as in ``DumpFile.container``."""

CONTAINER_SUFFIXES = {suffix: name for name, container in CONTAINERS.items() for suffix in container.suffixes}
"""The containers that suffixes announce."""


def unpack(path: str, spool: Path) -> tuple[str, str | None]:
    """Where the plain bytes of ``path`` are, and the container they came in (None: as they are).

    Standard input (``-``), pipes and removed files that are open are written to the spool folder first;
    objects of a store are there already (``origin.bring``). Raises InputError.
    """
    data_path = lasting_path(path, spool)
    name = _container_at(data_path)
    return (data_path, None) if name is None else (_unpacked(path, data_path, name, spool), name)


def _container_at(path: str) -> str | None:
    """The container of a file; frames without data are skipped to tell lz4 from zstd."""
    name = container_in(first_bytes(path, _MAGIC_BYTES))
    if name != "zstd":
        return name
    with Path(path).open("rb") as file:  # lz4 has frames without data that begin alike
        while _is_skipped(head := file.read(8)):
            file.seek(int.from_bytes(head[4:], "little"), os.SEEK_CUR)
    return container_in(head) or name


def _is_skipped(head: bytes) -> bool:
    """Whether a frame of zstd or lz4 begins that holds no data."""
    return head[1:4] == _SKIPPED[1:] and head[0] & 0xF0 == _SKIPPED[0]


def container_in(head: bytes) -> str | None:
    """The container of a file that begins with ``head``; None if it is not packed."""
    if _is_skipped(head):
        return "zstd"
    return next((name for name, container in CONTAINERS.items() if head.startswith(container.magic)), None)


@contextmanager
def open_plain(path: str) -> Iterator[BinaryIO]:
    """The plain bytes of a file of this machine, packed or not. Raises InputError, OSError.

    A pipe is read as it is: bytes read from it to find its container would be gone.
    """
    path = own_path(path)
    name = _container_at(path) if is_plain_path(path) else None
    if name is None:
        with Path(path).open("rb") as file:
            yield file
        return
    try:
        with CONTAINERS[name].read(path) as source:
            yield source
    except CONTAINERS[name].errors as error:
        raise _damaged(path, name, error) from error


def lasting_path(path: str, spool: Path) -> str:
    """Where the bytes of ``path`` can be read again and again. Raises InputError, OSError."""
    if is_address(path):
        return str(place_in(spool, path))
    return path if is_plain_path(path) else _spooled(path, spool)


def is_plain_path(path: str) -> bool:
    """Whether all processes can read the bytes of ``path`` where they are, and again. Raises OSError."""
    if is_address(path) or path == STDIN or is_descriptor(path):
        return False
    return stat.S_ISREG(os.stat(path).st_mode)  # noqa: PTH116  follows links, as reading does


def _spooled(path: str, spool: Path) -> str:
    if path == STDIN and sys.stdin is None:
        raise InputError("standard input is closed", hint="pipe a dump into it, or name a file")
    target = _fresh(spool)
    source = sys.stdin.buffer if path == STDIN else Path(path).open("rb")  # noqa: SIM115  closed below
    with source, target.open("wb") as out:
        _copy(path, source, out)
    return str(target)


def _unpacked(path: str, data_path: str, name: str, spool: Path) -> str:
    target = _fresh(spool)
    container = CONTAINERS[name]
    try:
        with container.read(data_path) as source, target.open("wb") as out:
            _copy(path, source, out)
    except container.errors as error:
        raise _damaged(path, name, error) from error
    except OSError as error:
        if error.errno is not None:  # the system's error, not the codec's
            raise
        raise _damaged(path, name, error) from error
    return str(target)


def _damaged(path: str, name: str, error: Exception) -> InputError:
    damage = "is cut off" if isinstance(error, EOFError) else "is damaged"
    return InputError(
        f"{path}: the {name} archive {damage} ({error})",
        hint="copy or export it again; what can still be unpacked is not the whole dump",
    )


def _fresh(spool: Path) -> Path:
    descriptor, path = tempfile.mkstemp(dir=spool, suffix=".data")
    os.close(descriptor)
    return Path(path)


def _copy(path: str, source: BinaryIO, out: BinaryIO) -> None:
    while chunk := source.read(_CHUNK_BYTES):
        try:
            out.write(chunk)
        except OSError as error:
            raise OutputError(
                f"{path}: cannot be copied to {PurePath(out.name).parent}: {error.strerror}",
                hint="point TMPDIR at a folder with room for the unpacked dump",
            ) from error


def container_of(name: str) -> str | None:
    """The container that a file's name announces."""
    suffix = os.path.splitext(name)[1]  # noqa: PTH122  asked for every file of ten thousand
    return CONTAINER_SUFFIXES.get(suffix.lower())


def output_container(output: str, source: str, container: str | None) -> str | None:
    """The container of an output file for a ``source`` that came in ``container``.

    The output's name decides; one without any suffix keeps the input's container, where the input's name did
    not announce it either.
    """
    return container_of(output) if PurePath(output).suffix or container_of(source) else container


@contextmanager
def open_packed(path: Path, container: str | None) -> Iterator[BinaryIO]:
    """A new file, open for writing, packed if a container is named."""
    with disk.create(path) as out:
        if container is None:
            yield out
            return
        with CONTAINERS[container].write(out) as packed:
            yield packed
