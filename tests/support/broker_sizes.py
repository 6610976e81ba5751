"""Sizes of records and batches, counted part by part (R40)."""

from collections.abc import Iterable

from kcompact.dumps.records.record import Record


def varint_bytes(number: int) -> int:
    """Bytes of a zig-zag varint."""
    zigzag = number << 1 if number >= 0 else (-number << 1) - 1
    return max(1, -(-zigzag.bit_length() // 7))


def record_bytes(record: Record, base_offset: int, base_timestamp_ms: int) -> int:
    """Bytes of one record inside a batch (R40)."""
    body = (
        1 + varint_bytes(record.timestamp_ms - base_timestamp_ms) + varint_bytes(record.offset - base_offset)
    )
    for part in (record.key, record.value):
        body += varint_bytes(-1) if part is None else varint_bytes(len(part)) + len(part)
    body += varint_bytes(len(record.headers))
    for name, value in record.headers:
        raw = name.encode()
        body += varint_bytes(len(raw)) + len(raw)
        body += varint_bytes(-1) if value is None else varint_bytes(len(value)) + len(value)
    return varint_bytes(body) + body


def batch_bytes(records: Iterable[Record], base_offset: int, base_timestamp_ms: int) -> int:
    """Bytes of an uncompressed batch (R40)."""
    return 61 + sum(record_bytes(record, base_offset, base_timestamp_ms) for record in records)
