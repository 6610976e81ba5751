"""Sizes of records inside batches (R39, R40)."""

import numpy as np

from kcompact.arrays import Longs

BATCH_HEADER_BYTES = 61
_LARGEST_LENGTH_PREFIX = 5  # a record's length is a 32-bit varint


def varint_bytes(values: Longs) -> Longs:
    """Bytes of each value as a zig-zag varint."""
    zigzag = (values.astype(np.uint64) << np.uint64(1)) ^ (values >> np.int64(63)).astype(np.uint64)
    count = np.ones(len(values), np.int64)
    for bits in range(7, 64, 7):
        count += zigzag >= np.uint64(1) << np.uint64(bits)
    return count


def bytes_in_batch(log_bytes: Longs, timestamp_deltas_ms: Longs, offset_deltas: Longs) -> Longs:
    """Bytes of records inside a batch, its header not counted.

    ``log_bytes`` are their sizes alone in a batch, where both deltas are 0 and take one byte each.
    """
    alone = log_bytes - BATCH_HEADER_BYTES
    body = alone - 1
    for prefix in range(2, _LARGEST_LENGTH_PREFIX + 1):
        body = np.where(varint_bytes(body) == alone - body, body, alone - prefix)
    body = body - 2 + varint_bytes(timestamp_deltas_ms) + varint_bytes(offset_deltas)
    return body + varint_bytes(body)


def stamped_bytes(log_bytes: Longs, timestamps_ms: Longs, delete_horizon_ms: int) -> Longs:
    """Sizes of records alone in their batches once these carry a delete horizon, their new base timestamp."""
    deltas_ms = timestamps_ms - np.int64(delete_horizon_ms)
    return BATCH_HEADER_BYTES + bytes_in_batch(log_bytes, deltas_ms, np.zeros_like(deltas_ms))
