"""Results for a CI server, whichever command ran: GitHub annotations, JUnit XML or GitLab's JSON."""

import enum
import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kcompact.inert import github_message, github_property, json_document, markdown, markdown_code, xml
from kcompact.printable import terminal

MOST_ANNOTATIONS = 10  # GitHub shows no more of a step, per level
MOST_SUMMARY_ROWS = 100


class CiLevel(enum.StrEnum):
    """How a finding is shown; by GitHub's names."""

    ERROR = "error"
    WARNING = "warning"
    NOTICE = "notice"


@dataclass(frozen=True)
class CiFinding:
    """One thing to be shown at a file. Texts are made inert by the renderings."""

    level: CiLevel
    title: str
    text: str
    file: str


@dataclass(frozen=True)
class CiCase:
    """One question, and its findings; ``count`` may be more than there are ``findings``."""

    name: str
    findings: tuple[CiFinding, ...] = ()
    count: int = 0
    fails: bool = False


@dataclass(frozen=True)
class CiReport:
    """The answer of one run."""

    command: str
    kind: str  # of cases, within the command
    question: str
    answer: str
    holds: bool
    cases: Sequence[CiCase]
    notes: Sequence[str] = ()

    @property
    def findings(self) -> list[CiFinding]:
        """All that is shown, case by case."""
        return [finding for case in self.cases for finding in case.findings]


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
    """Annotations of all findings, or of the first ones with a last one that counts the others."""
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


_SEVERITIES = {CiLevel.ERROR: "major", CiLevel.WARNING: "minor", CiLevel.NOTICE: "info"}


def render_code_quality(report: CiReport) -> str:
    """One issue per finding, at the first line of its file; the same finding has the same fingerprint.

    GitLab knows files by paths from the repository's root, which do not begin with ``./``.
    """
    return json_document([_issue(report, finding) for finding in report.findings])


def _issue(report: CiReport, finding: CiFinding) -> dict[str, Any]:
    text = f"{finding.title}: {finding.text}"
    fingerprint = hashlib.sha256(f"{report.command}\0{finding.file}\0{text}".encode("utf-8", "replace"))
    return {
        "description": terminal(text),
        "check_name": f"kcompact {report.command}",
        "fingerprint": fingerprint.hexdigest(),
        "severity": _SEVERITIES[finding.level],
        "location": {"path": finding.file.removeprefix("./"), "lines": {"begin": 1}},
    }


def render_junit(report: CiReport) -> str:
    """One test suite; what CI servers show as failures are the findings."""
    return "\n".join(_junit_lines(report)) + "\n"


def _junit_lines(report: CiReport) -> Iterator[str]:
    suite = xml(f"kcompact {report.command}: {report.question}")
    failures = sum(case.fails for case in report.cases)
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield (
        f'<testsuite name="{suite}" tests="{len(report.cases)}" failures="{failures}" errors="0" skipped="0">'
    )
    for case in report.cases:
        yield from _junit_case(report, case)
    output = "&#10;".join(xml(text) for text in (report.answer, *report.notes))
    yield f"  <system-out>{output}</system-out>"
    yield "</testsuite>"


def _junit_case(report: CiReport, case: CiCase) -> Iterator[str]:
    start = f'<testcase classname="kcompact.{xml(report.command)}.{xml(report.kind)}" name="{xml(case.name)}"'
    if not case.count:
        yield f"  {start}/>"
        return
    tag = "failure" if case.fails else "system-out"
    message = f' message="{case.count:,} {xml(case.name)}"' if case.fails else ""
    yield f"  {start}>"
    yield f"    <{tag}{message}>{'&#10;'.join(xml(terminal(text)) for text in _junit_texts(case))}</{tag}>"
    yield "  </testcase>"


def _junit_texts(case: CiCase) -> Iterator[str]:
    for finding in case.findings:
        yield f"{finding.title}: {finding.text}"
    if case.count > len(case.findings):
        yield f"and {case.count - len(case.findings):,} more"


CI_RENDERINGS: Mapping[str, Callable[[CiReport], str]] = {
    "junit": render_junit,
    "github": render_annotations,
    "code-quality": render_code_quality,
}
"""The renderings by the value of ``--format``."""
