"""A record, and the index row that stands for it."""

import hashlib
from functools import cache
from typing import NamedTuple

import pyarrow as pa

from kcompact.arrays import Flags, flags_of

LARGEST_RECORD_BYTES = 2**31 - 1  # Kafka's sizes, and our columns of them, are 32 bits


class Record(NamedTuple):
    """One record as its dump tells it, decoded: keys, values and header values are the bytes they stand for.

    ``timestamp_ms`` is -1 where the broker gave none. ``key`` None is "no key", ``value`` None a tombstone
    (if there is a key); zero length is neither.
    """

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    timestamp_type: str | None = None  # "create", "logappend" or None
    is_control: bool = False
    is_delete: bool = False  # a change event that deletes a row (--cdc): a tombstone, though it has a value


INDEX_SCHEMA = pa.schema(
    [
        pa.field("log_id", pa.int64(), nullable=False),  # log_id_of(topic, partition)
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("key", pa.binary()),
        pa.field("timestamp_ms", pa.int64(), nullable=False),
        pa.field("is_tombstone", pa.bool_(), nullable=False),  # null value, or is_delete (key or not)
        pa.field("split_id", pa.int32(), nullable=False),
        pa.field("position", pa.int64(), nullable=False),  # ascends in the order of the split's records
        pa.field("record_bytes", pa.int32(), nullable=False),  # bytes in the dump
    ]
)
"""One row per record. ``position`` and ``record_bytes`` are what ``Layout.copy`` needs; it defines them."""


def are_tombstones(rows: pa.RecordBatch | pa.Table) -> Flags:
    """Flags of the index rows that delete a key; a null value in a record without a key deletes nothing."""
    return flags_of(rows.column("is_tombstone")) & flags_of(rows.column("key").is_valid())


EXTRA_FIELDS = {
    field.name: field
    for field in [
        pa.field("log_bytes", pa.int32(), nullable=False),  # R40: of an uncompressed v2 batch of it alone
        pa.field("is_control", pa.bool_(), nullable=False),
        pa.field("value_hash", pa.binary(), nullable=False),  # of the value alone: content_hashes.py
        pa.field("headers_hash", pa.binary(), nullable=False),  # headers_hash(record.headers)
        pa.field("value_kind", pa.int8(), nullable=False),  # VALUE_* below
        pa.field("is_debezium_delete", pa.bool_(), nullable=False),  # op "d" in a Debezium envelope
    ]
}
"""Columns that a caller may ask for beside INDEX_SCHEMA, in this order."""

HASH_BYTES = 16

VALUE_PRESENT, VALUE_NULL, VALUE_EMPTY, VALUE_WORD_NULL = 0, 1, 2, 3


@cache
def index_schema(extra: frozenset[str] = frozenset()) -> pa.Schema:
    """INDEX_SCHEMA followed by the ``extra`` columns asked for, in EXTRA_FIELDS' order."""
    return pa.schema([*INDEX_SCHEMA, *(f for name, f in EXTRA_FIELDS.items() if name in extra)])


def log_id_of(topic: str, partition: int) -> int:
    """The signed 64-bit id of a log, a hash of topic and partition: all workers compute the same one."""
    digest = hashlib.blake2b(f"{topic}\0{partition}".encode("utf-8", "surrogateescape"), digest_size=8)
    return int.from_bytes(digest.digest(), "big", signed=True)


def headers_hash(headers: tuple[tuple[str, bytes | None], ...]) -> bytes:
    """A 128-bit hash of the names and values of all headers, in order; empty bytes if there are none."""
    if not headers:
        return b""
    digest = hashlib.blake2b(digest_size=HASH_BYTES)
    for name, value in headers:
        for part in (name.encode("utf-8", "surrogateescape"), value):
            # Each part has its length in front, so that no two lists of parts give the same bytes.
            digest.update(b"-" if part is None else str(len(part)).encode() + b":" + part)
    return digest.digest()
