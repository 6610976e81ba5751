"""The offset map of a task, in arrays that a compiled loop fills (offset_map_loop.py)."""

import os
from collections.abc import Iterator
from types import ModuleType

import numpy as np
import pyarrow as pa

from kcompact.dumps.loops.readiness import loaded_loop
from kcompact.engine.passes.grouped_rows import GROUPED_SCHEMA

_LINE_BYTES = 64  # of the processor's cache
_WORD_BYTES = 8
_COLUMNS = [name for name in GROUPED_SCHEMA.names if name != "key"]


def loaded_map() -> ModuleType | None:
    """The loop, where this process has it."""
    return loaded_loop("offset_map_loop")


def key_bytes_in(batch: pa.RecordBatch) -> int:
    """How many bytes the keys of GROUPED_SCHEMA rows have."""
    _, offsets = _bytes_of(batch.column("key"))
    return int(offsets[-1] - offsets[0])


class OffsetMap:
    """One row per (log, key), of at most so many groups and bytes of keys; a larger key gets its room."""

    def __init__(self, most_groups: int, most_key_bytes: int) -> None:
        loop = loaded_map()
        assert loop is not None  # noqa: S101  who makes a map has asked
        self._loop = loop
        self._groups = _aligned_rows(most_groups, loop.GROUP_COLUMNS)
        self._slots = np.zeros(1 << (loop.SLOTS_PER_GROUP * most_groups - 1).bit_length(), np.uint64)
        self._key_ends = np.zeros(most_groups + 1, np.int32)
        self._key_bytes = np.empty(most_key_bytes, np.uint8)
        self._hashes = np.empty((loop.ROWS_AT_A_TIME, 2), np.uint64)
        self._state = np.zeros(2, np.int64)
        self._secret = np.frombuffer(os.urandom(2 * _WORD_BYTES), np.uint64)

    def add(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Take rows of GROUPED_SCHEMA in; give all groups out where there is no room for another one."""
        keys, offsets = _bytes_of(batch.column("key"))
        rows = np.stack([batch.column(name).to_numpy() for name in _COLUMNS])
        done = 0
        while (done := self._put(keys, offsets, rows, done)) < batch.num_rows:
            yield from self.finish()
            longest = int(offsets[done + 1] - offsets[done])
            if longest > len(self._key_bytes):
                self._key_bytes = np.empty(longest, np.uint8)

    def _put(self, keys: np.ndarray, offsets: np.ndarray, rows: np.ndarray, first: int) -> int:
        done: int = self._loop.put_rows(
            keys,
            offsets,
            rows,
            first,
            self._secret,
            self._groups,
            self._slots,
            self._key_ends,
            self._key_bytes,
            self._hashes,
            self._state,
        )
        return done

    def finish(self) -> list[pa.RecordBatch]:
        """All groups, none of which the map has any more."""
        count, used = (self._state[place] for place in (self._loop.GROUPS, self._loop.KEY_BYTES))
        if not count:
            return []
        ends, data = self._key_ends[: count + 1].copy(), self._key_bytes[:used].copy()
        columns = {name: pa.array(self._groups[:count, at].copy()) for at, name in enumerate(_COLUMNS)}
        keys = pa.Array.from_buffers(pa.binary(), count, [None, pa.py_buffer(ends), pa.py_buffer(data)])
        self._slots[:], self._state[:] = 0, 0
        arrays = [keys if name == "key" else columns[name] for name in GROUPED_SCHEMA.names]
        return [pa.RecordBatch.from_arrays(arrays, schema=GROUPED_SCHEMA)]


def _bytes_of(keys: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """The bytes of keys, none of which is null, and where each of them begins; one end more."""
    _, ends, data = keys.buffers()
    if ends is None:
        return np.zeros(0, np.uint8), np.zeros(1, np.int32)
    offsets = np.frombuffer(ends, np.int32)[keys.offset : keys.offset + len(keys) + 1]
    return np.zeros(0, np.uint8) if data is None else np.frombuffer(data, np.uint8), offsets


def _aligned_rows(rows: int, columns: int) -> np.ndarray:
    """int64 of shape (rows, columns), which begin at a line of the processor's cache."""
    spare = _LINE_BYTES // _WORD_BYTES
    room = np.empty(rows * columns + spare, np.int64)
    first = -room.ctypes.data % _LINE_BYTES // _WORD_BYTES
    return room[first : first + rows * columns].reshape(rows, columns)
