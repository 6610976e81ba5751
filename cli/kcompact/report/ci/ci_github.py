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
        found = [finding for finding in report.findings if finding.level is kind]
        yield from _of_a_level(found, MOST_ANNOTATIONS - (kind is level))
    said = github_message(f"{report.question} {report.answer}")
    yield f"::{level} title={github_property(f'kcompact {report.command}')}::{said}"


def _of_a_level(found: list[CiFinding], most: int) -> Iterator[str]:
    """All, or the first ones and a last one that stands for the others."""
    alone = found if len(found) <= most else found[: most - 1]
    for finding in alone:
        yield _annotation(finding, finding.title, finding.text)
    others = found[len(alone) :]
    if others:
        titles = ", ".join(dict.fromkeys(finding.title for finding in others[:5]))
        yield _annotation(others[0], f"{len(others):,} more", f"{titles}, ..." if len(others) > 1 else titles)


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
    found = report.findings[:MOST_SUMMARY_ROWS]
    if found:
        yield ""
        yield "| level | finding | details |"
        yield "| --- | --- | --- |"
    for finding in found:
        yield f"| {finding.level} | {markdown_code(finding.title)} | {markdown_code(finding.text)} |"
    for case in report.cases:
        shown = sum(1 for finding in found if finding in case.findings)
        if case.count > shown:
            yield f"\n{case.count - shown:,} more {markdown(case.name)}"
