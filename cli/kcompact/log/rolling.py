"""Segments as a broker would have rolled them (R4), where nobody tells them: one scan finds them all."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from operator import attrgetter

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from kcompact.log.lookups import rows_of_logs
from kcompact.log.policy import Policy
from kcompact.log.segment_roller import Appends, Roller, roll_settings
from kcompact.log.segments import SegmentState, estimated_index_bytes

_FOUND = pa.schema([(name, pa.int64()) for name in ("log_id", *SegmentState.__dataclass_fields__)])
_SQL_TYPES = ", ".join(f"{name} long" for name in _FOUND.names)


@dataclass
class _Content:
    """What lies in one segment so far."""

    base_offset: int
    first_timestamp_ms: int
    records: int = 0
    size_bytes: int = 0
    largest_timestamp_ms: int = -1


@dataclass
class RolledLog:
    """One log's records, appended in the order of offsets, in chunks of any size; each is its own batch."""

    policy: Policy
    roller: Roller
    contents: list[_Content] = field(default_factory=list)

    def append(self, records: Appends) -> None:
        """The next records."""
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


def roll_segments(tracked: DataFrame, policies: Mapping[int, Policy]) -> dict[int, tuple[SegmentState, ...]]:
    """The segments of each log in ``policies``: one Spark job."""
    if not policies:
        return {}
    rows = (
        tracked.where(F.col("log_id").isin(list(policies)) & ~F.col("is_repeated"))
        .select("log_id", "offset", "timestamp_ms", F.col("log_bytes").cast("long"))
        .repartition("log_id")
        .sortWithinPartitions("log_id", "offset")
    )

    def roll(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        logs: dict[int, RolledLog] = {}
        for batch in batches:
            append_rows(logs, batch, policies)
        for log_id, rolled in logs.items():
            found = [{"log_id": log_id} | asdict(segment) for segment in rolled.segments()]
            yield pa.RecordBatch.from_pylist(found, _FOUND)

    segments: dict[int, list[SegmentState]] = {}
    for row in rows.mapInArrow(roll, _SQL_TYPES).toArrow().to_pylist():
        log_id = row.pop("log_id")
        segments.setdefault(log_id, []).append(SegmentState(**row))
    by_base = attrgetter("base_offset")
    return {log_id: tuple(sorted(of_log, key=by_base)) for log_id, of_log in segments.items()}


def append_rows(logs: dict[int, RolledLog], batch: pa.RecordBatch, policies: Mapping[int, Policy]) -> None:
    """Hand a chunk's rows, in the order of offsets within each log, to their logs."""
    columns = [batch.column(name).to_numpy() for name in ("offset", "timestamp_ms", "log_bytes")]
    for log_id, at in rows_of_logs(batch.column("log_id").to_numpy()):
        if log_id not in logs:
            policy = policies[log_id]
            logs[log_id] = RolledLog(policy, Roller(roll_settings(policy)))
        logs[log_id].append(Appends(*(column[at] for column in columns)))
