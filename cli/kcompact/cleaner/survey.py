"""Figures of logs before their rounds, from one aggregate over the records. Range and ratio need no more."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kcompact.arrays import aggregated
from kcompact.broker.log_context import LogContext
from kcompact.cleaner.tracked import Tracked
from kcompact.rules.files.segments import SegmentState, estimated_index_bytes
from kcompact.rules.lookups import NO_SEGMENT
from kcompact.rules.policy import Policy


@dataclass(frozen=True)
class Records:
    """Figures of the records of one known segment, or of a whole log."""

    records: int
    mapped_records: int
    control_records: int
    log_bytes: int
    dirty_log_bytes: int  # from the first dirty offset on, as it is known before records are read
    first_offset: int
    last_offset: int
    first_timestamp_ms: int
    largest_timestamp_ms: int
    first_dirty_record_offset: int | None
    oldest_dirty_timestamp_ms: int | None  # of timestamps above 0
    first_young_offset: int | None  # the first one that the minimum lag protects, if each is a segment (R2)


_BY = ("log_id", "segment_base_offset")
_HOW = {
    "records": "sum",
    "mapped_records": "sum",
    "control_records": "sum",
    "log_bytes": "sum",
    "dirty_log_bytes": "sum",
    "first_offset": "min",
    "last_offset": "max",
    "first_timestamp_ms": "first",  # rows come in the order of offsets
    "largest_timestamp_ms": "max",
    "first_dirty_record_offset": "min",
    "oldest_dirty_timestamp_ms": "min",
    "first_young_offset": "min",
}


def without_records(first_offset: int) -> Records:
    """The figures of a log that has batches, the first one at ``first_offset``, but no records."""
    return Records(0, 0, 0, 0, 0, first_offset, -1, -1, -1, None, None, None)


RecordsBySegment = dict[int, dict[int, Records]]
"""Figures by log id and base offset of the segment."""


def survey(tracked: Tracked) -> tuple[dict[int, Records], RecordsBySegment]:
    """The figures of every log, and of each of its known segments, in one stage."""
    segments = aggregated(pa.concat_tables(tracked.each(_survey_share)), _BY, _HOW)
    by_segment: RecordsBySegment = defaultdict(dict)
    for row in segments.to_pylist():
        log_id, segment = (row.pop(name) for name in _BY)
        by_segment[log_id][segment] = Records(**row)
    logs = aggregated(segments.sort_by("first_offset"), _BY[:1], _HOW).to_pylist()
    return {row.pop("log_id"): Records(**row) for row in logs}, by_segment


def _survey_share(rows: pa.Table) -> pa.Table:
    rows = rows.filter(pc.invert(rows["is_repeated"]))
    offset, timestamp_ms, log_bytes = rows["offset"], rows["timestamp_ms"], rows["log_bytes"].cast(pa.int64())
    dirty = pc.greater_equal(offset, rows["first_dirty_offset"])
    dated = pc.and_(dirty, pc.greater(timestamp_ms, 0))
    columns = {
        "records": pa.chunked_array([np.ones(rows.num_rows, np.int64)]),
        "mapped_records": rows["is_mapped"].cast(pa.int64()),
        "control_records": rows["is_control"].cast(pa.int64()),
        "log_bytes": log_bytes,
        "dirty_log_bytes": pc.if_else(dirty, log_bytes, 0),
        "first_offset": offset,
        "last_offset": offset,
        "first_timestamp_ms": timestamp_ms,
        "largest_timestamp_ms": timestamp_ms,
        "first_dirty_record_offset": pc.if_else(dirty, offset, None),
        "oldest_dirty_timestamp_ms": pc.if_else(dated, timestamp_ms, None),
        "first_young_offset": pc.if_else(rows["is_young"], offset, None),
    }
    return aggregated(pa.table({name: rows[name] for name in _BY} | columns), _BY, _HOW)


def known_segments(
    context: LogContext, by_segment: Mapping[int, Records], policy: Policy
) -> tuple[SegmentState, ...] | None:
    """The segments of ``context`` with figures of their records, or None where they are not known."""
    if context.segments is None or NO_SEGMENT in by_segment:
        return None
    states = []
    for segment in context.segments:
        records = by_segment.get(segment.base_offset)
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
