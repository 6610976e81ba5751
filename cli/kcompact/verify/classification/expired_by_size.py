"""Records that ``retention.bytes`` may have taken from the front of a log (R53)."""

from collections.abc import Mapping
from itertools import accumulate

import numpy as np

from kcompact.arrays import Longs
from kcompact.rules.lookups import rows_of_logs
from kcompact.verify.classification.bounds import Bounds
from kcompact.verify.classification.known_log import PairFacts
from kcompact.verify.rows.key_rows import BEFORE_ALL, BEHIND_ALL
from kcompact.verify.rows.pairs import Pairs, Share

BINS = 1 << 14
"""Into how many ranges of offsets a log's bytes are counted at a time."""

Range = tuple[int, int]


def expired_end_offsets(
    pairs: Pairs, facts: Mapping[int, PairFacts], bounds: Mapping[int, Bounds]
) -> dict[int, int]:
    """By log id, the offset below which ``retention.bytes`` may have taken records, of logs that it limits.

    A segment goes if the log after it is at least ``retention.bytes``. Sizes are those before the cleaning:
    the cleaner's threads clean logs and delete segments in turn (R52), so that retention may have seen these
    sizes, and with the smaller ones after a cleaning fewer segments go. If no segments are known, any record
    may end one.
    """
    limits = {
        i: limit
        for i, log_bounds in bounds.items()
        if (limit := log_bounds.policy.retained_bytes) is not None and i in facts
    }
    ends = {i: _behind_segments(bounds[i], limit) for i, limit in limits.items() if bounds[i].segments}
    unsegmented = {i: limit for i, limit in limits.items() if i not in ends}
    return ends | _behind_records(pairs, facts, unsegmented)


def _behind_segments(bounds: Bounds, retention_bytes: int) -> int:
    """The base of the last segment from which on the log has ``retention_bytes``; with 0 bytes all may go."""
    if retention_bytes == 0:
        return BEHIND_ALL
    bases = [base for base, _ in bounds.segments]
    sizes = list(accumulate(size for _, size in reversed(bounds.segments)))[::-1]
    return max(
        (base for base, tail in zip(bases, sizes, strict=True) if tail >= retention_bytes), default=BEFORE_ALL
    )


def _behind_records(
    pairs: Pairs, facts: Mapping[int, PairFacts], limits: Mapping[int, int]
) -> dict[int, int]:
    """By log id, the last offset from which on the log has its ``limits`` bytes.

    It is found by counting bytes in ever smaller ranges of offsets.
    """
    ends = {i: BEHIND_ALL for i, limit in limits.items() if limit == 0}
    ranges = {i: (facts[i].before_first_offset, facts[i].before_end_offset) for i in limits if i not in ends}
    behind = dict.fromkeys(ranges, 0)  # bytes after the range
    while ranges:
        counted = _bytes_in_bins(pairs, ranges)
        for log_id, (start, end) in list(ranges.items()):
            bins = counted.get(log_id, np.zeros(BINS, np.int64))
            bytes_after = np.cumsum(bins[::-1])[::-1] + behind[log_id]
            enough = np.flatnonzero(bytes_after >= limits[log_id])
            width = _width(start, end)
            if not len(enough):
                ends[log_id] = BEFORE_ALL
                del ranges[log_id]
                continue
            at = int(enough[-1])
            behind[log_id] = int(bytes_after[at] - bins[at])
            ranges[log_id] = (start + at * width, min(end, start + (at + 1) * width))
            if width == 1:
                ends[log_id] = start + at
                del ranges[log_id]
    return ends


def _bytes_in_bins(pairs: Pairs, ranges: Mapping[int, Range]) -> dict[int, Longs]:
    """BEFORE's bytes (estimates, R40) in BINS ranges of equal width, by log."""
    range_of_log = dict(ranges)

    def look(share: Share) -> dict[int, Longs]:
        before = share[0]
        offset, log_bytes = before["offset"].to_numpy(), before["log_bytes"].to_numpy()
        counted = {}
        for log_id, at in rows_of_logs(before["log_id"].to_numpy()):
            if log_id in range_of_log:
                start, end = range_of_log[log_id]
                inside = at[(offset[at] >= start) & (offset[at] < end)]
                bins = (offset[inside] - start) // _width(start, end)
                counted[log_id] = np.bincount(bins, log_bytes[inside], BINS).astype(np.int64)
        return counted

    whole: dict[int, Longs] = {}
    for part in pairs.ask(look):
        for log_id, bins in part.items():
            whole[log_id] = whole[log_id] + bins if log_id in whole else bins
    return whole


def _width(start: int, end: int) -> int:
    return max(1, -(-(end - start) // BINS))
