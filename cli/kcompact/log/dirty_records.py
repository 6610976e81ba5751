"""Index rows in, one ``LogScan`` per log out: one window per key, one scan per log, one Spark job."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from kcompact.log.dirty_scan import (
    SUPERSEDED,
    DirtySection,
    LogScan,
    LogScanner,
    Mark,
    ScannedSegment,
    ScanPlan,
    ScanRows,
)
from kcompact.log.lookups import rows_of_logs
from kcompact.log.offset_map import NO_OFFSET, OF_KEY, is_mapped
from kcompact.log.verdicts import NEVER, UNKNOWN_HORIZON_MS

_COLUMNS = ("log_id", "offset", "timestamp_ms", "log_bytes", "is_tombstone", "is_aborted", "is_repeated")


def scan_logs(tracked: DataFrame, plans: Mapping[int, ScanPlan], partitions: int) -> dict[int, LogScan]:
    """Scans by log_id; records that stand in the dump once more at their offset count once.

    ``tracked`` is what ``cleaning.track`` makes of an index with log_bytes. One Spark job.
    """
    ordered = (
        with_superseded(tracked, plans.values())
        .select(
            *_COLUMNS,
            is_mapped().alias("is_mapped"),
            (F.col("key").isNull() & ~F.col("is_aborted") & ~F.col("is_control")).alias("is_keyless"),
            (F.col("superseded_at_offset") == NEVER).alias("is_latest"),
            "delete_horizon_ms",
            "previous_offset",
            *(f"superseded_{name}" for name in SUPERSEDED),
        )
        .repartition(partitions, "log_id")
        .sortWithinPartitions("log_id", "offset")
    )
    rows = ordered.mapInArrow(_scan_work(dict(plans)), "log_id bigint, scan binary")
    return {row["log_id"]: _scan_of(orjson.loads(row["scan"])) for row in rows.toArrow().to_pylist()}


def with_superseded(tracked: DataFrame, plans: Collection[ScanPlan]) -> DataFrame:
    """``superseded_NAME`` columns: what each record takes away from the totals below and at its offset.

    A record of the dirty section supersedes the one before it in that section, or, as its key's first
    there, all that the clean section still holds of the key (duplicates there are nobody's: A05).
    What no plan needs (clean sections, delete horizons) is not computed: code for it takes Java a second.
    """
    of_key = Window.partitionBy(*OF_KEY)
    descending = [F.col(name).desc() for name in ("offset", "split_id", "position")]
    in_order = of_key.orderBy(*descending)  # the order of with_offset_map: no second sort
    is_dirty = F.col("offset") >= F.col("first_dirty_offset")
    takes = is_mapped() & is_dirty & ~F.col("is_repeated") & (F.col("previous_offset") != NO_OFFSET)
    from_clean = F.col("previous_offset") < F.col("first_dirty_offset")
    columns = {f"superseded_{name}": F.lit(0).cast("long") for name in SUPERSEDED}
    for name, value in _taken(plans).items():
        one = F.lead(value).over(in_order)
        if any(plan.first_dirty_offset > 0 for plan in plans):
            clean = F.sum(F.when(~is_dirty & ~F.col("is_repeated"), value).otherwise(0)).over(of_key)
            one = F.when(from_clean, clean).otherwise(one)
        columns[f"superseded_{name}"] = F.when(takes, one).otherwise(0)
    return tracked.withColumns(columns)


def _taken(plans: Collection[ScanPlan]) -> dict[str, Column]:
    """What one record counts for under each name of SUPERSEDED that some plan needs."""
    is_tombstone = F.col("is_tombstone")
    log_bytes = F.col("log_bytes").cast("long")
    taken = {"bytes": log_bytes, "records": F.lit(1).cast("long"), "tombstones": is_tombstone.cast("long")}
    if not any(plan.has_horizons for plan in plans):
        return taken
    now_ms = next(plan.now_ms for plan in plans)
    is_stamped = is_tombstone & (F.col("delete_horizon_ms") != UNKNOWN_HORIZON_MS)
    is_due = is_stamped & (F.col("delete_horizon_ms") <= now_ms)
    return taken | {
        "stamped": is_stamped.cast("long"),
        "due": is_due.cast("long"),
        "due_bytes": F.when(is_due, log_bytes).otherwise(0),
    }


def _scan_work(
    plans: dict[int, ScanPlan],
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        scanners: dict[int, LogScanner] = {}
        for batch in batches:
            for log_id, at in rows_of_logs(batch.column("log_id").to_numpy()):
                if log_id not in scanners:
                    scanners[log_id] = LogScanner(plans[log_id])
                rows = batch.take(pa.array(at))
                again = rows.column("is_repeated").to_numpy(zero_copy_only=False)
                scanners[log_id].feed(_scan_rows(rows.filter(pa.array(~again))))
        done = [
            {"log_id": log_id, "scan": orjson.dumps(asdict(scanner.finish()))}
            for log_id, scanner in scanners.items()
        ]
        yield pa.RecordBatch.from_pylist(done, schema=_SCANNED)

    return work


_SCANNED = pa.schema([("log_id", pa.int64()), ("scan", pa.binary())])


def _scan_rows(batch: pa.RecordBatch) -> ScanRows:
    def column(name: str) -> Any:
        return batch.column(name).to_numpy(zero_copy_only=False)

    return ScanRows(
        offset=column("offset"),
        timestamp_ms=column("timestamp_ms"),
        log_bytes=column("log_bytes").astype(np.int64),
        is_mapped=column("is_mapped"),
        is_keyless=column("is_keyless"),
        is_aborted=column("is_aborted"),
        is_tombstone=column("is_tombstone"),
        is_latest=column("is_latest"),
        delete_horizon_ms=column("delete_horizon_ms"),
        previous_offset=column("previous_offset"),
        superseded=np.stack([column(f"superseded_{name}") for name in SUPERSEDED], axis=1),
    )


def _scan_of(said: dict[str, Any]) -> LogScan:
    for name in ("dirty", "estimated"):
        section = said[name]
        said[name] = DirtySection(
            _mark(section["start"]), section["oldest_ms"], [_mark(young) for young in section["young"]]
        )
    said["end"] = _mark(said["end"])
    said["fixed"] = [_segment(segment) for segment in said["fixed"]]
    said["rolled"] = [[_segment(segment) for segment in segments] for segments in said["rolled"]]
    return LogScan(**said)


def _mark(said: dict[str, Any] | None) -> Mark | None:
    return None if said is None else Mark(said["offset"], tuple(said["totals"]))


def _segment(said: dict[str, Any]) -> ScannedSegment:
    return ScannedSegment(
        Mark(said["mark"]["offset"], tuple(said["mark"]["totals"])), *list(said.values())[1:]
    )
