"""The scan for full maps: each log's records in order through one MapScan."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kcompact.cleaner.tracked import Tracked
from kcompact.rules.rounds import MapScan, ScanLimits


def scan_maps(tracked: Tracked, limits: Mapping[int, ScanLimits]) -> dict[int, MapScan]:
    """Where the maps of each log in ``limits`` are full, and the entries of its last one."""
    return tracked.in_turn({log_id: MapScan(of_log) for log_id, of_log in limits.items()}, _feed)


def _feed(scan: MapScan, rows: pa.Table) -> MapScan:
    rows = rows.filter(pc.invert(rows["is_repeated"]))
    offsets, previous = (rows[name].to_numpy() for name in ("offset", "previous_offset"))
    mapped, aborted = (
        np.asarray(rows[name].to_numpy(zero_copy_only=False), np.bool_)
        for name in ("is_mapped", "is_aborted")
    )
    scan.feed(offsets, previous, mapped, aborted)
    return scan
