"""The scan for full maps, run by Spark: each log's records in order through one MapScan."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from kcompact.log.lookups import rows_of_logs
from kcompact.log.offset_map import is_mapped
from kcompact.log.rounds import FullMap, MapScan, ScanLimits

_FOUND = pa.schema(
    [("log_id", pa.int64()), ("entries", pa.int64())]
    + [(name, pa.int64()) for name in FullMap.__dataclass_fields__]
)
_SQL_TYPES = ", ".join(f"{name} long" for name in _FOUND.names)


def scan_maps(tracked: DataFrame, limits: Mapping[int, ScanLimits]) -> dict[int, MapScan]:
    """Where the maps of each log in ``limits`` are full, and the entries of its last one: one Spark job."""
    if not limits:
        return {}
    columns = ["log_id", "offset", "previous_offset", "mapped", "is_aborted"]
    rows = (
        tracked.where(F.col("log_id").isin(list(limits)) & ~F.col("is_repeated"))
        .withColumn("mapped", is_mapped())
        .select(*columns)
        .repartition("log_id")
        .sortWithinPartitions("log_id", "offset")
    )

    def scan(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        scans: dict[int, MapScan] = {}
        for batch in batches:
            feed(scans, batch, limits)
        for log_id, done in scans.items():
            yield _as_batch(log_id, done)

    scans = {log_id: MapScan(of_log) for log_id, of_log in limits.items()}
    for row in rows.mapInArrow(scan, _SQL_TYPES).toArrow().to_pylist():
        of_log = scans[row.pop("log_id")]
        entries = row.pop("entries")
        if row["stop_offset"] is None:
            of_log.entries = entries
        else:
            of_log.full.append(FullMap(**row))
    for of_log in scans.values():
        of_log.full.sort(key=lambda full: full.stop_offset)
    return scans


def feed(scans: dict[int, MapScan], batch: pa.RecordBatch, limits: Mapping[int, ScanLimits]) -> None:
    """Hand a chunk's rows, in the order of offsets within each log, to the scans of their logs."""
    offsets, previous = (batch.column(name).to_numpy() for name in ("offset", "previous_offset"))
    mapped, aborted = (
        np.asarray(batch.column(name).to_numpy(zero_copy_only=False), np.bool_)
        for name in ("mapped", "is_aborted")
    )
    for log_id, at in rows_of_logs(batch.column("log_id").to_numpy()):
        one = scans.setdefault(log_id, MapScan(limits[log_id]))
        one.feed(offsets[at], previous[at], mapped[at], aborted[at])


def _as_batch(log_id: int, scan: MapScan) -> pa.RecordBatch:
    rows = [{"log_id": log_id, "entries": None} | asdict(full) for full in scan.full]
    rows.append({"log_id": log_id, "entries": scan.entries} | dict.fromkeys(FullMap.__dataclass_fields__))
    return pa.RecordBatch.from_pylist(rows, _FOUND)
