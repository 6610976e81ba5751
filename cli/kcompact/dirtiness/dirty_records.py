"""Index rows in, one ``LogScan`` per log out: what records supersede by key, then one scan per log."""

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kcompact.cleaner.shares import Shares
from kcompact.cleaner.tracked import track
from kcompact.dirtiness.dirty_scan import SUPERSEDED, LogScan, LogScanner, ScanPlan, ScanRows
from kcompact.engine.shuffle import Stage
from kcompact.rules.links import NO_OFFSET, KeyOrder
from kcompact.rules.lookups import Lookup
from kcompact.rules.verdicts import NEVER, UNKNOWN_HORIZON_MS


def scan_logs(
    keyed: Stage, shares: Shares, lookups: Mapping[int, Lookup], plans: Mapping[int, ScanPlan]
) -> dict[int, LogScan]:
    """Scans by log id; records that are in the dump once more at their offset count once.

    ``keyed`` is what ``tracked.send_index`` sent.
    """
    tracked = track(keyed, shares, lookups, lambda rows: with_superseded(rows, plans.values()))
    scanners = {log_id: LogScanner(plan) for log_id, plan in plans.items()}
    return {log_id: scanner.finish() for log_id, scanner in tracked.in_turn(scanners, _feed).items()}


def with_superseded(rows: pa.Table, plans: Collection[ScanPlan]) -> pa.Table:
    """``superseded_NAME`` columns: what each record takes away from the totals below and at its offset.

    A record of the dirty section supersedes the one before it in that section, or, as its key's first
    there, all that the clean section still holds of the key (duplicates there are nobody's).
    """
    keys = KeyOrder.of(rows)
    mapped = keys.is_mapped & ~keys.is_repeated
    is_dirty = keys.offset >= keys.first_dirty_offset
    takes = mapped & is_dirty & (keys.previous_offset != NO_OFFSET)
    from_clean = keys.previous_offset < keys.first_dirty_offset
    starts = np.flatnonzero(~keys.follows)
    for name, values in _superseded_amounts(rows, plans).items():
        ordered = values[keys.order]
        before = np.zeros_like(ordered)
        before[1:] = ordered[:-1]
        clean = np.where(~is_dirty & ~keys.is_repeated, ordered, 0)
        of_group = np.add.reduceat(clean, starts)[keys.group] if len(starts) else clean
        amounts = np.where(takes, np.where(from_clean, of_group, before), 0)
        rows = rows.append_column(f"superseded_{name}", pa.array(keys.unsorted(amounts), pa.int64()))
    return rows


def _superseded_amounts(rows: pa.Table, plans: Collection[ScanPlan]) -> dict[str, np.ndarray]:
    """By name of SUPERSEDED, the amount (int64) that each row counts for when it is superseded."""
    now_ms = next((plan.now_ms for plan in plans), 0)
    is_tombstone = rows["is_tombstone"].to_numpy()
    log_bytes = rows["log_bytes"].to_numpy().astype(np.int64)
    horizon_ms = rows["delete_horizon_ms"].to_numpy()
    is_stamped = is_tombstone & (horizon_ms != UNKNOWN_HORIZON_MS)
    is_due = is_stamped & (horizon_ms <= now_ms)
    values = (
        log_bytes,
        np.ones(rows.num_rows, np.int64),
        is_tombstone.astype(np.int64),
        is_stamped.astype(np.int64),
        is_due.astype(np.int64),
        np.where(is_due, log_bytes, 0),
    )
    return dict(zip(SUPERSEDED, values, strict=True))


def _feed(scanner: LogScanner, rows: pa.Table) -> LogScanner:
    scanner.feed(_scan_rows(rows.filter(pc.invert(rows["is_repeated"]))))
    return scanner


def _scan_rows(rows: pa.Table) -> ScanRows:
    def column(name: str) -> Any:
        return rows[name].to_numpy()

    is_aborted, is_control = column("is_aborted"), column("is_control")
    return ScanRows(
        offset=column("offset"),
        timestamp_ms=column("timestamp_ms"),
        log_bytes=column("log_bytes").astype(np.int64),
        is_mapped=column("is_mapped"),
        is_keyless=~column("has_key") & ~is_aborted & ~is_control,
        is_aborted=is_aborted,
        is_tombstone=column("is_tombstone"),
        is_latest=column("superseded_at_offset") == NEVER,
        delete_horizon_ms=column("delete_horizon_ms"),
        previous_offset=column("previous_offset"),
        superseded=np.stack([column(f"superseded_{name}") for name in SUPERSEDED], axis=1),
    )
