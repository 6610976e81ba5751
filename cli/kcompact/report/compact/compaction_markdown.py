"""``report.md``: the compaction report for people."""

from kcompact.report.compact.compaction_report import CompactionReport
from kcompact.report.compact.compaction_tables import details_table, headline, logs_table
from kcompact.report.inert import markdown, markdown_code, printable_key
from kcompact.report.markdown_table import markdown_table

_MOST_FILES = 20
_MOST_SUMMARY_LOGS = 40


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
        table = logs_table(report).shortened(_MOST_SUMMARY_LOGS, "the report folder has all")
        parts.append(markdown_table(table))
    return "\n\n".join(parts) + "\n"


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
        f"* {markdown_code(shared.topic)}: {markdown_code(printable_key(shared.key))}"
        for shared in report.shared_key_examples
    ]
    head = f"{report.shared_keys:,} keys; compaction is per partition, so each keeps its own latest record."
    return "\n".join(["## Keys in several partitions", "", head, "", *lines])
