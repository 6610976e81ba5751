"""What a log looks like before a round: one aggregate over its records (R1 to R8 need no more)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from operator import attrgetter

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from kcompact.broker.given import GivenLog
from kcompact.log.lookups import NO_SEGMENT
from kcompact.log.offset_map import NO_OFFSET, is_mapped
from kcompact.log.policy import Policy
from kcompact.log.segments import SegmentState, estimated_index_bytes


@dataclass(frozen=True)
class Records:
    """Records that lie together: those of one told segment, or of a whole log."""

    records: int
    mapped_records: int
    control_records: int
    log_bytes: int
    dirty_log_bytes: int  # from the first dirty offset on, as far as it is known without the records
    first_offset: int
    last_offset: int
    first_timestamp_ms: int
    largest_timestamp_ms: int
    first_dirty_record_offset: int | None
    oldest_dirty_timestamp_ms: int | None  # above 0
    first_young_offset: int | None  # R2, if each record were a segment
    first_known_key_offset: int | None  # the smallest offset whose key occurred before


@dataclass(frozen=True)
class Survey:
    """One log."""

    whole: Records
    by_segment: Mapping[int, Records] = field(default_factory=dict)


def survey(tracked: DataFrame) -> dict[int, Survey]:
    """Every log of ``tracked`` (an index with its offset map): one Spark job."""
    offset, log_bytes = F.col("offset"), F.col("log_bytes").cast("long")
    timestamp_ms = F.col("timestamp_ms")
    dirty = offset >= F.col("first_dirty_offset")
    rows = (
        tracked.where(~F.col("is_repeated"))
        .groupBy("log_id", "segment_base_offset")
        .agg(
            F.count("*").alias("records"),
            F.count_if(is_mapped()).alias("mapped_records"),
            F.count_if("is_control").alias("control_records"),
            F.sum(log_bytes).alias("log_bytes"),
            F.sum(F.when(dirty, log_bytes).otherwise(0)).alias("dirty_log_bytes"),
            F.min(offset).alias("first_offset"),
            F.max(offset).alias("last_offset"),
            F.min_by("timestamp_ms", offset).alias("first_timestamp_ms"),
            F.max("timestamp_ms").alias("largest_timestamp_ms"),
            F.min(F.when(dirty, offset)).alias("first_dirty_record_offset"),
            F.min(F.when(dirty & (timestamp_ms > 0), timestamp_ms)).alias("oldest_dirty_timestamp_ms"),
            F.min(F.when(F.col("is_young"), offset)).alias("first_young_offset"),
            F.min(F.when(F.col("previous_offset") != NO_OFFSET, offset)).alias("first_known_key_offset"),
        )
        .toArrow()
        .to_pylist()
    )
    found: dict[int, dict[int, Records]] = {}
    for row in rows:
        log_id, segment = row.pop("log_id"), row.pop("segment_base_offset")
        found.setdefault(log_id, {})[segment] = Records(**row)
    return {log_id: Survey(_together(parts), parts) for log_id, parts in found.items()}


def _together(parts: Mapping[int, Records]) -> Records:
    ordered = sorted(parts.values(), key=attrgetter("first_offset"))

    def total(name: str) -> int:
        return sum(getattr(part, name) for part in ordered)

    def smallest(name: str) -> int | None:
        known = [value for part in ordered if (value := getattr(part, name)) is not None]
        return min(known, default=None)

    return Records(
        records=total("records"),
        mapped_records=total("mapped_records"),
        control_records=total("control_records"),
        log_bytes=total("log_bytes"),
        dirty_log_bytes=total("dirty_log_bytes"),
        first_offset=ordered[0].first_offset,
        last_offset=max(part.last_offset for part in ordered),
        first_timestamp_ms=ordered[0].first_timestamp_ms,
        largest_timestamp_ms=max(part.largest_timestamp_ms for part in ordered),
        first_dirty_record_offset=smallest("first_dirty_record_offset"),
        oldest_dirty_timestamp_ms=smallest("oldest_dirty_timestamp_ms"),
        first_young_offset=smallest("first_young_offset"),
        first_known_key_offset=smallest("first_known_key_offset"),
    )


def told_segments(given: GivenLog, found: Survey, policy: Policy) -> tuple[SegmentState, ...] | None:
    """The segments that are told, with what their records say; None where none are told."""
    if given.segments is None or NO_SEGMENT in found.by_segment:
        return None
    states = []
    for segment in given.segments:
        records = found.by_segment.get(segment.base_offset)
        count, first_ms, newest_ms = (0, -1, -1)
        if records is not None:
            count = records.records
            first_ms, newest_ms = records.first_timestamp_ms, records.largest_timestamp_ms
        offset_index, time_index = estimated_index_bytes(count, segment.size_bytes, policy)
        states.append(
            SegmentState(
                segment.base_offset,
                segment.size_bytes,
                newest_ms,
                first_ms,
                segment.mtime_ms,
                offset_index,
                time_index,
            )
        )
    return tuple(states)
