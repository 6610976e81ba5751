"""From decoded records to index rows, and the columns of many records computed at once."""

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from kcompact.arrays import flags_of
from kcompact.broker.log_names import LogName
from kcompact.dumps.json.canonical_json import values_as_compared
from kcompact.dumps.records.content_hashes import ABSENT, value_hashes
from kcompact.dumps.records.headers import Headers
from kcompact.dumps.records.layout import SplitNotes, SplitToIndex
from kcompact.dumps.records.reading import REPLACEMENT
from kcompact.dumps.records.record import (
    VALUE_EMPTY,
    VALUE_NULL,
    VALUE_PRESENT,
    VALUE_WORD_NULL,
    Record,
    headers_hash,
    index_schema,
    log_id_of,
)

Entry = tuple[int, int, Record]  # position, record_bytes, record
_BATCH_ROWS = 16_384
_GATHERED_BYTES = 1 << 20
_BATCH_OVERHEAD_BYTES = 61  # of every batch, whatever its records (R40)
_RECORD_OVERHEAD_BYTES = 3  # attributes, timestamp delta and offset delta of a batch's first record
_DEBEZIUM_DELETE = re.compile(rb'"op"\s*:\s*"d"')


def index_rows(items: Iterable[Entry], part: SplitToIndex, extra: frozenset[str]) -> Iterator[pa.RecordBatch]:
    """Rows of ``index_schema(extra)`` for records in the order of their split; their logs are noted."""
    schema = index_schema(extra)
    log_ids: dict[tuple[str, int], int] = {}
    rows = iter(items)
    while chunk := list(islice(rows, _BATCH_ROWS)):
        ids = []
        for _, _, record in chunk:
            log = record.topic, record.partition
            if log not in log_ids:
                log_ids[log] = log_id_of(*log)
                part.notes.logs[log_ids[log]] = LogName(*log)
            ids.append(log_ids[log])
        columns = [ids, *_fixed_columns(chunk, part.split.split_id)]
        records = [record for _, _, record in chunk]
        columns += [_extra_column(name, records, part) for name in schema.names[len(columns) :]]
        yield pa.RecordBatch.from_arrays(
            [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)],
            schema=schema,
        )


def gathered(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same rows with small batches joined, as each batch costs its readers a millisecond."""
    waiting: list[pa.RecordBatch] = []
    waiting_bytes = 0
    for batch in batches:
        waiting.append(batch)
        waiting_bytes += batch.nbytes
        if waiting_bytes >= _GATHERED_BYTES:
            yield _in_one(waiting)
            waiting, waiting_bytes = [], 0
    if waiting:
        yield _in_one(waiting)


def _in_one(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    return pa.concat_batches(batches) if len(batches) > 1 else batches[0]  # a single one need not be copied


def _extra_column(name: str, records: list[Record], part: SplitToIndex) -> Any:
    if name == "value_hash":
        values = [record.value for record in records]
        return value_hashes(values_as_compared(values) if part.values_as_json else values, part.hash_secret)
    return list(map(EXTRA[name], records))


def _fixed_columns(chunk: list[Entry], split_id: int) -> list[list[Any]]:
    """INDEX_SCHEMA's columns after ``log_id``."""
    records = [record for _, _, record in chunk]
    return [
        [record.offset for record in records],
        [record.key for record in records],
        [record.timestamp_ms for record in records],
        [record.value is None or record.is_delete for record in records],
        [split_id] * len(chunk),
        [position for position, _, _ in chunk],
        [record_bytes for _, record_bytes, _ in chunk],
    ]


def log_bytes(record: Record) -> int:
    """Bytes of an uncompressed v2 batch that holds this record alone (R40)."""
    body = _RECORD_OVERHEAD_BYTES + _sized(record.key) + _sized(record.value)
    body += headers_log_bytes(record.headers)
    return _BATCH_OVERHEAD_BYTES + _varint_bytes(body) + body


def headers_log_bytes(headers: Headers) -> int:
    """Bytes of a record's headers, with their count, in a v2 batch."""
    sizes = (_sized(name.encode("utf-8", "surrogateescape")) + _sized(value) for name, value in headers)
    return _varint_bytes(len(headers)) + sum(sizes)


def _sized(data: bytes | None) -> int:
    return 1 if data is None else _varint_bytes(len(data)) + len(data)


def _varint_bytes(value: int) -> int:
    """The length of a zigzag varint, for a value that is not negative."""
    return max(1, ((value << 1).bit_length() + 6) // 7)


def value_kind(value: bytes | None) -> int:
    """VALUE_NULL, VALUE_EMPTY, VALUE_WORD_NULL for the text ``null`` (no tombstone), else VALUE_PRESENT."""
    if value is None:
        return VALUE_NULL
    if value == b"null":
        return VALUE_WORD_NULL
    return VALUE_PRESENT if value else VALUE_EMPTY


def is_debezium_delete(value: bytes | None) -> bool:
    """Whether the value is a Debezium envelope (with its schema or without) that deletes a row."""
    if value is None or not _DEBEZIUM_DELETE.search(value):
        return False
    try:
        parsed = orjson.loads(value)
    except orjson.JSONDecodeError:
        return False
    payload = parsed.get("payload", parsed) if isinstance(parsed, dict) else None
    return isinstance(payload, dict) and payload.get("op") == "d" and "before" in payload


EXTRA: dict[str, Callable[[Record], Any]] = {
    "log_bytes": log_bytes,
    "is_control": lambda record: record.is_control,
    "headers_hash": lambda record: headers_hash(record.headers),
    "value_kind": lambda record: value_kind(record.value),
    "is_debezium_delete": lambda record: is_debezium_delete(record.value),
}
"""A function for each of EXTRA_FIELDS except ``value_hash``, which is computed for many records at once."""


def may_hold_replacements(rows: pa.RecordBatch) -> bool:
    """Whether any key has a byte of 0xEF or more, without which no key has U+FFFD; a quick test."""
    data = rows.column("key").buffers()[2]
    return data is not None and np.frombuffer(data, np.uint8).max(initial=0) >= REPLACEMENT[0]


def count_replacements(rows: pa.RecordBatch, notes: SplitNotes) -> None:
    """Count keys with U+FFFD, which a tool that rewrote the dump may have put in place of other bytes."""
    notes.count("replacement_keys", pc.sum(pc.match_substring(rows.column("key"), REPLACEMENT)).as_py() or 0)


def count_time_steps(rows: pa.RecordBatch, notes: SplitNotes) -> None:
    """Count records with an earlier timestamp than the one before them in the same log, and later ones."""
    log_ids = rows.column("log_id").to_numpy()
    order = np.argsort(log_ids, kind="stable")
    steps = np.diff(rows.column("timestamp_ms").to_numpy()[order])[np.diff(log_ids[order]) == 0]
    notes.count("earlier_records", int(np.count_nonzero(steps < 0)))
    notes.count("later_records", int(np.count_nonzero(steps > 0)))


CONTENT_EXTRA = frozenset({"log_bytes", "is_control", "value_hash", "headers_hash"})
"""The columns of EXTRA_FIELDS that can be computed for many records at once."""

_VARINT_STEPS = [1 << (7 * groups - 1) for groups in range(1, 6)]  # least value of 2 bytes, of 3, ...


def log_bytes_of(key_bytes: np.ndarray, value_bytes: np.ndarray, headers_bytes: np.ndarray) -> pa.Array:
    """``log_bytes`` (int32) of records from the lengths of keys and values in bytes (ABSENT: null).

    ``headers_bytes`` are those of ``headers_log_bytes``.
    """
    body = _RECORD_OVERHEAD_BYTES + _all_sized(key_bytes) + _all_sized(value_bytes) + headers_bytes
    return pa.array((_BATCH_OVERHEAD_BYTES + _all_varint_bytes(body) + body).astype(np.int32))


def lengths_of(values: pa.Array) -> np.ndarray:
    """The length in bytes of each binary value, as int64; ABSENT for null."""
    offsets = np.frombuffer(values.buffers()[1], np.int32)[values.offset : values.offset + len(values) + 1]
    is_null = flags_of(values.is_null())
    return np.where(is_null, ABSENT, np.diff(offsets).astype(np.int64))


def _all_sized(lengths: np.ndarray) -> np.ndarray:
    sizes = np.maximum(lengths, 0)
    return np.where(lengths < 0, 1, _all_varint_bytes(sizes) + sizes)


def _all_varint_bytes(values: np.ndarray) -> np.ndarray:
    """The lengths of zigzag varints, for values that are not negative and below 2**34."""
    if values.max(initial=0) < len(_SMALL_VARINT_BYTES):
        return _SMALL_VARINT_BYTES[values]
    return _varint_groups(values)


def _varint_groups(values: np.ndarray) -> np.ndarray:
    return 1 + np.searchsorted(_VARINT_STEPS, values, side="right")


_SMALL_VARINT_BYTES = _varint_groups(np.arange(1 << 16)).astype(np.int8)  # most are in this table: no search
