"""A log before a round: one aggregate over its records (range and ratio need no more)."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from operator import attrgetter

import pyarrow as pa
import pyarrow.compute as pc

from kcompact.broker.log_context import LogContext
from kcompact.cleaner.shares import aggregated
from kcompact.cleaner.tracked import Tracked
from kcompact.rules.files.segments import SegmentState, estimated_index_bytes
from kcompact.rules.lookups import NO_SEGMENT
from kcompact.rules.policy import Policy


@dataclass(frozen=True)
class Records:
    """Figures of records together: those of one known segment, or of a whole log."""

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


@dataclass(frozen=True)
class Survey:
    """One log."""

    whole: Records
    by_segment: Mapping[int, Records] = field(default_factory=dict)


def survey(tracked: Tracked) -> dict[int, Survey]:
    """Every log, in one stage."""
    by_log: dict[int, dict[int, list[Records]]] = defaultdict(lambda: defaultdict(list))
    for rows in tracked.each(_survey_share):
        for row in rows:
            by_log[row.pop("log_id")][row.pop("segment_base_offset")].append(Records(**row))
    return {log_id: _surveyed(segments) for log_id, segments in by_log.items()}


def _surveyed(segments: Mapping[int, list[Records]]) -> Survey:
    by_segment = {segment: _together(parts) for segment, parts in segments.items()}
    return Survey(_together(by_segment.values()), by_segment)


def _survey_share(rows: pa.Table) -> list[dict[str, int]]:
    rows = rows.filter(pc.invert(rows["is_repeated"]))
    offset, timestamp_ms, log_bytes = rows["offset"], rows["timestamp_ms"], rows["log_bytes"].cast(pa.int64())
    dirty = pc.greater_equal(offset, rows["first_dirty_offset"])
    dated = pc.and_(dirty, pc.greater(timestamp_ms, 0))
    columns: dict[str, tuple[pa.ChunkedArray, str]] = {
        "records": (offset, "count"),
        "mapped_records": (rows["is_mapped"].cast(pa.int64()), "sum"),
        "control_records": (rows["is_control"].cast(pa.int64()), "sum"),
        "log_bytes": (log_bytes, "sum"),
        "dirty_log_bytes": (pc.if_else(dirty, log_bytes, 0), "sum"),
        "first_offset": (offset, "min"),
        "last_offset": (offset, "max"),
        "first_timestamp_ms": (timestamp_ms, "first"),  # rows come in the order of offsets
        "largest_timestamp_ms": (timestamp_ms, "max"),
        "first_dirty_record_offset": (pc.if_else(dirty, offset, None), "min"),
        "oldest_dirty_timestamp_ms": (pc.if_else(dated, timestamp_ms, None), "min"),
        "first_young_offset": (pc.if_else(rows["is_young"], offset, None), "min"),
    }
    return aggregated(rows, ["log_id", "segment_base_offset"], columns).to_pylist()


def _together(parts: Iterable[Records]) -> Records:
    ordered = sorted(parts, key=attrgetter("first_offset"))

    def total(name: str) -> int:
        return sum(getattr(part, name) for part in ordered)

    def smallest(name: str) -> int | None:
        values = [value for part in ordered if (value := getattr(part, name)) is not None]
        return min(values, default=None)

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
    )


def known_segments(context: LogContext, figures: Survey, policy: Policy) -> tuple[SegmentState, ...] | None:
    """The known segments, with figures of their records; None where none are known."""
    if context.segments is None or NO_SEGMENT in figures.by_segment:
        return None
    states = []
    for segment in context.segments:
        records = figures.by_segment.get(segment.base_offset)
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
