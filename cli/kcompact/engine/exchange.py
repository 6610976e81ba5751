"""Which receiver of a shuffle each key goes to."""

from collections.abc import Callable, Iterator
from hashlib import blake2b

import numpy as np
import pyarrow as pa

from kcompact.dumps.loops.readiness import loaded_loop

_WORD = 8
_LONGEST_IN_WORDS = 1024  # bytes of a key: word by word, numpy would take a second for a megabyte
_FACTOR = np.uint64(0x9E3779B97F4A7C15)


def shares_by_key(
    batches: list[pa.RecordBatch], receivers: int, shares: int
) -> Iterator[list[pa.RecordBatch]]:
    """One receiver's rows divided into ``shares`` shares by key, one share after another.

    ``receivers`` is the number of receivers by which ``receivers_by_key`` sent the rows.
    """
    if shares == 1:
        yield batches
        return
    share_of = [
        (receivers_by_key(batch.column("key"), receivers * shares) // receivers).astype(np.uint32)
        for batch in batches
    ]
    for share in range(shares):
        yield [batch.filter(pa.array(of == share)) for batch, of in zip(batches, share_of, strict=True)]


def receivers_by_key(
    keys: pa.ChunkedArray | pa.Array, receivers: int, of_nulls: Callable[[], np.ndarray] | None = None
) -> np.ndarray:
    """A receiver for each binary key, by a hash of all its bytes: equal keys meet.

    ``of_nulls`` gives a receiver for each row; it is used for rows without a key.
    """
    array = keys.combine_chunks() if isinstance(keys, pa.ChunkedArray) else keys
    numbers = ((key_hashes(array) >> np.uint64(33)) % np.uint64(receivers)).astype(np.int64)
    if of_nulls is None or not array.null_count:
        return numbers
    return np.where(array.is_null().to_numpy(zero_copy_only=False), of_nulls(), numbers)


def key_hashes(array: pa.Array) -> np.ndarray:
    """A hash of 64 bits (uint64) of each binary key. A null has the hash of some key."""
    if not len(array):
        return np.empty(0, np.uint64)
    _, offsets_buffer, data_buffer = array.buffers()
    offsets = np.frombuffer(offsets_buffer, np.int32)[array.offset : array.offset + len(array) + 1]
    data = np.frombuffer(data_buffer or b"", np.uint8)[: int(offsets[-1])]
    lengths = np.diff(offsets).astype(np.int64)
    loop = loaded_loop("hash_loops")
    if loop is None:
        # Eight more bytes, so that a word can be read at every position.
        padded = np.concatenate([data, np.zeros(_WORD, np.uint8)])
        short = np.where(lengths > _LONGEST_IN_WORDS, 0, lengths)
        hashes = _hashes(padded, offsets[:-1].astype(np.int64), short)
    else:
        hashes = np.empty(len(array), np.uint64)
        loop.hash_keys(data, offsets, hashes)
    for at in np.flatnonzero(lengths > _LONGEST_IN_WORDS).tolist():
        digest = blake2b(data[offsets[at] : offsets[at + 1]].data, digest_size=_WORD).digest()
        hashes[at] = int.from_bytes(digest, "little")
    return hashes


def _hashes(data: np.ndarray, starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """A hash of 64 bits per key, made word by word; only longer keys take part in the later passes.

    ``dumps/loops/hash_loops.py`` computes the same, since tasks with and without it have to send a key to the
    same receiver.
    """
    words: np.ndarray = np.ndarray((len(data) - _WORD + 1,), "<u8", data, strides=(1,))
    hashes = (lengths.astype(np.uint64) + np.uint64(1)) * _FACTOR
    rows = np.flatnonzero(lengths)
    starts, left = starts[rows], lengths[rows]
    while len(rows):
        unused = np.uint64(8) * (_WORD - np.minimum(left, _WORD)).astype(np.uint64)
        word = words[starts] << unused
        mixed = (hashes[rows] ^ word) * _FACTOR
        hashes[rows] = mixed ^ (mixed >> np.uint64(29))
        more = left > _WORD
        rows, starts, left = rows[more], starts[more] + _WORD, left[more] - _WORD
    return hashes * _FACTOR
