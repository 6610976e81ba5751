"""How full the two indexes of a segment are (``LogSegment.append``, R4, R41)."""

from collections.abc import Iterable
from typing import NamedTuple

from kcompact.digits import LONG_MAX


class IndexFill(NamedTuple):
    """The appends to a segment, and the entries that they made in its indexes.

    An append makes an entry once more than the interval has gone by since the last one: in the offset index,
    and in the time index if a newer timestamp was met.
    """

    appends: int = 0
    offset_entries: int = 0
    time_entries: int = 0
    since_entry_bytes: int = 0
    largest_timestamp_ms: int = -1
    entered_ms: int = -1  # the largest timestamp at the last entry

    def after(
        self,
        rows: Iterable[tuple[int, int]],
        interval_bytes: int,
        most_offset_entries: int = LONG_MAX,
        most_time_entries: int = LONG_MAX,
    ) -> "IndexFill":
        """With the next appends, bytes and timestamp of each, up to the first that meets a full index."""
        appends, offset_entries, time_entries, since, largest_ms, entered_ms = self
        if offset_entries >= most_offset_entries or time_entries >= most_time_entries:
            return self
        for size_bytes, timestamp_ms in rows:
            appends += 1
            if timestamp_ms > largest_ms:  # noqa: PLR1730  max() takes as long as all else here
                largest_ms = timestamp_ms
            if since <= interval_bytes:
                since += size_bytes
                continue
            offset_entries += 1
            time_entries += largest_ms > entered_ms
            since, entered_ms = size_bytes, largest_ms
            if offset_entries >= most_offset_entries or time_entries >= most_time_entries:
                break
        return IndexFill(appends, offset_entries, time_entries, since, largest_ms, entered_ms)
