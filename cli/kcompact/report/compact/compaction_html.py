"""``report.html``: the compaction report as pictures, each with its figures."""

import os
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv

from kcompact.compact.totals import LogOutcome
from kcompact.printable import printable_key
from kcompact.report.compact.compaction_report import (
    CompactionReport,
    details_table,
    headline,
    logs_table,
    saved_bytes,
    total_of,
)
from kcompact.report.html_page import render, shown
from kcompact.report.pictures import MOST_PICTURED_LOGS, Axis, Bar, GapColumns, bar, offset_axis
from kcompact.report.table import WHERE_ALL, Foreign, Table, log_cell
from kcompact.report.text_table import shortened

PAGE = "compaction.html"
MOST_AXES = 12  # of the logs that are pictured
_LONGEST_KEY = 200  # characters
MOST_TOP_KEYS = 15
_MOST_CSV_BYTES = 256 << 20  # a larger CSV file of the report is not read for pictures
_BLOCK_BYTES = 1 << 20  # read by one thread; more than the longest line, whose key csv_parts cuts


def render_html(report: CompactionReport, folder: Path | None = None) -> str:
    """The report; ``folder`` holds gaps.csv and removed-keys.csv, where they were written."""
    logs = sorted(report.logs, key=lambda log: log.kept_bytes - log.record_bytes)[:MOST_PICTURED_LOGS]
    gaps = _gaps(folder, report.logs)
    return render(
        PAGE,
        report=report,
        headline=headline(report),
        total=total_of(report.logs),
        hidden_logs=len(report.logs) - len(logs),
        bytes_bars=_bytes_bars(logs),
        reasons_bar=_reasons_bar(report),
        axes=[]
        if gaps is None
        else [_axis(log, gaps[log.log_id]) for log in logs[:MOST_AXES] if log.records],
        tombstone_bars=_tombstone_bars(logs),
        top_keys=_top_keys(folder),
        tables=shown([logs_table(report), details_table(report)], WHERE_ALL) if report.logs else [],
        shared=[(topic, printable_key(key)) for topic, key in report.shared_key_examples],
    )


def _bytes_bars(logs: Sequence[LogOutcome]) -> list[Bar]:
    largest = max((log.record_bytes for log in logs), default=0)
    bars = []
    for log in logs:
        saved = log.record_bytes - log.kept_bytes
        amounts = [("kept", "bytes kept", log.kept_bytes), ("removed", "bytes saved", saved)]
        note = f"{log.record_bytes:,} → {log.kept_bytes:,}, saved {saved_bytes(log)}"
        bars.append(bar(log_cell(log.topic, log.partition), amounts, largest, note))
    return bars


def _reasons_bar(report: CompactionReport) -> list[Bar]:
    total = total_of(report.logs)
    removed = {reason: count for reason, count in total.removed.items() if count}
    amounts = {"kept": total.kept, **removed}
    bars = []
    for kind, amount in amounts.items():
        note = f"{amount:,} ({100 * amount / max(total.records, 1):.1f} %)"
        bars.append(bar(kind.replace("_", " "), [(kind, "records", amount)], max(amounts.values()), note))
    return bars


def _axis(log: LogOutcome, gaps: GapColumns) -> Axis:
    removed = log.gap_offsets - log.gap_offsets_missing_before
    note = (
        f"{log.kept:,} kept, {removed:,} removed by this run, {log.gap_offsets_missing_before:,} missing"
        f" before, {log.gaps:,} gaps"
    )
    return offset_axis(log_cell(log.topic, log.partition), (log.first_offset, log.last_offset), gaps, note)


def _tombstone_bars(logs: Sequence[LogOutcome]) -> list[Bar]:
    largest = max((log.tombstones for log in logs), default=0)
    bars = []
    for log in logs:
        expired = log.removed["expired_tombstone"]
        superseded = max(log.tombstones - log.tombstones_kept - expired, 0)
        amounts = [
            ("kept", "kept: the latest of their keys, horizon not reached", log.tombstones_kept),
            ("expired_tombstone", "removed: their horizon had passed, or --drop-tombstones", expired),
            ("superseded", "removed with older records: a newer record of their key stays", superseded),
        ]
        note = f"{log.tombstones:,}, of which {log.tombstones_kept:,} stay"
        bars += [bar(log_cell(log.topic, log.partition), amounts, largest, note)] if log.tombstones else []
    return bars


def _top_keys(folder: Path | None) -> Table | None:
    """The keys that lost most records."""
    names = ["topic", "partition", "key", "records_removed", "reason"]
    table = _table(folder, "removed-keys.csv", names)
    if table is None or not table.num_rows:
        return None
    removed = table["records_removed"].to_numpy()
    least = np.partition(removed, -MOST_TOP_KEYS)[-MOST_TOP_KEYS] if len(removed) > MOST_TOP_KEYS else 0
    most = np.flatnonzero(removed >= least)
    most = most[np.argsort(-removed[most], kind="stable")][:MOST_TOP_KEYS]
    rows = [
        (
            Foreign(shortened(row["key"], _LONGEST_KEY)),
            log_cell(row["topic"], row["partition"]),
            row["records_removed"],
            row["reason"].replace("_", " ") or "superseded",
        )
        for row in table.take(pa.array(most)).to_pylist()
    ]
    headers = ("key", "log", "removed", "reason")
    return Table.of("Keys that lost most records", headers, rows, ("key", "log", "reason"))


def _gaps(folder: Path | None, logs: Sequence[LogOutcome]) -> dict[int, GapColumns] | None:
    """The gaps of each log, by log id; None: not written, or too much to read."""
    names = ["first_offset", "last_offset", "missing_before"]
    table = _table(folder, "gaps.csv", names)
    if table is None or table.num_rows != sum(log.gaps for log in logs):
        return None
    columns = [table[name].to_numpy() for name in names] if table.num_rows else [np.empty(0, np.int64)] * 3
    ends = list(accumulate(log.gaps for log in logs))
    return {
        log.log_id: GapColumns(*(column[end - log.gaps : end] for column in columns))
        for log, end in zip(logs, ends, strict=True)
    }


def _table(folder: Path | None, name: str, columns: list[str]) -> pa.Table | None:
    """Columns of a CSV file of the report; None: it is not there, or too large.

    Blocks of lines are read in parallel, which is right since ``csv_parts`` escapes line ends in cells.
    """
    path = folder / name if folder else None
    if path is None or not path.exists() or path.stat().st_size > _MOST_CSV_BYTES:
        return None
    types = {"topic": pa.string(), "key": pa.string(), "reason": pa.string()}
    options = csv.ConvertOptions(include_columns=columns, column_types=types, strings_can_be_null=False)
    file = pa.OSFile(os.fsencode(path))  # pyarrow takes only names in UTF-8; a path may be any bytes
    return csv.read_csv(file, csv.ReadOptions(block_size=_BLOCK_BYTES), convert_options=options)
