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

import cramjam
import lz4.block

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

_CRC_BYTES = 4


@dataclass(frozen=True)
class Codec:
    """One codec: both directions, and what its library raises on damaged bytes."""

    unpack: Callable[[bytes], bytes]
    pack: Callable[[bytes], bytes]
    errors: tuple[type[Exception], ...]


def _unpack_snappy(packed: bytes) -> bytes:
    """Avro's snappy blocks end with the big-endian CRC-32 of the unpacked bytes; readers often skip it."""
    unpacked = bytes(cramjam.snappy.decompress_raw(packed[:-_CRC_BYTES]))
    if zlib.crc32(unpacked).to_bytes(_CRC_BYTES, "big") != packed[-_CRC_BYTES:]:
        raise ValueError("the checksum does not fit")
    return unpacked


def _pack_snappy(unpacked: bytes) -> bytes:
    checksum = zlib.crc32(unpacked).to_bytes(_CRC_BYTES, "big")
    return bytes(cramjam.snappy.compress_raw(unpacked)) + checksum


def _unpack_deflate(packed: bytes) -> bytes:
    return zlib.decompress(packed, -zlib.MAX_WBITS)


def _pack_deflate(unpacked: bytes) -> bytes:
    return zlib.compress(unpacked, wbits=-zlib.MAX_WBITS)


CODECS = {
    "null": Codec(bytes, bytes, ()),
    "deflate": Codec(_unpack_deflate, _pack_deflate, (zlib.error,)),
    "snappy": Codec(_unpack_snappy, _pack_snappy, (cramjam.DecompressionError, ValueError)),
    "zstandard": Codec(zstd.decompress, zstd.compress, (zstd.ZstdError,)),
    "bzip2": Codec(bz2.decompress, bz2.compress, (OSError, ValueError)),
    "xz": Codec(lzma.decompress, lzma.compress, (lzma.LZMAError,)),
    "lz4": Codec(lz4.block.decompress, lz4.block.compress, (lz4.block.LZ4BlockError, ValueError)),
}
"""By the name that stands under ``avro.codec`` in a file's header."""
