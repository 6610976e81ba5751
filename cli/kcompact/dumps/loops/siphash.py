"""SipHash-1-3 of 128 bits, for loops: of a word and the bytes after it."""

import numpy as np

from kcompact.dumps.loops.compiling import part
from kcompact.dumps.loops.words import word_at

_WORD = 8
_ONE, _BYTE_BITS, _WORD_BITS, _LENGTH_SHIFT = np.uint64(1), np.uint64(8), np.uint64(64), np.uint64(56)
_START = tuple(np.frombuffer(b"uespemosmodnarodarenegylsetybdet", np.uint64))
_FOR_128_BITS, _FOR_MORE = np.uint64(0xEE), np.uint64(0xDD)


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
    """The bytes after the last whole word, less than eight."""
    bits = _BYTE_BITS * np.uint64(end - at)
    if at + _WORD <= len(data):
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
    """Of ``first_word``, in eight bytes, and the bytes from ``start`` to ``end``."""
    v0, v1 = secret[0] ^ _START[0], secret[1] ^ _START[1] ^ _FOR_128_BITS
    v2, v3 = secret[0] ^ _START[2], secret[1] ^ _START[3]
    at, word = start, first_word
    while True:
        v0, v1, v2, v3 = _round(v0, v1, v2, v3 ^ word)
        v0 ^= word
        if at + _WORD > end:
            break
        word = word_at(data, at)
        at += _WORD
    word = last_word(data, at, end) | (np.uint64(_WORD + end - start) << _LENGTH_SHIFT)
    v0, v1, v2, v3 = _round(v0, v1, v2, v3 ^ word)
    v0, v1, v2, v3 = _three_rounds(v0 ^ word, v1, v2 ^ _FOR_128_BITS, v3)
    first = v0 ^ v1 ^ v2 ^ v3
    v0, v1, v2, v3 = _three_rounds(v0, v1 ^ _FOR_MORE, v2, v3)
    return first, v0 ^ v1 ^ v2 ^ v3
