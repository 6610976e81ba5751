"""Hashes by which values are compared: 128 bits, keyed with a secret of the run.

The author of a dump cannot know the secret, and so cannot make two values that have the same hash. Short
values, which are most, are hashed many at once by SipHash-1-3 (Aumasson and Bernstein, 2012; with the 128-bit
output of its authors' code). Values of more than LONGEST_OF_MANY bytes are hashed one by one with BLAKE2b.
``dumps/loops/hash_loops.py`` computes the same hashes in compiled loops.
"""

from collections.abc import Callable, Sequence
from hashlib import blake2b

import numpy as np
import pyarrow as pa

from kcompact.dumps.records.record import HASH_BYTES

ABSENT = -1  # the length of a null
LONGEST_OF_MANY = 1024  # bytes of the longest value that is hashed together with others
SECRET_BYTES = 16
NULL, VALUE = range(2)
"""The first word that is hashed, before the value itself: no value has the same hash input as null."""

_WORD_BYTES = 8
START = np.frombuffer(b"uespemosmodnarodarenegylsetybdet", np.uint64)
FOR_128_BITS, FOR_MORE = np.uint64(0xEE), np.uint64(0xDD)
_ONE, _BYTE_BITS, _LENGTH_SHIFT = np.uint64(1), np.uint64(8), np.uint64(56)
_FINAL_ROUNDS = 3


def value_hashes(values: Sequence[bytes | None], secret: bytes) -> pa.Array:
    """The hash of each value, as binary. Raises ValueError for a secret that is not of SECRET_BYTES."""
    lengths = np.array([ABSENT if value is None else len(value) for value in values], np.int64)
    short = [value if value and len(value) <= LONGEST_OF_MANY else b"" for value in values]
    sizes = np.array([len(value) for value in short], np.int64)
    data = np.frombuffer(b"".join(short) + bytes(_WORD_BYTES), np.uint8)
    hashes = _sip_hashes(data, np.cumsum(sizes) - sizes, sizes, lengths < 0, secret_words(secret))
    return hashes_as_column(hashes, lengths, lambda at: values[at] or b"", secret)


def secret_words(secret: bytes) -> np.ndarray:
    """The secret as two words (uint64). Raises ValueError for a shorter one: loops would read beyond it."""
    if len(secret) != SECRET_BYTES:
        raise ValueError(f"a secret of {len(secret)} bytes, not {SECRET_BYTES}")
    return np.frombuffer(secret, np.uint64)


def hashes_as_column(
    hashes: np.ndarray, lengths: np.ndarray, value_at: Callable[[int], bytes | memoryview], secret: bytes
) -> pa.Array:
    """The hashes, uint64 of shape (rows, 2), as a binary column.

    Those of values longer than LONGEST_OF_MANY bytes are computed here, and written into ``hashes``.
    """
    for at in np.flatnonzero(lengths > LONGEST_OF_MANY).tolist():
        digest = blake2b(value_at(at), digest_size=HASH_BYTES, key=secret).digest()
        hashes[at] = np.frombuffer(digest, np.uint64)
    offsets = np.arange(len(hashes) + 1, dtype=np.int32) * HASH_BYTES
    return pa.Array.from_buffers(
        pa.binary(), len(hashes), [None, pa.py_buffer(offsets), pa.py_buffer(hashes)]
    )


def _sip_hashes(
    data: np.ndarray, starts: np.ndarray, sizes: np.ndarray, is_null: np.ndarray, key: np.ndarray
) -> np.ndarray:
    """The SipHash of ranges of ``data``, uint64 of shape (rows, 2); eight more bytes follow the last range.

    Rows are sorted by length, longest first: each step takes one word of all rows that still have one.
    """
    words = sizes // _WORD_BYTES
    order = np.argsort(-words, kind="stable")
    at, words, sizes = starts[order], words[order], sizes[order]
    anywhere = np.ndarray((len(data) - _WORD_BYTES + 1,), "<u8", data, strides=(1,))  # not aligned
    state = _started(len(order), key)
    _take_in(state, np.where(is_null[order], NULL, VALUE).astype(np.uint64))
    for number in range(int(words.max(initial=0))):
        several = int(np.searchsorted(-words, -number, side="left"))  # rows with a further word
        _take_in(state[:, :several], anywhere[at[:several] + number * _WORD_BYTES])
    bits = (sizes % _WORD_BYTES).astype(np.uint64) * _BYTE_BITS
    last = anywhere[at + words * _WORD_BYTES] & ((_ONE << bits) - _ONE)
    _take_in(state, last | ((sizes + _WORD_BYTES).astype(np.uint64) << _LENGTH_SHIFT))
    hashes = np.empty((len(order), 2), np.uint64)
    hashes[order] = _finished(state)
    return hashes


def _started(rows: int, key: np.ndarray) -> np.ndarray:
    state = np.empty((4, rows), np.uint64)
    state[:] = (START ^ np.tile(key, 2))[:, None]
    state[1] ^= FOR_128_BITS
    return state


def _take_in(state: np.ndarray, word: np.ndarray) -> None:
    state[3] ^= word
    _round(state)
    state[0] ^= word


def _finished(state: np.ndarray) -> np.ndarray:
    parts = []
    for row, mark in ((2, FOR_128_BITS), (1, FOR_MORE)):
        state[row] ^= mark
        for _ in range(_FINAL_ROUNDS):
            _round(state)
        parts.append(state[0] ^ state[1] ^ state[2] ^ state[3])
    return np.stack(parts, axis=1)


def _round(state: np.ndarray) -> None:
    v0, v1, v2, v3 = state
    v0 += v1
    v2 += v3
    _rotate(v1, 13)
    _rotate(v3, 16)
    v1 ^= v0
    v3 ^= v2
    _rotate(v0, 32)
    v2 += v1
    v0 += v3
    _rotate(v1, 17)
    _rotate(v3, 21)
    v1 ^= v2
    v3 ^= v0
    _rotate(v2, 32)


def _rotate(words: np.ndarray, bits: int) -> None:
    high = words >> np.uint64(64 - bits)
    words <<= np.uint64(bits)
    words |= high
