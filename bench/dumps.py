"""Write dumps for the benchmark: kcat JSON lines, CSV or Avro, the same bytes for the same seed.

Keys are drawn log-uniformly (Zipf with exponent 1): a few hot keys, a long tail. A partition is a function
of the key, as with Kafka's default partitioner; offsets ascend per partition; one record in twenty is a
tombstone.

    python bench/dumps.py --format kcat --records 1000000 orders.jsonl
"""

import argparse
import json
import math
import os
import zlib
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import cramjam
import numpy as np

CHUNK_RECORDS = 40_000
TOPIC = b"orders"
FIRST_TIMESTAMP_MS = 1_700_000_000_000
AVRO_SYNC = bytes(range(16))
AVRO_BLOCK_BYTES = 64_000  # Java's default is 64,000 too
AVRO_SCHEMA: dict[str, Any] = {
    "type": "record",
    "name": "KafkaRecord",
    "fields": [
        {"name": "topic", "type": "string"},
        {"name": "partition", "type": "int"},
        {"name": "offset", "type": "long"},
        {"name": "timestamp", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "key", "type": ["null", "bytes"]},
        {"name": "value", "type": ["null", "bytes"]},
    ],
}


@dataclass(frozen=True)
class DumpSpec:
    """The content of a dump; equal specs give equal bytes."""

    layout: str  # "kcat", "csv" or "avro"
    records: int
    keys: int  # how many keys there are to draw from; not all of them occur
    key_shape: str = "zipf"  # "zipf", "distinct", "equal" or "hot" (every second record has one key)
    value_shape: str = "text"  # "text", or "json": a JSON document, full of escaped quotes in kcat's lines
    value_bytes: int = 250
    partitions: int = 6
    tombstones: float = 0.05
    seed: int = 7


@dataclass(frozen=True)
class Chunk:
    """Some successive records as columns."""

    key_ids: np.ndarray
    partition: np.ndarray
    offset: np.ndarray
    timestamp_ms: np.ndarray
    is_tombstone: np.ndarray
    value_start: np.ndarray  # where in the pool of text the value is taken from


class Rows:
    """Rows of bytes of unequal length: columns of fixed width, and a mask of the bytes that count."""

    def __init__(self, rows: int) -> None:
        self.rows = rows
        self.columns: list[np.ndarray] = []
        self.masks: list[np.ndarray] = []

    def literal(self, text: bytes, where: np.ndarray | None = None) -> None:
        """The same bytes in every row, or only in the rows that ``where`` names."""
        column = np.broadcast_to(np.frombuffer(text, np.uint8), (self.rows, len(text)))
        self.column(column, np.ones(self.rows, bool) if where is None else where)

    def column(self, column: np.ndarray, mask: np.ndarray) -> None:
        """Bytes of shape (rows, width); the mask is of that shape or one bool per row."""
        self.columns.append(column)
        mask = mask if mask.ndim == 2 else mask[:, None]
        self.masks.append(np.broadcast_to(mask, column.shape))

    def number(self, values: np.ndarray) -> None:
        """Non-negative integers in decimal, without leading zeros."""
        width = len(str(int(values.max(initial=0))))
        powers = 10 ** np.arange(width - 1, -1, -1, dtype=np.int64)
        quotients = values[:, None] // powers
        mask = quotients > 0
        mask[:, -1] = True
        self.column((quotients % 10 + ord("0")).astype(np.uint8), mask)

    def varint(self, values: np.ndarray, where: np.ndarray | None = None) -> None:
        """Zig-zag varints of non-negative integers, as Avro writes int, long and lengths."""
        zigzag = values.astype(np.uint64) << np.uint64(1)
        groups = zigzag[:, None] >> (np.arange(9, dtype=np.uint64) * np.uint64(7))
        mask = groups > 0
        mask[:, 0] = True
        more = np.zeros(mask.shape, np.uint8)
        more[:, :-1] = mask[:, 1:] * 0x80
        if where is not None:
            mask &= where[:, None]
        self.column((groups & np.uint64(0x7F)).astype(np.uint8) | more, mask)

    def pack(self) -> tuple[np.ndarray, np.ndarray]:
        """All rows' bytes one after another, and the length of each row."""
        mask = np.concatenate(self.masks, axis=1)
        return np.concatenate(self.columns, axis=1)[mask], mask.sum(axis=1)


def draw(spec: DumpSpec, index: int) -> tuple[np.ndarray, np.ndarray]:
    """The key ids and partitions of a chunk; the offsets of later chunks depend on nothing else."""
    rng = np.random.default_rng([spec.seed, index, 0])
    first = index * CHUNK_RECORDS
    rows = min(CHUNK_RECORDS, spec.records - first)
    if spec.key_shape == "distinct":
        # A multiplication by an odd number modulo 2^40 hits every number once: distinct, and not ascending.
        key_ids = (np.arange(first, first + rows) * 0x9E3779B97F % (1 << 40)).astype(np.int64)
    elif spec.key_shape == "equal":
        key_ids = np.zeros(rows, np.int64)
    else:
        key_ids = np.exp(rng.random(rows) * math.log(spec.keys)).astype(np.int64)
    if spec.key_shape == "hot":
        key_ids[rng.random(rows) < 0.5] = 0
    return key_ids, (key_ids * 2654435761 % (1 << 32)) % spec.partitions


def chunk_of(spec: DumpSpec, index: int, next_offsets: np.ndarray) -> Chunk:
    """The columns of a chunk whose first record of partition p has the offset ``next_offsets[p]``."""
    key_ids, partition = draw(spec, index)
    rng = np.random.default_rng([spec.seed, index, 1])
    rows = len(key_ids)
    offset = np.empty(rows, np.int64)
    for number in range(spec.partitions):
        of_partition = np.flatnonzero(partition == number)
        offset[of_partition] = next_offsets[number] + np.arange(len(of_partition))
    first = index * CHUNK_RECORDS
    timestamp_ms = FIRST_TIMESTAMP_MS + np.arange(first, first + rows) * 3 + rng.integers(0, 3, rows)
    is_tombstone = rng.random(rows) < spec.tombstones
    return Chunk(key_ids, partition, offset, timestamp_ms, is_tombstone, rng.integers(0, POOL_BYTES, rows))


POOL_BYTES = 1 << 20


def text_pool(spec: DumpSpec) -> np.ndarray:
    """Random letters, digits and blanks, long enough to take a value from at any start below POOL_BYTES."""
    alphabet = np.frombuffer(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789  ", np.uint8)
    rng = np.random.default_rng([spec.seed, 1 << 40])
    return alphabet[rng.integers(0, len(alphabet), POOL_BYTES + spec.value_bytes)]


def add_key(rows: Rows, chunk: Chunk) -> None:
    rows.literal(b"customer-")
    rows.number(chunk.key_ids)


def key_bytes(chunk: Chunk) -> np.ndarray:
    """The length of each key."""
    digits = np.ones(len(chunk.key_ids), np.int64)
    for power in range(1, 13):
        digits += chunk.key_ids >= 10**power
    return digits + len(b"customer-")


def add_value(rows: Rows, spec: DumpSpec, chunk: Chunk, pool: np.ndarray, quote: bytes = b'"') -> None:
    """The value's bytes where there is one; ``quote`` is how the layout spells a quote inside a value."""
    where = ~chunk.is_tombstone
    text = np.lib.stride_tricks.sliding_window_view(pool, spec.value_bytes)[chunk.value_start]
    if spec.value_shape == "text":
        rows.column(text, where)
        return
    names = [b'{"id":"', b'","status":"', b'","customer":"', b'","note":"']
    left = spec.value_bytes - sum(map(len, names)) - len(b'"}')
    cuts = [0, 12, 20, 40, left]
    for name, (start, end) in zip(names, pairwise(cuts), strict=True):
        rows.literal(name.replace(b'"', quote), where)
        rows.column(text[:, start:end], where)
    rows.literal(b'"}'.replace(b'"', quote), where)


def kcat_rows(spec: DumpSpec, chunk: Chunk, pool: np.ndarray) -> Rows:
    """Lines as ``kcat -C -J`` prints them."""
    rows = Rows(len(chunk.offset))
    rows.literal(b'{"topic":"' + TOPIC + b'","partition":')
    rows.number(chunk.partition)
    rows.literal(b',"offset":')
    rows.number(chunk.offset)
    rows.literal(b',"tstype":"create","ts":')
    rows.number(chunk.timestamp_ms)
    rows.literal(b',"broker":0,"key":"')
    add_key(rows, chunk)
    rows.literal(b'","payload":')
    rows.literal(b"null", chunk.is_tombstone)
    rows.literal(b'"', ~chunk.is_tombstone)
    add_value(rows, spec, chunk, pool, rb"\"")
    rows.literal(b'"', ~chunk.is_tombstone)
    rows.literal(b"}\n")
    return rows


def csv_rows(spec: DumpSpec, chunk: Chunk, pool: np.ndarray) -> Rows:
    """RFC 4180; a tombstone is an unquoted empty field; values with quotes in them are quoted."""
    rows = Rows(len(chunk.offset))
    rows.literal(TOPIC + b",")
    for numbers in (chunk.partition, chunk.offset, chunk.timestamp_ms):
        rows.number(numbers)
        rows.literal(b",")
    add_key(rows, chunk)
    rows.literal(b",")
    is_quoted = ~chunk.is_tombstone if spec.value_shape == "json" else np.zeros(rows.rows, bool)
    rows.literal(b'"', is_quoted)
    add_value(rows, spec, chunk, pool, b'""')
    rows.literal(b'"', is_quoted)
    rows.literal(b"\n")
    return rows


def avro_rows(spec: DumpSpec, chunk: Chunk, pool: np.ndarray) -> Rows:
    """Records of AVRO_SCHEMA."""
    rows = Rows(len(chunk.offset))
    rows.literal(bytes([2 * len(TOPIC)]) + TOPIC)
    for numbers in (chunk.partition, chunk.offset, chunk.timestamp_ms):
        rows.varint(numbers)
    rows.literal(b"\x02")
    rows.varint(key_bytes(chunk))
    add_key(rows, chunk)
    rows.literal(b"\x00", chunk.is_tombstone)
    rows.literal(b"\x02", ~chunk.is_tombstone)
    rows.varint(np.full(rows.rows, spec.value_bytes), ~chunk.is_tombstone)
    add_value(rows, spec, chunk, pool)
    return rows


ROWS = {"kcat": kcat_rows, "csv": csv_rows, "avro": avro_rows}
SUFFIX = {"kcat": "jsonl", "csv": "csv", "avro": "avro"}


def avro_varint(value: int) -> bytes:
    """Zig-zag varint of one non-negative integer."""
    zigzag, out = value << 1, bytearray()
    while zigzag > 0x7F:
        out.append(zigzag & 0x7F | 0x80)
        zigzag >>= 7
    return bytes([*out, zigzag])


def avro_blocks(data: bytes, lengths: np.ndarray) -> bytes:
    """Snappy blocks of about AVRO_BLOCK_BYTES; a chunk starts a block of its own."""
    ends = np.cumsum(lengths)
    out, start, row = [], 0, 0
    while row < len(ends):
        last = min(int(np.searchsorted(ends, start + AVRO_BLOCK_BYTES)) + 1, len(ends))
        block = data[start : ends[last - 1]]
        packed = bytes(cramjam.snappy.compress_raw(block)) + zlib.crc32(block).to_bytes(4, "big")
        out.append(avro_varint(last - row) + avro_varint(len(packed)) + packed + AVRO_SYNC)
        start, row = int(ends[last - 1]), last
    return b"".join(out)


def write_chunk(spec: DumpSpec, index: int, next_offsets: np.ndarray) -> bytes:
    """A chunk's bytes."""
    data, lengths = ROWS[spec.layout](spec, chunk_of(spec, index, next_offsets), text_pool(spec)).pack()
    return avro_blocks(data.tobytes(), lengths) if spec.layout == "avro" else data.tobytes()


def partition_counts(spec: DumpSpec, index: int) -> np.ndarray:
    """How many records of each partition a chunk holds."""
    return np.bincount(draw(spec, index)[1], minlength=spec.partitions)


def header(layout: str) -> bytes:
    """The bytes before the first record."""
    if layout == "kcat":
        return b""
    if layout == "csv":
        return b"topic,partition,offset,timestamp,key,value\n"
    schema, codec = json.dumps(AVRO_SCHEMA).encode(), b"snappy"
    pairs = [(b"avro.schema", schema), (b"avro.codec", codec)]
    text = b"".join(avro_varint(len(part)) + part for pair in pairs for part in pair)
    return b"Obj\x01" + avro_varint(len(pairs)) + text + b"\x00" + AVRO_SYNC


def chunks_in_order(spec: DumpSpec, pool: ProcessPoolExecutor, window: int) -> Iterator[bytes]:
    """The chunks' bytes in order, while up to ``window`` of the next ones are being made."""
    indexes = range(math.ceil(spec.records / CHUNK_RECORDS))
    counts = pool.map(partition_counts, [spec] * len(indexes), indexes, chunksize=8)
    next_offsets = np.zeros(spec.partitions, np.int64)
    waiting: list[Future[bytes]] = []
    for index, count in zip(indexes, counts, strict=True):
        waiting.append(pool.submit(write_chunk, spec, index, next_offsets.copy()))
        next_offsets += count
        if len(waiting) > window:
            yield waiting.pop(0).result()
    yield from (future.result() for future in waiting)


def write_dump(spec: DumpSpec, path: Path) -> Path:
    """Write the dump, in parallel; an existing file of that name was made from the same spec and is kept."""
    if path.exists():
        return path
    unfinished = path.with_name(path.name + ".tmp")
    workers = os.cpu_count() or 1
    with ProcessPoolExecutor(workers) as pool, unfinished.open("wb") as out:
        out.write(header(spec.layout))
        for data in chunks_in_order(spec, pool, workers + 1):
            out.write(data)
    return unfinished.rename(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--format", choices=sorted(ROWS), default="kcat", dest="layout")
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--keys", type=int, help="keys to draw from (default: a tenth of the records)")
    parser.add_argument("--key-shape", choices=["zipf", "distinct", "equal", "hot"], default="zipf")
    parser.add_argument("--value-shape", choices=["text", "json"], default="text")
    parser.add_argument("--value-bytes", type=int, default=250)
    parser.add_argument("--partitions", type=int, default=6)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("path", type=Path)
    options = vars(parser.parse_args())
    path = options.pop("path")
    options["keys"] = options["keys"] or max(options["records"] // 10, 2)
    write_dump(DumpSpec(**options), path)


if __name__ == "__main__":
    main()
