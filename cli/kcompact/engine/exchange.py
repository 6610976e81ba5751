"""Rows that tasks of one Spark job leave for tasks of the next: Arrow files in the run's folder.

Spark's own exchange turns every Arrow row into one of its own and back, which costs ten times as much as
grouping and sorting the rows does. A file per sender holds one batch per receiver, which maps just its own.
"""

import os
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa

_RADIX_SORTED = 1 << 16  # numpy sorts numbers of two bytes in one pass
_WORD = 8
_FACTOR = np.uint64(0x9E3779B97F4A7C15)


class Outbox:
    """One task's rows for the tasks of the next job. Whole when ``close`` returns; a retry replaces it."""

    def __init__(self, folder: Path, name: str, sender: int, receivers: int, schema: pa.Schema) -> None:
        self._path = _path(folder, name, sender)
        self._unfinished = self._path.with_name(f"{self._path.name}.{os.getpid()}.tmp")
        self._receivers = receivers
        self._sink = pa.OSFile(str(self._unfinished), "wb")
        self._writer = pa.ipc.new_file(self._sink, schema)

    def put(self, rows: pa.Table, receivers: np.ndarray) -> None:
        """Add rows; ``receivers`` tells the task (from 0) that each of them goes to."""
        small = receivers.astype(np.uint16) if self._receivers <= _RADIX_SORTED else receivers
        order = np.argsort(small, kind="stable")
        batch = rows.take(pa.array(order)).combine_chunks()
        bounds = np.searchsorted(receivers[order], np.arange(self._receivers + 1)).tolist()
        for start, end in pairwise(bounds):
            part = batch.slice(start, end - start).to_batches()
            self._writer.write(part[0] if part else pa.RecordBatch.from_pylist([], schema=rows.schema))

    def close(self) -> None:
        """Make the file visible under its name."""
        self._writer.close()
        self._sink.close()
        self._unfinished.replace(self._path)


def take_in(folder: Path, name: str, senders: int, receiver: int, receivers: int) -> list[pa.RecordBatch]:
    """Batches that all senders left for a receiver, in the order of senders; rows stay in mapped files."""
    batches = []
    for sender in range(senders):
        path = _path(folder, name, sender)
        with pa.memory_map(str(path)) as source:
            reader = pa.ipc.open_file(source)
            for number in range(receiver, reader.num_record_batches, receivers):
                batch = reader.get_batch(number)
                if batch.num_rows:
                    batches.append(batch)
    return batches


def discard(folder: Path, name: str, senders: int) -> None:
    """Remove what all senders left, once every receiver is done: it may be as large as the dump."""
    for sender in range(senders):
        _path(folder, name, sender).unlink(missing_ok=True)


def shares_by_key(
    batches: list[pa.RecordBatch], receivers: int, shares: int
) -> Iterator[list[pa.RecordBatch]]:
    """One receiver's rows (``take_in``) in as many shares, one after the other: equal keys share one.

    ``receivers`` is what ``receivers_by_key`` sent them by.
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


def receivers_by_key(keys: pa.ChunkedArray | pa.Array, receivers: int) -> np.ndarray:
    """A receiver for each binary key, by a hash of all its bytes: equal keys meet."""
    array = keys.combine_chunks() if isinstance(keys, pa.ChunkedArray) else keys
    if not len(array):
        return np.empty(0, np.int64)
    _, offsets_buffer, data_buffer = array.buffers()
    offsets = np.frombuffer(offsets_buffer, np.int32)[array.offset : array.offset + len(array) + 1]
    # Eight bytes more, so that a word may be read from anywhere.
    data = np.zeros(int(offsets[-1]) + _WORD, np.uint8)
    data[:-_WORD] = np.frombuffer(data_buffer or b"", np.uint8)[: int(offsets[-1])]
    hashes = _hashes(data, offsets[:-1].astype(np.int64), np.diff(offsets).astype(np.int64))
    return ((hashes >> np.uint64(33)) % np.uint64(receivers)).astype(np.int64)


def _hashes(data: np.ndarray, starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """64 bits per key, word by word; only the long keys take part in the later rounds."""
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


def _path(folder: Path, name: str, sender: int) -> Path:
    return folder / f"{name}-{sender:06}.rows"
