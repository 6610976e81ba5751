"""The codecs of Avro object containers: how the records of one block are packed.

``null`` and ``deflate`` are required by the Avro specification, ``snappy``, ``bzip2``, ``xz`` and
``zstandard`` are its optional ones, ``lz4`` is fastavro's.
"""

import bz2
import lzma
import sys
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import cramjam
import lz4.block

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

_CRC_BYTES = 4
_LZ4_LENGTH_BYTES = 4
_AT_ONCE_BYTES = 64 << 20  # a stream that unpacks to more is measured first
_CHUNK_BYTES = 4 << 20
_LARGEST_RATIO = 256  # of lz4; snappy stays far below


class TooLarge(Exception):  # noqa: N818  becomes an UnreadableError
    """A block would unpack to more bytes than it may."""


@dataclass(frozen=True)
class Codec:
    """One codec: both directions, and the errors that its library raises for damaged bytes.

    ``unpack`` takes the packed bytes, and the most bytes that they may unpack to. It raises TooLarge.
    """

    unpack: Callable[[bytes, int], bytes]
    pack: Callable[[bytes], bytes]
    errors: tuple[type[Exception], ...]


def _streamed(open_stream: Callable[[], Any]) -> Callable[[bytes, int], bytes]:
    """A function that unpacks one stream, or several one after another."""

    def unpack(packed: bytes, most_bytes: int) -> bytes:
        parts: list[bytes] = []
        while packed or not parts:
            part, packed = _first_stream(open_stream, packed, most_bytes)
            parts.append(part)
            most_bytes -= len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    return unpack


def _first_stream(open_stream: Callable[[], Any], packed: bytes, most_bytes: int) -> tuple[bytes, bytes]:
    """The unpacked first stream, and the bytes after it. Raises TooLarge before much of it is in memory."""
    stream = open_stream()
    unpacked = stream.decompress(packed, _AT_ONCE_BYTES)
    if not stream.eof:
        _measure(stream, most_bytes - len(unpacked))
        stream = open_stream()
        unpacked = stream.decompress(packed, most_bytes + 1)
    if len(unpacked) > most_bytes:
        raise TooLarge
    return unpacked, stream.unused_data


def _measure(stream: Any, most_bytes: int) -> None:
    """Unpack the remainder of a stream without keeping it. Raises TooLarge, EOFError."""
    while not stream.eof:
        packed = getattr(stream, "unconsumed_tail", b"")  # only zlib's streams do not keep their input
        piece = stream.decompress(packed, _CHUNK_BYTES)
        most_bytes -= len(piece)
        if most_bytes < 0:
            raise TooLarge
        if not piece and not stream.eof:
            raise EOFError("it is cut off")


def _unpack_snappy(packed: bytes, most_bytes: int) -> bytes:
    """Unpack snappy, and check the big-endian CRC-32 of the unpacked bytes, which many readers skip."""
    _check_declared(cramjam.snappy.decompress_raw_len(packed[:-_CRC_BYTES]), packed, most_bytes)
    unpacked = bytes(cramjam.snappy.decompress_raw(packed[:-_CRC_BYTES]))
    if zlib.crc32(unpacked).to_bytes(_CRC_BYTES, "big") != packed[-_CRC_BYTES:]:
        raise ValueError("the checksum does not fit")
    return unpacked


def _unpack_lz4(packed: bytes, most_bytes: int) -> bytes:
    _check_declared(int.from_bytes(packed[:_LZ4_LENGTH_BYTES], "little"), packed, most_bytes)
    return bytes(lz4.block.decompress(packed))


def _check_declared(declared_bytes: int, packed: bytes, most_bytes: int) -> None:
    """Raise ValueError or TooLarge for a declared length, which a codec would allocate at once."""
    if declared_bytes > _LARGEST_RATIO * len(packed):
        raise ValueError(f"it says that it unpacks to {declared_bytes:,} bytes")
    if declared_bytes > most_bytes:
        raise TooLarge


def _pack_snappy(unpacked: bytes) -> bytes:
    checksum = zlib.crc32(unpacked).to_bytes(_CRC_BYTES, "big")
    return bytes(cramjam.snappy.compress_raw(unpacked)) + checksum


def _unpack_deflate(packed: bytes, most_bytes: int) -> bytes:
    """Unpack deflate, with up to four bytes behind it: some writers, such as fastavro, leave zlib's checksum.

    More bytes are refused, as they may be another stream, whose records would be lost.
    """
    unpacked, trailing = _first_stream(partial(zlib.decompressobj, -zlib.MAX_WBITS), packed, most_bytes)
    if len(trailing) > _CRC_BYTES:
        raise zlib.error(f"{len(trailing):,} bytes follow its data")
    return unpacked


CODECS = {
    "null": Codec(lambda packed, _: packed, bytes, ()),
    "deflate": Codec(_unpack_deflate, partial(zlib.compress, wbits=-zlib.MAX_WBITS), (zlib.error, EOFError)),
    "snappy": Codec(_unpack_snappy, _pack_snappy, (cramjam.DecompressionError, ValueError)),
    "zstandard": Codec(_streamed(zstd.ZstdDecompressor), zstd.compress, (zstd.ZstdError, EOFError)),
    "bzip2": Codec(_streamed(bz2.BZ2Decompressor), bz2.compress, (OSError, ValueError, EOFError)),
    "xz": Codec(_streamed(lzma.LZMADecompressor), lzma.compress, (lzma.LZMAError, EOFError)),
    "lz4": Codec(_unpack_lz4, lz4.block.compress, (lz4.block.LZ4BlockError, ValueError)),
}
"""The codecs by the name under ``avro.codec`` in a file's header."""
