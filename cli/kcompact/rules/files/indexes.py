"""Index files of a segment whose batches are known (R41)."""

from collections.abc import Sequence
from itertools import accumulate

from kcompact.broker.batches import Batch
from kcompact.rules.files.segments import OFFSET_INDEX_ENTRY_BYTES, TIME_INDEX_ENTRY_BYTES
from kcompact.rules.policy import Policy


def index_bytes(batches: Sequence[Batch], policy: Policy) -> tuple[int, int]:
    """Offset and time index: an entry whenever the interval is passed, and one on closing the segment."""
    entries = times = since = 0
    newest_ms = list(accumulate((batch.max_timestamp_ms for batch in batches), max))
    entered_ms = -1
    for so_far_ms, batch in zip(newest_ms, batches, strict=True):
        if since > policy.index_interval_bytes:
            entries, since = entries + 1, 0
            times, entered_ms = times + (so_far_ms > entered_ms), so_far_ms
        since += batch.size_bytes
    times += bool(newest_ms) and newest_ms[-1] > entered_ms  # on closing the segment
    return entries * OFFSET_INDEX_ENTRY_BYTES, times * TIME_INDEX_ENTRY_BYTES
