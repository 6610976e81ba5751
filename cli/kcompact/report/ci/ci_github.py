"""GitHub Actions: annotations in the log, and a Markdown summary of the step."""

from collections.abc import Iterator

from kcompact.report.ci.ci import CiFinding, CiLevel, CiReport
from kcompact.report.inert import github_message, github_property, markdown, markdown_code

MOST_ANNOTATIONS = 10  # GitHub shows no more of a step, per level
MOST_SUMMARY_ROWS = 100


def render_annotations(report: CiReport) -> str:
    """Workflow commands: one per finding (the first few of each level), and one line with the answer."""
    return "".join(f"{line}\n" for line in _annotations(report))


def _annotations(report: CiReport) -> Iterator[str]:
    level = CiLevel.NOTICE if report.holds else CiLevel.ERROR
    for kind in CiLevel:
        findings = [finding for finding in report.findings if finding.level is kind]
        yield from _of_a_level(findings, MOST_ANNOTATIONS - (kind is level))
    message = github_message(f"{report.question} {report.answer}")
    yield f"::{level} title={github_property(f'kcompact {report.command}')}::{message}"


def _of_a_level(findings: list[CiFinding], most: int) -> Iterator[str]:
    """All, or the first ones and a last one that counts the others."""
    alone = findings if len(findings) <= most else findings[: most - 1]
    for finding in alone:
        yield _annotation(finding, finding.title, finding.text)
    hidden = findings[len(alone) :]
    if hidden:
        titles = ", ".join(dict.fromkeys(finding.title for finding in hidden[:5]))
        yield _annotation(hidden[0], f"{len(hidden):,} more", f"{titles}, ..." if len(hidden) > 1 else titles)


def _annotation(finding: CiFinding, title: str, text: str) -> str:
    place = f"file={github_property(finding.file)}," if finding.file else ""
    return f"::{finding.level} {place}title={github_property(title)}::{github_message(text)}"


def render_summary(report: CiReport) -> str:
    """Markdown for ``GITHUB_STEP_SUMMARY``."""
    return "\n".join(_summary(report)) + "\n"


def _summary(report: CiReport) -> Iterator[str]:
    yield f"### kcompact {report.command}"
    yield ""
    yield f"{markdown(report.question)} **{markdown(report.answer)}**"
    yield ""
    for text in report.notes:
        yield f"* {markdown(text)}"
    findings = report.findings[:MOST_SUMMARY_ROWS]
    if findings:
        yield ""
        yield "| level | finding | details |"
        yield "| --- | --- | --- |"
    for finding in findings:
        yield f"| {finding.level} | {markdown_code(finding.title)} | {markdown_code(finding.text)} |"
    for case in report.cases:
        shown = sum(1 for finding in findings if finding in case.findings)
        if case.count > shown:
            yield f"\n{case.count - shown:,} more {markdown(case.name)}"
