"""The figures of a compaction as tables and as one sentence: what all renderings for people show."""

from collections.abc import Sequence

from kcompact.compact.totals import REASONS, LogOutcome
from kcompact.report.compact.compaction_report import CompactionReport
from kcompact.report.table import Foreign, Table, texts


def headline(report: CompactionReport) -> str:
    """The whole dump in a line: ``600 records, 163 kept; 82,626 of 113,576 bytes saved (73 %)``."""
    if not report.logs:
        return "The dump holds no records."
    total = total_of(report.logs)
    removed = [f"{count:,} {reason.replace('_', ' ')}" for reason, count in total.removed.items() if count]
    reasons = f" ({', '.join(removed)})" if removed else ""
    logs = "1 log" if len(report.logs) == 1 else f"{len(report.logs):,} logs"
    return (
        f"{total.records:,} records in {logs}: {total.kept:,} kept, {total.records - total.kept:,} removed"
        f"{reasons}; {saved_bytes(total)} bytes saved"
    )


def logs_table(report: CompactionReport) -> Table:
    """One row per log, and a total where there are several."""
    reasons = [reason.replace("_", " ") for reason in REASONS]
    headers = ("log", "records", "kept", *reasons, "tombstones kept", "gaps", "bytes saved")
    rows = [_cells(Foreign(f"{log.topic}-{log.partition}"), log) for log in report.logs]
    has_total = len(rows) > 1
    if has_total:
        rows.append(_cells("total", total_of(report.logs)))
    return Table("", headers, rows, texts("log"), has_total=has_total)


def details_table(report: CompactionReport) -> Table:
    """Figures of each log that the first table leaves out."""
    headers = ("log", "keys", "bytes before", "bytes after", "missing", "missing before", "repeated")
    rows = [
        (
            Foreign(f"{log.topic}-{log.partition}"),
            f"{log.keys:,}",
            f"{log.record_bytes:,}",
            f"{log.kept_bytes:,}",
            f"{log.gap_offsets:,}",
            f"{log.gap_offsets_missing_before:,}",
            f"{log.repeated_offsets:,}",
        )
        for log in report.logs
    ]
    return Table("Keys, bytes, offsets", headers, rows, texts("log"))


def total_of(logs: Sequence[LogOutcome]) -> LogOutcome:
    """The sum of the figures that can be summed."""
    total = LogOutcome(0, "", 0)
    for log in logs:
        for name in ("records", "record_bytes", "kept", "kept_bytes", "tombstones_kept", "gaps"):
            setattr(total, name, getattr(total, name) + getattr(log, name))
        for reason, count in log.removed.items():
            total.removed[reason] += count
    return total


def saved_bytes(log: LogOutcome) -> str:
    """``82,626 (73 %)``."""
    saved = log.record_bytes - log.kept_bytes
    share = f" ({100 * saved / log.record_bytes:.0f} %)" if saved else ""
    return f"{saved:,}{share}"


def _cells(name: str, log: LogOutcome) -> tuple[str, ...]:
    removed = (f"{log.removed[reason]:,}" for reason in REASONS)
    figures = (f"{log.tombstones_kept:,}", f"{log.gaps:,}", saved_bytes(log))
    return (name, f"{log.records:,}", f"{log.kept:,}", *removed, *figures)
