"""The hash functions that producers choose partitions with, for many keys at once.

Every function takes a ``KeyMatrix`` and returns one uint32 per key. Sources: Kafka's ``Utils.murmur2``,
zlib's CRC-32 (librdkafka's ``consistent``), FNV-1a with 32 bits (Sarama, kafka-go), Java's
``String.hashCode``, and murmur2 as KafkaJS up to 1.x computed it, in floating point.
"""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kcompact.arrays import Longs

Hashes = NDArray[np.uint32]

_SEED = 0x9747B28C
_M = 0x5BD1E995
_FNV_OFFSET = 0x811C9DC5
_FNV_PRIME = 0x01000193
_WORD = 4


@dataclass(frozen=True)
class KeyMatrix:
    """Keys side by side: uint8 (keys, width), padded with zeros to whole words; and their lengths."""

    keys: Sequence[bytes]
    cells: NDArray[np.uint8]
    lengths: Longs

    @classmethod
    def of(cls, keys: Sequence[bytes]) -> "KeyMatrix":
        """Lay out keys; costs keys x longest key bytes."""
        lengths = np.fromiter(map(len, keys), np.int64, len(keys))
        width = -(-int(lengths.max(initial=0)) // _WORD) * _WORD
        padded = b"".join(key.ljust(width, b"\0") for key in keys)
        return cls(keys, np.frombuffer(padded, np.uint8).reshape(len(keys), width), lengths)

    @property
    def words(self) -> NDArray[np.uint32]:
        """Little-endian words (keys, width / 4)."""
        return np.ascontiguousarray(self.cells).view("<u4")


def murmur2(keys: KeyMatrix) -> Hashes:
    """``org.apache.kafka.common.utils.Utils.murmur2``."""
    m, words = np.uint32(_M), keys.words
    hashes = np.uint32(_SEED) ^ keys.lengths.astype(np.uint32)
    whole_words = keys.lengths // _WORD
    for at in range(words.shape[1]):
        k = words[:, at] * m
        k = (k ^ (k >> np.uint32(24))) * m
        hashes = np.where(at < whole_words, hashes * m ^ k, hashes)
    tail = _tails(keys, words, whole_words)
    hashes = np.where(keys.lengths % _WORD > 0, (hashes ^ tail) * m, hashes)
    hashes = (hashes ^ (hashes >> np.uint32(13))) * m
    return hashes ^ (hashes >> np.uint32(15))


def murmur2_in_doubles(keys: KeyMatrix) -> Hashes:
    """Murmur2 as KafkaJS 1.x had it: JavaScript's numbers lose the low bits of every large product.

    It also takes the last, incomplete word once more in the loop.
    """
    m, words = float(_M), keys.words
    hashes = _signed(np.uint32(_SEED) ^ keys.lengths.astype(np.uint32))
    started = -(-keys.lengths // _WORD)
    for at in range(words.shape[1]):
        k = _signed(words[:, at]) * m
        bits = _to_uint32(k)
        k = _signed(bits ^ (bits >> np.uint32(24))) * m
        mixed = _signed(_to_uint32(hashes * m) ^ _to_uint32(k))
        hashes = np.where(at < started, mixed, hashes)
    tail = _tails(keys, words, keys.lengths // _WORD)
    last = _signed(_to_uint32(hashes) ^ tail) * m
    bits = _to_uint32(np.where(keys.lengths % _WORD > 0, last, hashes))
    bits = _to_uint32(_signed(bits ^ (bits >> np.uint32(13))) * m)
    return bits ^ (bits >> np.uint32(15))


def fnv1a(keys: KeyMatrix) -> Hashes:
    """FNV-1a, 32 bits: Go's ``fnv.New32a``."""
    hashes = np.full(len(keys.lengths), _FNV_OFFSET, np.uint32)
    for at in range(keys.cells.shape[1]):
        mixed = (hashes ^ keys.cells[:, at]) * np.uint32(_FNV_PRIME)
        hashes = np.where(at < keys.lengths, mixed, hashes)
    return hashes


def java_string_hash(keys: KeyMatrix) -> Hashes:
    """Java's ``String.hashCode``, right for ASCII keys: one character a byte."""
    hashes = np.zeros(len(keys.lengths), np.uint32)
    for at in range(keys.cells.shape[1]):
        mixed = hashes * np.uint32(31) + keys.cells[:, at]
        hashes = np.where(at < keys.lengths, mixed, hashes)
    return hashes


def crc32(keys: KeyMatrix) -> Hashes:
    """CRC-32 as in zlib."""
    return np.fromiter(map(zlib.crc32, keys.keys), np.uint32, len(keys.keys))


def _tails(keys: KeyMatrix, words: NDArray[np.uint32], whole_words: Longs) -> Hashes:
    """The one to three bytes after the last whole word (the padding is zero)."""
    if not words.shape[1]:
        return np.zeros(len(words), np.uint32)
    at = np.minimum(whole_words, words.shape[1] - 1)
    return np.where(keys.lengths % _WORD > 0, words[np.arange(len(words)), at], np.uint32(0))


def _signed(bits: Hashes) -> NDArray[np.float64]:
    return bits.view(np.int32).astype(np.float64)


def _to_uint32(numbers: NDArray[np.float64]) -> Hashes:
    """JavaScript's ToUint32: truncate, modulo 2^32."""
    return np.mod(np.trunc(numbers), 2.0**32).astype(np.uint32)
