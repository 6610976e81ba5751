"""How many keys the offset map of one cleaner thread holds (R11)."""

import math

from kcompact.broker.configs import SMALLEST_BUFFER_BYTES_PER_THREAD
from kcompact.rules.policy import Policy

ENTRY_BYTES = 24  # MD5 of the key, and an offset
DEFAULT_BUFFER_BYTES = 128 << 20
"""The broker's default of ``log.cleaner.dedupe.buffer.size``."""

DEFAULT_MAP_SLOTS = DEFAULT_BUFFER_BYTES // ENTRY_BYTES
"""Entries of a map in that buffer."""

_LARGEST_BUFFER_BYTES = 2**31 - 1


def map_slots(policy: Policy) -> int | None:
    """Entries that the buffer of a thread has room for; None: unlimited."""
    if policy.log_cleaner_dedupe_buffer_size is None:
        return None
    buffer_bytes = policy.log_cleaner_dedupe_buffer_size // policy.log_cleaner_threads
    return min(buffer_bytes, _LARGEST_BUFFER_BYTES) // ENTRY_BYTES


def map_limit(policy: Policy) -> int | None:
    """Keys after which the map counts as full; None: unlimited."""
    slots = map_slots(policy)
    return None if slots is None else int(slots * policy.log_cleaner_io_buffer_load_factor)


def utilization(entries: int, policy: Policy) -> float | None:
    """Filled slots, as a broker reports them: a full map shows the load factor. None: unlimited."""
    slots = map_slots(policy)
    return entries / slots if slots else None


def buffer_bytes_for(keys: int, policy: Policy) -> int | None:
    """The ``log.cleaner.dedupe.buffer.size`` with which ``keys`` fit into one map; None: no size will do."""
    slots = math.ceil(keys / policy.log_cleaner_io_buffer_load_factor)
    while int(slots * policy.log_cleaner_io_buffer_load_factor) < keys:  # rounding of floats
        slots += 1
    if slots * ENTRY_BYTES > _LARGEST_BUFFER_BYTES:
        return None
    return max(slots * ENTRY_BYTES, SMALLEST_BUFFER_BYTES_PER_THREAD + 1) * policy.log_cleaner_threads
