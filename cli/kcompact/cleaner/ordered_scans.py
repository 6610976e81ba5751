"""Scans over the records of logs in the order of offsets: one rolls segments (R4), one finds full maps."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kcompact.arrays import flags_of
from kcompact.cleaner.tracked import Tracked
from kcompact.rules.files.segment_roller import Appends, Roller, roll_settings
from kcompact.rules.files.segments import SegmentState, estimated_index_bytes
from kcompact.rules.policy import Policy
from kcompact.rules.rounds import MapScan, ScanLimits


@dataclass
class _Content:
    """The content of one segment so far."""

    base_offset: int
    first_timestamp_ms: int
    records: int = 0
    size_bytes: int = 0
    largest_timestamp_ms: int = -1


@dataclass
class RolledLog:
    """The segments into which the records of one log roll. Each record counts as a batch.

    Records are appended in the order of offsets, in chunks of any size.
    """

    policy: Policy
    roller: Roller
    contents: list[_Content] = field(default_factory=list)

    def append(self, records: Appends) -> None:
        """Append the next records."""
        starts = self.roller.starts(records)
        for i, (start, end) in enumerate(pairwise([0, *starts, len(records.offsets)])):
            if i > 0:
                first_ms = int(records.timestamps_ms[start])
                self.contents.append(_Content(int(records.offsets[start]), first_ms))
            if start < end:
                content, newest_ms = self.contents[-1], int(records.timestamps_ms[start:end].max())
                content.records += end - start
                content.size_bytes += int(records.sizes_bytes[start:end].sum())
                content.largest_timestamp_ms = max(content.largest_timestamp_ms, newest_ms)

    def segments(self) -> Iterator[SegmentState]:
        """All segments in order; the last one is active."""
        for content in self.contents:
            indexes = estimated_index_bytes(content.records, content.size_bytes, self.policy)
            yield SegmentState(
                content.base_offset,
                content.size_bytes,
                content.largest_timestamp_ms,
                content.first_timestamp_ms,
                None,
                *indexes,
            )


def roll_segments(tracked: Tracked, policies: Mapping[int, Policy]) -> dict[int, tuple[SegmentState, ...]]:
    """The rolled segments of each log in ``policies``."""
    logs = {i: RolledLog(policy, Roller(roll_settings(policy))) for i, policy in policies.items()}
    return {i: tuple(rolled.segments()) for i, rolled in tracked.in_turn(logs, _append).items()}


def _append(log: RolledLog, rows: pa.Table) -> RolledLog:
    rows = rows.filter(pc.invert(rows["is_repeated"]))
    offset, timestamp_ms = rows["offset"].to_numpy(), rows["timestamp_ms"].to_numpy()
    log.append(Appends(offset, timestamp_ms, rows["log_bytes"].to_numpy().astype(np.int64)))
    return log


def scan_maps(tracked: Tracked, limits: Mapping[int, ScanLimits]) -> dict[int, MapScan]:
    """The scan of each log in ``limits``: where its maps get full, and the entries of the last map."""
    return tracked.in_turn({log_id: MapScan(of_log) for log_id, of_log in limits.items()}, _feed)


def _feed(scan: MapScan, rows: pa.Table) -> MapScan:
    rows = rows.filter(pc.invert(rows["is_repeated"]))
    offsets, previous = (rows[name].to_numpy() for name in ("offset", "previous_offset"))
    mapped, aborted = (flags_of(rows[name]) for name in ("is_mapped", "is_aborted"))
    scan.feed(offsets, previous, mapped, aborted)
    return scan
