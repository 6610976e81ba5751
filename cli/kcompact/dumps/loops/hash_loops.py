"""Hashes in loops: SipHash-1-3 of 128 bits, by which values are compared, and the one that shares out keys.

Values have the hashes that ``dumps/records/content_hashes.py`` defines, keys those of ``engine/exchange.py``.
"""

import numpy as np
from numba import types

from kcompact.dumps.loops.compiling import array_type, int64, loop, part
from kcompact.dumps.loops.words import WORD, word_at
from kcompact.dumps.records.content_hashes import FOR_128_BITS, FOR_MORE, LONGEST_OF_MANY, NULL, START, VALUE

_ONE, _BYTE_BITS, _WORD_BITS, _LENGTH_SHIFT = np.uint64(1), np.uint64(8), np.uint64(64), np.uint64(56)
_START = tuple(START)
_NULL, _VALUE = np.uint64(NULL), np.uint64(VALUE)
_FACTOR, _HALF = np.uint64(0x9E3779B97F4A7C15), np.uint64(29)
_SIGNATURE_OF_RANGES = types.void(
    array_type(types.uint8),
    array_type(types.int64),
    array_type(types.int64),
    array_type(types.uint64),
    array_type(types.uint64, 2, written=True),
)
_SIGNATURE_OF_KEYS = types.void(
    array_type(types.uint8), array_type(types.int32), array_type(types.uint64, written=True)
)


@part
def _rotated(word: np.uint64, bits: int) -> np.uint64:
    return (word << np.uint64(bits)) | (word >> (_WORD_BITS - np.uint64(bits)))


@part
def _round(
    v0: np.uint64, v1: np.uint64, v2: np.uint64, v3: np.uint64
) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    v0, v2 = v0 + v1, v2 + v3
    v1, v3 = _rotated(v1, 13) ^ v0, _rotated(v3, 16) ^ v2
    v0, v2 = _rotated(v0, 32) + v3, v2 + v1
    v3, v1 = _rotated(v3, 21) ^ v0, _rotated(v1, 17) ^ v2
    return v0, v1, _rotated(v2, 32), v3


@part
def _three_rounds(
    v0: np.uint64, v1: np.uint64, v2: np.uint64, v3: np.uint64
) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    v0, v1, v2, v3 = _round(v0, v1, v2, v3)
    v0, v1, v2, v3 = _round(v0, v1, v2, v3)
    return _round(v0, v1, v2, v3)


@part
def last_word(data: np.ndarray, at: int, end: int) -> np.uint64:
    """The bytes [at, end), fewer than eight, as the lowest bytes of a word."""
    bits = _BYTE_BITS * np.uint64(end - at)
    if at + WORD <= len(data):
        return word_at(data, at) & ((_ONE << bits) - _ONE)
    word = np.uint64(0)
    while end > at:
        end -= 1
        word = (word << _BYTE_BITS) | np.uint64(data[end])
    return word


@part
def hash_of(
    data: np.ndarray, start: int, end: int, first_word: np.uint64, secret: np.ndarray
) -> tuple[np.uint64, np.uint64]:
    """The SipHash, as two words, of ``first_word`` (eight bytes) followed by the bytes [start, end)."""
    v0, v1 = secret[0] ^ _START[0], secret[1] ^ _START[1] ^ FOR_128_BITS
    v2, v3 = secret[0] ^ _START[2], secret[1] ^ _START[3]
    at, word = start, first_word
    while True:
        v0, v1, v2, v3 = _round(v0, v1, v2, v3 ^ word)
        v0 ^= word
        if at + WORD > end:
            break
        word = word_at(data, at)
        at += WORD
    word = last_word(data, at, end) | (np.uint64(WORD + end - start) << _LENGTH_SHIFT)
    v0, v1, v2, v3 = _round(v0, v1, v2, v3 ^ word)
    v0, v1, v2, v3 = _three_rounds(v0 ^ word, v1, v2 ^ FOR_128_BITS, v3)
    first = v0 ^ v1 ^ v2 ^ v3
    v0, v1, v2, v3 = _three_rounds(v0, v1 ^ FOR_MORE, v2, v3)
    return first, v0 ^ v1 ^ v2 ^ v3


@loop(_SIGNATURE_OF_RANGES)
def hash_ranges(
    data: np.ndarray, starts: np.ndarray, lengths: np.ndarray, secret: np.ndarray, hashes: np.ndarray
) -> None:
    """Hash ranges of data into ``hashes`` of shape (rows, 2); a negative length is null.

    Ranges longer than LONGEST_OF_MANY are left out: ``content_hashes.hashes_as_column`` hashes them.
    """
    for at in range(len(starts)):
        if lengths[at] > LONGEST_OF_MANY:
            continue
        first_word = _NULL if lengths[at] < 0 else _VALUE
        end = starts[at] + max(lengths[at], 0)
        hashes[at, 0], hashes[at, 1] = hash_of(data, starts[at], end, first_word, secret)


@loop(_SIGNATURE_OF_KEYS)
def hash_keys(data: np.ndarray, offsets: np.ndarray, hashes: np.ndarray) -> None:
    """Hash keys into one word each; key i is ``data[offsets[i]:offsets[i + 1]]``."""
    for key in range(len(hashes)):
        at, end = int64(offsets[key]), int64(offsets[key + 1])
        value = (np.uint64(end - at) + _ONE) * _FACTOR
        while at < end:
            if at + WORD <= end:
                word = word_at(data, at)
            else:  # the last bytes of a key become the highest ones
                word = last_word(data, at, end) << (_BYTE_BITS * np.uint64(WORD - (end - at)))
            value = (value ^ word) * _FACTOR
            value ^= value >> _HALF
            at += WORD
        hashes[key] = value * _FACTOR
