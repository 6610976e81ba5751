"""The report of ``compact``: made once, rendered in many forms; here for a terminal, as Markdown and JSON."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from rich.console import Console

from kcompact.compact.totals import REASONS, LogOutcome
from kcompact.counted import counted
from kcompact.inert import json_document, markdown, markdown_code
from kcompact.printable import printable_key, terminal
from kcompact.report.table import WHERE_ALL, Row, Table, log_cell, markdown_table
from kcompact.report.text_table import print_tables

SCHEMA_VERSION = 1
MOST_LOGS = 40  # rows of the short table
_MOST_FILES = 20  # that Markdown names


@dataclass
class CompactionReport:
    """The report of one run of ``compact``; bytes are bytes in the dump.

    Whatever depends on the clock or the machine is under ``run``: the rest is the same for the same input.
    """

    logs: list[LogOutcome]
    inputs: list[str]
    outputs: list[str]
    policies: dict[str, dict[str, Any]]  # by topic
    recognised: list[str]
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    shared_keys: int = 0
    shared_key_examples: list[tuple[str, bytes]] = field(default_factory=list)  # topic and key
    dry_run: bool = False
    run: dict[str, Any] = field(default_factory=dict)


def render_json(report: CompactionReport) -> str:
    """The report as JSON, keys in a stable order, in the shape that the README documents."""
    return json_document(
        {
            "schema_version": SCHEMA_VERSION,
            "command": "compact",
            "dry_run": report.dry_run,
            "inputs": report.inputs,
            "recognised": report.recognised,
            "outputs": report.outputs,
            "policies": report.policies,
            "logs": [_log(log) for log in report.logs],
            "keys_in_several_partitions": {
                "count": report.shared_keys,
                "examples": [
                    {"topic": topic, "key": printable_key(key)} for topic, key in report.shared_key_examples
                ],
            },
            "notes": report.notes,
            "warnings": report.warnings,
            "run": report.run,
        }
    )


def _log(log: LogOutcome) -> dict[str, Any]:
    figures = asdict(log)
    del figures["log_id"]
    if not log.kept:  # they are -1
        figures |= {"first_kept_offset": None, "last_kept_offset": None}
    return figures


def print_text(report: CompactionReport, console: Console) -> None:
    """Print one row per log, then what was written."""
    if report.logs:
        print_tables([_first_logs(report)], console)
    else:
        console.print(headline(report))
    for path in report.outputs:
        console.print(f"{'would write' if report.dry_run else 'wrote'} {terminal(path)}", markup=False)


def render_markdown(report: CompactionReport) -> str:
    """The report as Markdown, what matters first; text from the dump is inert in it."""
    logs = [markdown_table(logs_table(report)), markdown_table(details_table(report))] if report.logs else []
    sections = [
        "# Compaction report",
        f"**{markdown(headline(report))}**",
        _list("Warnings", report.warnings),
        *(["## Logs", *logs] if logs else []),
        _shared(report),
        _list("Notes", report.notes),
        _files(report),
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def render_summary(report: CompactionReport) -> str:
    """A section for the summary of a CI step."""
    parts = ["### kcompact compact", f"**{markdown(headline(report))}**"]
    if report.logs:
        parts.append(markdown_table(_first_logs(report)))
    return "\n\n".join(parts) + "\n"


def _first_logs(report: CompactionReport) -> Table:
    return logs_table(report).shortened(MOST_LOGS, WHERE_ALL)


def _files(report: CompactionReport) -> str:
    written = "Would write" if report.dry_run else "Written"
    lines = [f"* Read: {markdown_code(path)}" for path in report.inputs[:_MOST_FILES]]
    if len(report.inputs) > _MOST_FILES:
        lines.append(f"* Read: {len(report.inputs) - _MOST_FILES:,} more, which report.json names")
    lines += [f"* Recognised: {markdown(text)}" for text in report.recognised]
    lines += [f"* {written}: {markdown_code(path)}" for path in report.outputs]
    return "\n".join(["## Files", "", *lines])


def _list(title: str, texts: list[str]) -> str:
    return "\n".join([f"## {title}", "", *(f"* {markdown(text)}" for text in texts)]) if texts else ""


def _shared(report: CompactionReport) -> str:
    if not report.shared_keys:
        return ""
    lines = [
        f"* {markdown_code(topic)}: {markdown_code(printable_key(key))}"
        for topic, key in report.shared_key_examples
    ]
    head = f"{report.shared_keys:,} in all. Compaction is per partition, so each keeps its own latest record."
    return "\n".join(["## Keys in several partitions", "", head, "", *lines])


def headline(report: CompactionReport) -> str:
    """The whole dump in a line: ``600 records, 163 kept; 82,626 of 113,576 bytes saved (73 %)``."""
    if not report.logs:
        return "The dump holds no records."
    total = total_of(report.logs)
    removed = [f"{count:,} {reason.replace('_', ' ')}" for reason, count in total.removed.items() if count]
    reasons = f" ({', '.join(removed)})" if removed else ""
    return (
        f"{counted(total.records, 'record')} in {counted(len(report.logs), 'log')}: {total.kept:,} kept,"
        f" {total.records - total.kept:,} removed{reasons}; {saved_bytes(total)} bytes saved"
    )


def logs_table(report: CompactionReport) -> Table:
    """One row per log, and a total where there are several."""
    reasons = [reason.replace("_", " ") for reason in REASONS]
    headers = ("log", "records", "kept", *reasons, "tombstones kept", "gaps", "bytes saved")
    rows = [_figures(log_cell(log.topic, log.partition), log) for log in report.logs]
    has_total = len(rows) > 1
    if has_total:
        rows.append(_figures("total", total_of(report.logs)))
    return Table.of("", headers, rows, has_total=has_total)


def details_table(report: CompactionReport) -> Table:
    """Figures of each log that the first table leaves out."""
    headers = ("log", "keys", "bytes before", "bytes after", "missing", "missing before", "repeated")
    rows = [
        (
            log_cell(log.topic, log.partition),
            log.keys,
            log.record_bytes,
            log.kept_bytes,
            log.gap_offsets,
            log.gap_offsets_missing_before,
            log.repeated_offsets,
        )
        for log in report.logs
    ]
    return Table.of("Keys, bytes, offsets", headers, rows)


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
    """The saved bytes and their share, as in ``82,626 (73 %)``."""
    saved = log.record_bytes - log.kept_bytes
    share = f" ({100 * saved / log.record_bytes:.0f} %)" if saved else ""
    return f"{saved:,}{share}"


def _figures(name: str, log: LogOutcome) -> Row:
    removed = (log.removed[reason] for reason in REASONS)
    return name, log.records, log.kept, *removed, log.tombstones_kept, log.gaps, saved_bytes(log)
