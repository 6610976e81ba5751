"""The content by which two records are compared: key, timestamp, value and headers."""

import numpy as np
import pyarrow as pa

from kcompact.arrays import Longs
from kcompact.dumps.records.record import HASH_BYTES

CONTENT = {"key": "key", "timestamp_ms": "timestamp", "value_hash": "value", "headers_hash": "headers"}
"""Index column of each part, and the word for it."""

CONTENT_HASHES = frozenset({"value_hash", "headers_hash"})
"""The columns of CONTENT that an index has to be asked for."""


def differing_copies(rows: pa.Table, places: Longs) -> Longs:
    """Indices of the rows whose content differs from the row before them, though both are of one place.

    ``rows`` has the columns of CONTENT; ``places`` ascends and numbers the place of each row.
    """
    words = [key_numbers(rows["key"])[:, None]]
    words += [content_words(rows, name) for name in CONTENT if name != "key"]
    content = np.concatenate(words, axis=1)
    return np.flatnonzero((np.diff(content, axis=0) != 0).any(axis=1) & (np.diff(places) == 0)) + 1


def content_words(rows: pa.Table, name: str) -> Longs:
    """A column of CONTENT, not the key, as int64 of shape (rows, words): equal where the content is equal."""
    if name in CONTENT_HASHES:
        return as_words(rows[name])
    words: Longs = rows[name].to_numpy()[:, None]
    return words


def key_numbers(keys: pa.ChunkedArray) -> Longs:
    """A number for each row (int64), the same for equal keys; -1 for a record without a key."""
    array = keys.combine_chunks()
    array = array if isinstance(array, pa.Array) else pa.concat_arrays(array.chunks)
    codes: Longs = array.dictionary_encode().indices.fill_null(-1).to_numpy().astype(np.int64)
    return codes


def as_words(hashes: pa.ChunkedArray) -> np.ndarray:
    """Hashes as int64 of shape (rows, HASH_BYTES / 8); zeros for an empty hash, as that of no headers."""
    parts = [_words_of(chunk) for chunk in hashes.chunks]
    return np.concatenate(parts) if parts else np.empty((0, HASH_BYTES // 8), np.int64)


def _words_of(hashes: pa.Array) -> np.ndarray:
    data = np.frombuffer(hashes.buffers()[2] or b"", np.uint8)
    offsets = np.frombuffer(hashes.buffers()[1], np.int32)[hashes.offset : hashes.offset + len(hashes) + 1]
    words = np.zeros((len(hashes), HASH_BYTES // 8), np.int64)
    words[np.diff(offsets) > 0] = (
        data[offsets[0] : offsets[-1]].copy().view(np.int64).reshape(-1, words.shape[1])
    )
    return words
