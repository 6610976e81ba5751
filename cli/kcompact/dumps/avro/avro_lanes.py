"""Index rows of many Avro blocks at once: every block is a lane, and all lanes take a record at a time.

Whatever does not fit (few blocks, a schema within itself, a null offset, damage) is left to the exact reader,
which is several times slower and knows what to say about it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kcompact.dumps.avro.avro_container import Block
from kcompact.dumps.avro.avro_reader import AvroHeaders, AvroReader
from kcompact.dumps.avro.avro_records import DAMAGE
from kcompact.dumps.avro.avro_steps import ABSENT, PADDING_BYTES, Array, Lanes, Misfit, Step, compile_steps
from kcompact.dumps.dialects.dialect import Dialect
from kcompact.dumps.records.contents import CONTENT_EXTRA, Contents, hashes_of_ranges, lengths_of
from kcompact.dumps.records.layout import DumpFile, Split, SplitNotes
from kcompact.dumps.records.reading import REPLACEMENT
from kcompact.dumps.records.record import INDEX_SCHEMA, index_schema, log_id_of

FEWEST_LANES = 48  # with fewer, an array operation is mostly overhead
BATCH_ROWS = 65_536
_ROLES = ("topic", "partition", "offset", "timestamp", "key", "value")
_CONTENT_ROLES = (*_ROLES, "headers")
_LARGEST_PARTITION = 2**31 - 1
_PER_MS = {"ms": 1, "us": 1000, "ns": 1_000_000}
_SMALLEST_US, _SMALLEST_NS = 10**14, 10**17
_TABLE_SIZE = 1 << 16


@dataclass(frozen=True)
class Chunk:
    """Neighbouring blocks, unpacked."""

    blocks: Sequence[Block]
    unpacked: Sequence[bytes]


class LaneReader:
    """Reads chunks of one split. ``steps`` None: this file's schema cannot be read so."""

    def __init__(
        self, file: DumpFile, split: Split, notes: SplitNotes, extra: frozenset[str] = frozenset()
    ) -> None:
        self._file, self._split, self._notes = file, split, notes
        self._schema = index_schema(extra)
        self._dialect: Dialect = file.dialect
        self.steps: Step | None = None
        dialect = self._dialect
        ruled = dialect.null_literal or "null" in (dialect.empty_key, dialect.empty_value)
        told = not extra or (extra <= CONTENT_EXTRA and dialect.value != "")
        if told and dialect.offset is not None and not ruled and dialect.timestamp_unit in {"auto", *_PER_MS}:
            reader = AvroReader(file, SplitNotes(), values=False)
            roles = _CONTENT_ROLES if extra else _ROLES
            paths = {role: path for role, path in reader.paths.items() if role in roles and path}
            self._headers = AvroHeaders(reader)
            nested = any(
                one != two and one == two[: len(one)] for one in paths.values() for two in paths.values()
            )
            self.steps = None if nested else compile_steps(reader.wire, paths, contents=bool(extra))

    def read(self, chunk: Chunk) -> list[pa.RecordBatch] | None:
        """The rows of a chunk, in the order of its records; None: read them one by one."""
        if self.steps is None or len(chunk.blocks) < FEWEST_LANES:
            return None
        try:
            return self._batches(chunk, *_walk(self.steps, chunk))
        except (Misfit, *DAMAGE):  # such as a length that points out of the chunk
            return None

    def _batches(self, chunk: Chunk, lanes: Lanes, starts: Array) -> list[pa.RecordBatch]:
        rows = lanes.rows
        logs, wanted = self._logs(lanes)
        counts = np.array([block.count for block in chunk.blocks])
        bases = np.array([block.position - self._split.start for block in chunk.blocks], dtype=np.int64) << 32
        sizes = np.array([len(data) for data in chunk.unpacked], dtype=np.int64)
        lane_starts = np.cumsum(sizes) - sizes
        keys = self._keys(lanes)
        contents = self._contents(lanes, keys)
        columns = [
            logs,
            _required(lanes, "offset"),
            keys,
            self._timestamps(lanes),
            self._is_null(lanes),
            np.full(rows, self._split.split_id, dtype=np.int32),
            np.repeat(bases - lane_starts, counts) + starts[:rows],
            np.diff(starts).astype(np.int32),
            *contents,
        ]
        for name in ("record", "key", "value"):
            self._notes.fields_seen[name] = self._notes.fields_seen.get(name, 0) + rows
        batch = pa.RecordBatch.from_arrays([pa.array(column) for column in columns], schema=self._schema)
        batch = batch if wanted is None else batch.filter(pa.array(wanted))
        return [batch.slice(first, BATCH_ROWS) for first in range(0, batch.num_rows, BATCH_ROWS)]

    def _is_null(self, lanes: Lanes) -> Array:
        if len(self._schema) > len(INDEX_SCHEMA):
            return lanes.column("value.length", ABSENT) < 0
        return lanes.column("value.there", int(self._dialect.value == "")) == 0

    def _contents(self, lanes: Lanes, keys: pa.Array) -> list[pa.Array]:
        """The columns behind INDEX_SCHEMA."""
        names = self._schema.names[len(INDEX_SCHEMA) :]
        if not names:
            return []
        starts, lengths = lanes.column("value.start", 0), lanes.column("value.length", ABSENT)
        hashes = hashes_of_ranges(lanes.data.data, starts, lengths)
        headers, codes = self._headers.of(_gathered(lanes, "headers"))
        contents = Contents(lengths_of(keys), lengths, hashes, headers, codes)
        return [contents.column(name) for name in names]

    def _timestamps(self, lanes: Lanes) -> Array:
        """Milliseconds, by the rules of timestamps.timestamp_ms; counted as reading.FieldRules counts."""
        if self._dialect.timestamp is None:
            return np.full(lanes.rows, -1, dtype=np.int64)
        raw, there = lanes.column("timestamp", 0), lanes.column("timestamp.there", 0) == 1
        unit = self._dialect.timestamp_unit
        if unit == "auto":
            self._count("timestamps", there)
            self._count("ten_digit_timestamps", there & (raw >= 10**9) & (raw < 10**10))
            found = np.where(raw >= _SMALLEST_US, raw // 1000, raw)
            found = np.where(raw >= _SMALLEST_NS, raw // 1_000_000, found)
        else:
            found = raw // _PER_MS[unit]
        return np.where(there & (raw >= 0), found, -1)

    def _count(self, name: str, where: Array) -> None:
        if number := int(np.count_nonzero(where)):
            self._notes.counts[name] = self._notes.counts.get(name, 0) + number

    def _keys(self, lanes: Lanes) -> pa.Array:
        if self._dialect.key is None:
            return pa.nulls(lanes.rows, pa.binary())
        if "key" in lanes.columns:
            absent = lanes.column("key.there", 0) == 0
            return pa.array(lanes.column("key", 0), mask=absent).cast(pa.string()).cast(pa.binary())
        keys = _gathered(lanes, "key")
        if not self._dialect.byte_exact and pc.any(pc.match_substring(keys, REPLACEMENT)).as_py():
            raise Misfit  # the exact reader counts them
        return keys

    def _logs(self, lanes: Lanes) -> tuple[Array, Array | None]:
        """Log ids, and which rows the user asked for (None: all)."""
        topics, codes = self._topics(lanes)
        partitions = _required(lanes, "partition") if self._dialect.partition is not None else None
        if partitions is None:
            partitions = np.full(lanes.rows, self._file.partition or 0, dtype=np.int64)
        if lanes.rows and (int(partitions.min()) < 0 or int(partitions.max()) > _LARGEST_PARTITION):
            raise Misfit
        span = int(partitions.max()) + 1 if lanes.rows else 1
        if span * len(topics) > _TABLE_SIZE:
            raise Misfit
        both = codes * span + partitions
        table = np.zeros(span * len(topics), dtype=np.int64)
        wants = np.ones(len(table), dtype=bool)
        for code in np.flatnonzero(np.bincount(both, minlength=len(table))).tolist():
            log = topics[code // span], code % span
            table[code], wants[code] = log_id_of(*log), self._file.wants(*log)
            if wants[code]:
                self._notes.logs[int(table[code])] = log
            else:
                self._notes.left_out.add(log)
        return table[both], None if wants.all() else wants[both]

    def _topics(self, lanes: Lanes) -> tuple[list[str], Array]:
        """The topics of a chunk, and the number of each record's."""
        codes = np.zeros(lanes.rows, dtype=np.int64)
        if self._dialect.topic is None:
            return [self._file.topic or ""], codes
        starts, lengths = lanes.column("topic.start", 0), lanes.column("topic.length", ABSENT)
        if (lengths < 0).any():
            raise Misfit
        if not lanes.rows or _all_alike(lanes, starts, lengths):
            first = lanes.data[starts[0] : starts[0] + lengths[0]].tobytes() if lanes.rows else b""
            return [first.decode("utf-8", "surrogateescape")], codes
        found = _gathered(lanes, "topic").dictionary_encode()
        names = [name.decode("utf-8", "surrogateescape") for name in found.dictionary.to_pylist()]
        return names, found.indices.to_numpy().astype(np.int64)


def _walk(steps: Step, chunk: Chunk) -> tuple[Lanes, Array]:
    """Take all records of all lanes. The second result: where each record starts, and where the last ends."""
    counts = np.array([block.count for block in chunk.blocks])
    sizes = np.array([len(data) for data in chunk.unpacked], dtype=np.int64)
    lanes = Lanes(_joined(chunk.unpacked, int(sizes.sum())), int(counts.sum()))
    order = np.argsort(-counts, kind="stable")  # lanes that still have records are always the first ones
    first_rows = (np.cumsum(counts) - counts)[order]
    ends = np.cumsum(sizes)
    at = (ends - sizes)[order]
    counts, lane_ends = counts[order], ends[order]
    starts = np.empty(lanes.rows + 1, dtype=np.int64)
    starts[-1] = lanes.end
    active = len(counts) - np.searchsorted(counts[::-1], np.arange(int(counts[0])), side="right")
    for number, live in enumerate(active.tolist()):
        rows = first_rows[:live] + number
        starts[rows] = at[:live]
        at[:live] = steps(lanes, at[:live].copy(), rows)
        if (at[:live] > lane_ends[:live]).any():
            raise Misfit
    if not np.array_equal(at, lane_ends):
        raise Misfit
    return lanes, starts


def _joined(parts: Sequence[bytes], size: int) -> Array:
    """All parts, one behind the other, and the padding. Joined as bytes they take twice as long.

    The system gives numpy's large arrays large pages.
    """
    data = np.empty(size + PADDING_BYTES, dtype=np.uint8)
    view, at = data.data, 0
    for part in parts:
        view[at : at + len(part)] = part
        at += len(part)
    data[at:] = 0
    return data


def _required(lanes: Lanes, name: str) -> Array:
    """A column of whole numbers without nulls or negative ones. Raises Misfit."""
    column = lanes.column(name, 0)
    if (lanes.column(f"{name}.there", 0) == 0).any() or (column < 0).any():
        raise Misfit
    return column


def _all_alike(lanes: Lanes, starts: Array, lengths: Array) -> bool:
    """Whether all ranges hold the same bytes, eight compared at a time."""
    length = int(lengths[0])
    if (lengths != length).any():
        return False
    for done in range(0, length, 8):
        mask = np.uint64((1 << 8 * min(8, length - done)) - 1)
        words = lanes.words[starts + done] & mask
        if (words != words[0]).any():
            return False
    return True


def _gathered(lanes: Lanes, name: str) -> pa.Array:
    """The bytes of the ranges of a column, null where ABSENT.

    Arrow copies them: seen as an array of ranges and the gaps between them, every second element is wanted.
    """
    lengths = lanes.column(f"{name}.length", ABSENT)
    starts = np.maximum.accumulate(lanes.column(f"{name}.start", 0))
    bounds = np.empty(2 * lanes.rows + 1, dtype=np.int32)
    bounds[:-1:2] = starts
    bounds[1::2] = starts + np.maximum(lengths, 0)
    bounds[-1] = bounds[-2] if lanes.rows else 0
    buffers = [None, pa.py_buffer(bounds), pa.py_buffer(lanes.data)]
    ranges = pa.Array.from_buffers(pa.binary(), 2 * lanes.rows, buffers)
    return ranges.take(pa.array(np.arange(0, 2 * lanes.rows, 2), mask=lengths < 0))
