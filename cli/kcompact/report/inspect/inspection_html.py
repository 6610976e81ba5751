"""An inspection as one HTML file: partitions side by side, skew of keys, gaps, keys in several partitions."""

from collections.abc import Sequence

import numpy as np

from kcompact.counted import counted
from kcompact.inspect.inspection import Inspection, LogFacts
from kcompact.printable import printable_key
from kcompact.report.html_page import render, shown
from kcompact.report.inspect.inspection_report import place
from kcompact.report.inspect.inspection_sections import bucket_name, sections
from kcompact.report.pictures import MOST_PICTURED_LOGS, Axis, Bar, GapColumns, bar, offset_axis
from kcompact.report.table import log_cell


def render_html(inspection: Inspection) -> str:
    """The whole report."""
    logs = sorted(inspection.logs, key=lambda log: -log.record_bytes)[:MOST_PICTURED_LOGS]
    return render(
        "inspection.html",
        inspection=inspection,
        findings=[
            (finding.level.name.lower(), place(finding) + finding.text) for finding in inspection.findings
        ],
        records=sum(log.records for log in inspection.logs),
        live_keys=sum(log.live_keys for log in inspection.logs),
        tombstones=sum(log.tombstones for log in inspection.logs),
        missing=sum(log.gaps.missing_offsets for log in inspection.logs),
        hidden_logs=len(inspection.logs) - len(logs),
        log_bars=_log_bars(logs),
        skew_bars=_skew_bars(inspection),
        key_bars=_key_bars(inspection),
        axes=[_axis(log) for log in logs if log.gaps.count],
        tables=shown(sections(inspection)),
    )


def _log_bars(logs: Sequence[LogFacts]) -> list[Bar]:
    largest = max((log.records for log in logs), default=0)
    return [
        bar(
            log_cell(log.topic, log.partition),
            [
                ("kept", "live keys, each with its latest record", log.live_keys),
                ("expired_tombstone", "latest records that are tombstones", log.deleted_keys),
                ("superseded", "superseded records", log.records - log.null_keys - log.keys),
                ("keyless", "records without key", log.null_keys),
            ],
            largest,
            f"{counted(log.records, 'record')}, {log.record_bytes:,} bytes, {log.live_keys:,} live keys",
        )
        for log in logs
    ]


def _skew_bars(inspection: Inspection) -> list[Bar]:
    largest = max((bucket.records for bucket in inspection.records_per_key), default=0)
    return [
        bar(
            bucket_name(bucket),
            [("kept", "records", bucket.records)],
            largest,
            f"{counted(bucket.keys, 'key')}, {counted(bucket.records, 'record')}",
        )
        for bucket in inspection.records_per_key
    ]


def _key_bars(inspection: Inspection) -> list[Bar]:
    largest = max((key.record_bytes for key in inspection.top_keys_by_bytes), default=0)
    return [
        bar(
            printable_key(key.key),
            [
                ("kept", "bytes of its latest record", key.record_bytes - key.superseded_bytes),
                ("superseded", "superseded bytes", key.superseded_bytes),
            ],
            largest,
            f"{key.topic}-{key.partition}: {counted(key.records, 'record')}, {key.record_bytes:,} bytes",
        )
        for key in inspection.top_keys_by_bytes
    ]


def _axis(log: LogFacts) -> Axis:
    """An axis with the longest gaps, the only ones whose offsets an inspection holds."""
    rows = sorted((gap.first_offset, gap.last_offset, gap.length) for gap in log.gaps.longest)
    gaps = GapColumns(*np.array(rows, np.int64).T)
    extent = "" if len(rows) == log.gaps.count else f", the {len(rows)} longest drawn"
    note = f"{log.gaps.count:,} gaps, {log.gaps.missing_offsets:,} offsets missing{extent}"
    return offset_axis(log_cell(log.topic, log.partition), (log.first_offset, log.last_offset), gaps, note)
