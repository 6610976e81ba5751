"""``report.md``: the compaction report for people."""

from kcompact.log.totals import LogOutcome
from kcompact.report.compaction import CompactionReport
from kcompact.report.inert import markdown, markdown_code, printable_key

_MOST_FILES = 20


def render_markdown(report: CompactionReport) -> str:
    """The report as Markdown; text from the dump is inert in it."""
    sections = [
        "# Compaction report",
        _files(report),
        _table(report),
        _list("Warnings", report.warnings),
        _list("Notes", report.notes),
        _shared(report),
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def _files(report: CompactionReport) -> str:
    written = "Would write" if report.dry_run else "Written"
    lines = [f"* Read: {markdown_code(path)}" for path in report.inputs[:_MOST_FILES]]
    if len(report.inputs) > _MOST_FILES:
        lines.append(f"* Read: {len(report.inputs) - _MOST_FILES:,} more, which report.json names")
    lines += [f"* Recognised: {markdown(text)}" for text in report.recognised]
    lines += [f"* {written}: {markdown_code(path)}" for path in report.outputs]
    return "\n".join(lines)


def _table(report: CompactionReport) -> str:
    if not report.logs:
        return "The dump holds no records."
    reasons = list(report.logs[0].removed)
    names = [
        "log",
        "records",
        "kept",
        *reasons,
        "tombstones kept",
        "keys",
        "gaps",
        "bytes before",
        "bytes after",
    ]
    lines = [_row(names), _row(["---", *["---:"] * (len(names) - 1)])]
    lines += [_row(_cells(log, reasons)) for log in report.logs]
    return "\n".join(lines)


def _cells(log: LogOutcome, reasons: list[str]) -> list[str]:
    figures = [
        log.records,
        log.kept,
        *(log.removed[reason] for reason in reasons),
        log.tombstones_kept,
        log.keys,
    ]
    figures += [log.gaps, log.record_bytes, log.kept_bytes]
    return [markdown_code(f"{log.topic}-{log.partition}"), *(f"{figure:,}" for figure in figures)]


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _list(title: str, texts: list[str]) -> str:
    return "\n".join([f"## {title}", "", *(f"* {markdown(text)}" for text in texts)]) if texts else ""


def _shared(report: CompactionReport) -> str:
    if not report.shared_keys:
        return ""
    lines = [
        f"* {markdown_code(shared.topic)}: {markdown_code(printable_key(shared.key))}"
        for shared in report.shared_key_examples
    ]
    head = f"{report.shared_keys:,} keys; compaction is per partition, so each keeps its own latest record."
    return "\n".join(["## Keys in several partitions", "", head, "", *lines])
