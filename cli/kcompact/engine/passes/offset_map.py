"""The offset map of a task, in arrays that a compiled loop fills (offset_map_loop.py)."""

import os
from collections.abc import Iterator, Mapping, Sequence
from types import ModuleType

import numpy as np
import pyarrow as pa

from kcompact.dumps.loops.readiness import loaded_loop
from kcompact.errors import EngineError

MOST_KEY_BYTES = (1 << 31) - 1  # of a column: Arrow's binary counts them with 32 bits
_LINE_BYTES = 64  # of the processor's cache
_WORD_BYTES = 8


def loaded_map() -> ModuleType | None:
    """The compiled loop, or None if this process has not loaded it."""
    return loaded_loop("offset_map_loop")


def key_bytes_in(batch: pa.RecordBatch) -> int:
    """How many bytes the keys of rows have together."""
    _, offsets = _bytes_of(batch.column("key"))
    return int(offsets[-1] - offsets[0])


class OffsetMap:
    """Merges rows into groups, one per (log, key).

    It holds ``most_groups`` groups, and ``most_key_bytes`` bytes of keys, or more for a single larger key,
    but never more than MOST_KEY_BYTES. ``loop`` is ``loaded_map()``.

    Rows of ``schema`` have a column ``key`` (binary) and int64 columns, the first of which is ``log_id``.
    ``merge`` names the rules by which the columns of two rows are merged: ``sum``, ``min``, ``max``;
    ``last``, the value of the row with the greatest ``last_offset``; or ``second``, the second greatest
    ``last_offset`` (-1 of a single record).

    ``before`` holds, for each row of the last ``add``, the values that ``columns_before`` of its group had
    before it, or -1 if it is the first row of the group: int64 of shape (columns, rows).
    """

    before: np.ndarray

    def __init__(
        self,
        loop: ModuleType,
        schema: pa.Schema,
        merge: Mapping[str, str],
        most_groups: int,
        most_key_bytes: int,
        *,
        columns_before: Sequence[str] = (),
    ) -> None:
        self._loop, self._schema = loop, schema
        self._names = [name for name in schema.names if name != "key"]
        rules = {
            "sum": loop.SUM,
            "min": loop.MIN,
            "max": loop.MAX,
            "last": loop.LATEST,
            "second": loop.SECOND,
        }
        self._rules = np.array([rules.get(merge.get(name, ""), loop.KEPT) for name in self._names])
        self._columns_before = np.array([self._names.index(name) for name in columns_before], np.int64)
        self._groups = _aligned_rows(most_groups, loop.FIRST_COLUMN + len(self._names))
        self._slots = np.zeros(1 << (loop.SLOTS_PER_GROUP * most_groups - 1).bit_length(), np.uint64)
        self._key_ends = np.zeros(most_groups + 1, np.int32)
        self._key_bytes = np.empty(min(most_key_bytes, MOST_KEY_BYTES), np.uint8)
        self._hashes = np.empty((loop.ROWS_AT_A_TIME, 2), np.uint64)
        self._state = np.zeros(2, np.int64)
        self._secret = np.frombuffer(os.urandom(2 * _WORD_BYTES), np.uint64)

    def add(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Add rows, all of which have keys. Yields all groups when there is no room for another one."""
        keys, offsets = _bytes_of(batch.column("key"))
        rows = np.stack([batch.column(name).to_numpy() for name in self._names])
        self.before = np.full((len(self._columns_before), batch.num_rows), -1)
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
            self._rules,
            self._names.index("last_offset"),
            self._columns_before,
            self.before,
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
        """All groups. The map is empty afterwards."""
        count, used = (self._state[place] for place in (self._loop.GROUPS, self._loop.KEY_BYTES))
        if not count:
            return []
        ends, data = self._key_ends[: count + 1].copy(), self._key_bytes[:used].copy()
        numbers = self._groups[:count, self._loop.FIRST_COLUMN :]
        columns = {name: pa.array(numbers[:, at].copy()) for at, name in enumerate(self._names)}
        keys = pa.Array.from_buffers(pa.binary(), count, [None, pa.py_buffer(ends), pa.py_buffer(data)])
        self._slots[:], self._state[:] = 0, 0
        arrays = [keys if name == "key" else columns[name] for name in self._schema.names]
        return [pa.RecordBatch.from_arrays(arrays, schema=self._schema)]


def merged_by_map(
    loop: ModuleType, schema: pa.Schema, merge: Mapping[str, str], batches: list[pa.RecordBatch]
) -> list[pa.RecordBatch]:
    """One row per (log, key), from rows in any order. Raises EngineError if the keys have too many bytes."""
    rows, key_bytes = sum(batch.num_rows for batch in batches), sum(map(key_bytes_in, batches))
    offset_map = OffsetMap(loop, schema, merge, max(rows, 1), key_bytes)
    if any(out for batch in batches for out in offset_map.add(batch)):
        raise EngineError(
            f"a task got different keys of more than {MOST_KEY_BYTES:,} bytes together",
            hint="look at fewer logs at a time, with --topic or --partitions, or give Spark more cores, which"
            " makes more tasks",
        )
    return offset_map.finish()


def _bytes_of(keys: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """The bytes of keys (none is null), and where in them each key begins, with the end of the last one."""
    _, ends, data = keys.buffers()
    if ends is None:
        return np.zeros(0, np.uint8), np.zeros(1, np.int32)
    offsets = np.frombuffer(ends, np.int32)[keys.offset : keys.offset + len(keys) + 1]
    return np.zeros(0, np.uint8) if data is None else np.frombuffer(data, np.uint8), offsets


def _aligned_rows(rows: int, columns: int) -> np.ndarray:
    """Uninitialised int64 of shape (rows, columns) that begin at a line of the processor's cache."""
    spare = _LINE_BYTES // _WORD_BYTES
    room = np.empty(rows * columns + spare, np.int64)
    first = -room.ctypes.data % _LINE_BYTES // _WORD_BYTES
    return room[first : first + rows * columns].reshape(rows, columns)
