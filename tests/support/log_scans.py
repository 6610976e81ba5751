"""Scans records without Spark: the columns that the engine would send are computed the slow way."""

from collections import defaultdict

import numpy as np

from broker_sizes import batch_bytes
from kcompact.broker.log_context import LogContext
from kcompact.broker.log_names import LogName
from kcompact.dirtiness.dirtiness import Dirtiness, ScannedLog, Setting, assess, plan_scan
from kcompact.dirtiness.dirty_scan import SUPERSEDED, LogScan, LogScanner, ScanPlan
from kcompact.dumps.records.record import Record
from kcompact.rules.policy import Policy
from kcompact.rules.rewriting import LogRows
from kcompact.rules.verdicts import NEVER, Rows

NOW_MS = 1_000_000


def scan_rows(
    records: list[Record], first_dirty: int, horizons: dict[int, int]
) -> tuple[LogRows, dict[str, np.ndarray]]:
    """The rows of a scan, and figures of the records that each supersedes, computed the slow way."""
    before: dict[bytes, list[Record]] = defaultdict(list)
    previous, superseded = [], []
    for one in records:
        earlier = before[one.key] if one.key is not None else []
        previous.append(earlier[-1].offset if earlier else -1)
        dirty = [e for e in earlier if e.offset >= first_dirty]
        gone = [] if one.offset < first_dirty else dirty[-1:] or earlier
        stamped = [e for e in gone if e.value is None and e.offset in horizons]
        due = [e for e in stamped if horizons[e.offset] <= NOW_MS]
        superseded.append(
            [
                *(sum(size(e) for e in gone), len(gone), sum(e.value is None for e in gone)),
                *(len(stamped), len(due), sum(size(e) for e in due)),
            ]
        )
        if one.key is not None:
            earlier.append(one)
    has_key = np.array([r.key is not None for r in records])
    latest = {r.key: r.offset for r in records if r.offset >= first_dirty}
    is_latest = [latest.get(r.key, -1) <= r.offset for r in records]
    nothing = np.zeros(len(records), bool)
    rows = Rows(
        offset=np.array([r.offset for r in records]),
        has_key=has_key,
        is_tombstone=np.array([r.value is None for r in records]),
        is_control=nothing,
        is_aborted=nothing,
        is_repeated=nothing,
        superseded_at_offset=np.where(has_key & np.array(is_latest), NEVER, 0),
        delete_horizon_ms=np.array([horizons.get(r.offset, -1) for r in records]),
        deletes_clean_value=nothing,
    )
    log_rows = LogRows(
        rows=rows,
        timestamp_ms=np.array([r.timestamp_ms for r in records]),
        log_bytes=np.array([size(r) for r in records]),
        is_mapped=has_key,
        previous_offset=np.array(previous),
    )
    columns = np.array(superseded).reshape(-1, len(SUPERSEDED)).T
    return log_rows, dict(zip(SUPERSEDED, columns, strict=True))


def some_of(records: LogRows, at: np.ndarray) -> LogRows:
    """The records at these positions."""
    columns = (records.timestamp_ms, records.log_bytes, records.is_mapped, records.previous_offset)
    return LogRows(records.rows.take(at), *(column[at] for column in columns))


def size(one: Record) -> int:
    """The bytes of a record that is alone in its batch (R40)."""
    return batch_bytes([one], one.offset, one.timestamp_ms)


def scan(
    records: list[Record], plan: ScanPlan, horizons: dict[int, int] | None = None, pieces: int = 1
) -> LogScan:
    scanner = LogScanner(plan)
    rows, superseded = scan_rows(records, plan.first_dirty_offset, horizons or {})
    for at in np.array_split(np.arange(len(records)), pieces):
        scanner.feed(some_of(rows, at), {name: column[at] for name, column in superseded.items()})
    return scanner.finish()


def look(records: list[Record], context: LogContext, policy: Policy, **more: object) -> Dirtiness:
    one = scanned(records, policy, context, **more)
    return assess(one, one.settings[0])


def scanned(
    records: list[Record],
    policy: Policy,
    context: LogContext = LogContext(),  # noqa: B008  frozen
    horizons: dict[int, int] | None = None,
    pieces: int = 1,
) -> ScannedLog:
    setting = Setting(policy)
    plan = plan_scan(context, [setting])
    return ScannedLog(LogName("orders", 0), [setting], context, plan, scan(records, plan, horizons, pieces))
