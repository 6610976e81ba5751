"""How many keys the offset map of one cleaner thread holds (R11)."""

import math

from kcompact.broker.configs import SMALLEST_BUFFER_BYTES_PER_THREAD
from kcompact.rules.policy import Policy

ENTRY_BYTES = 24  # MD5 of the key, and an offset
DEFAULT_BUFFER_BYTES = 128 << 20
"""The broker's default of ``log.cleaner.dedupe.buffer.size``."""

DEFAULT_MAP_SLOTS = DEFAULT_BUFFER_BYTES // ENTRY_BYTES
"""How many entries fit into a buffer of DEFAULT_BUFFER_BYTES."""

_LARGEST_BUFFER_BYTES = 2**31 - 1


def map_slots(policy: Policy) -> int | None:
    """How many entries fit into the buffer of one thread, or None for an unlimited map."""
    if policy.log_cleaner_dedupe_buffer_size is None:
        return None
    buffer_bytes = policy.log_cleaner_dedupe_buffer_size // policy.log_cleaner_threads
    return min(buffer_bytes, _LARGEST_BUFFER_BYTES) // ENTRY_BYTES


def map_limit(policy: Policy) -> int | None:
    """How many keys make the map count as full, or None for an unlimited map."""
    slots = map_slots(policy)
    return None if slots is None else int(slots * policy.log_cleaner_io_buffer_load_factor)


def utilization(entries: int, policy: Policy) -> float | None:
    """The share of slots that ``entries`` fill, or None for an unlimited map.

    As in a broker's log, a full map shows the load factor, not 1.
    """
    slots = map_slots(policy)
    return entries / slots if slots else None


def buffer_bytes_for(keys: int, policy: Policy) -> int | None:
    """The smallest ``log.cleaner.dedupe.buffer.size`` whose maps hold ``keys``, None if no size is enough."""
    slots = math.ceil(keys / policy.log_cleaner_io_buffer_load_factor)
    while int(slots * policy.log_cleaner_io_buffer_load_factor) < keys:  # floats may have been rounded down
        slots += 1
    if slots * ENTRY_BYTES > _LARGEST_BUFFER_BYTES:
        return None
    return max(slots * ENTRY_BYTES, SMALLEST_BUFFER_BYTES_PER_THREAD + 1) * policy.log_cleaner_threads
