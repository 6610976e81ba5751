"""Hashes and sizes of many records at once: what ``indexing.EXTRA`` computes record by record."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from kcompact.dumps.records.content_hashes import ABSENT
from kcompact.dumps.records.headers import Headers
from kcompact.dumps.records.indexing import BATCH_OVERHEAD_BYTES, RECORD_OVERHEAD_BYTES, headers_log_bytes
from kcompact.dumps.records.record import HASH_BYTES, headers_hash

CONTENT_EXTRA = frozenset({"log_bytes", "is_control", "value_hash", "headers_hash"})
"""Columns of EXTRA_FIELDS that can be computed for many records at once."""

_VARINT_STEPS = [1 << (7 * groups - 1) for groups in range(1, 6)]  # zigzag doubles: 64, 8192, ...


@dataclass(frozen=True)
class Contents:
    """Of some records: lengths in bytes (ABSENT: null), headers, and hashes of values if they are asked for.

    ``headers`` are the different ones that occur, ``header_codes`` says which of them each record has (None:
    all have the first). No record is a control record.
    """

    key_bytes: np.ndarray
    value_bytes: np.ndarray
    hash_values: Callable[[], pa.Array]
    headers: Sequence[Headers] = ((),)
    header_codes: np.ndarray | None = None

    def column(self, name: str) -> pa.Array:
        """A column of CONTENT_EXTRA."""
        if name == "value_hash":
            return self.hash_values()
        if name == "is_control":
            return pa.array(np.zeros(len(self.key_bytes), bool))
        return self._log_bytes() if name == "log_bytes" else self._headers_hash()

    def _log_bytes(self) -> pa.Array:
        sizes = np.array([headers_log_bytes(headers) for headers in self.headers], np.int64)
        body = RECORD_OVERHEAD_BYTES + _sized(self.key_bytes) + _sized(self.value_bytes)
        body += sizes[0] if self.header_codes is None else sizes[self.header_codes]
        return pa.array((BATCH_OVERHEAD_BYTES + _varint_bytes(body) + body).astype(np.int32))

    def _headers_hash(self) -> pa.Array:
        hashes = pa.array([headers_hash(headers) for headers in self.headers], pa.binary())
        codes = np.zeros(len(self.key_bytes), np.int64) if self.header_codes is None else self.header_codes
        return hashes.take(pa.array(codes))


def lengths_of(values: pa.Array) -> np.ndarray:
    """The length of each binary value, ABSENT for null."""
    offsets = np.frombuffer(values.buffers()[1], np.int32)[values.offset : values.offset + len(values) + 1]
    return np.where(_is_null(values), ABSENT, np.diff(offsets).astype(np.int64))


def _is_null(values: pa.Array) -> np.ndarray:
    return np.asarray(values.is_null().to_numpy(zero_copy_only=False), bool)


def _sized(lengths: np.ndarray) -> np.ndarray:
    sizes = np.maximum(lengths, 0)
    return np.where(lengths < 0, 1, _varint_bytes(sizes) + sizes)


def _varint_bytes(values: np.ndarray) -> np.ndarray:
    """Bytes of a zigzag varint of values that are not negative and below 2**34."""
    return 1 + np.searchsorted(_VARINT_STEPS, values, side="right")


def as_words(hashes: pa.ChunkedArray) -> np.ndarray:
    """Hashes as int64 of shape (rows, HASH_BYTES / 8); zeros where there is none, as of no headers."""
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
