"""JUnit XML: one test case per question, failed if it found something that makes the exit code 1."""

from collections.abc import Iterator

from kcompact.printable import terminal
from kcompact.report.ci.ci import CiCase, CiReport
from kcompact.report.inert import xml


def render_junit(report: CiReport) -> str:
    """One test suite; what CI servers show as failures are the findings."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: CiReport) -> Iterator[str]:
    suite = xml(f"kcompact {report.command}: {report.question}")
    failures = sum(case.fails for case in report.cases)
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield (
        f'<testsuite name="{suite}" tests="{len(report.cases)}" failures="{failures}" errors="0" skipped="0">'
    )
    for case in report.cases:
        yield from _case(report, case)
    output = "&#10;".join(xml(text) for text in (report.answer, *report.notes))
    yield f"  <system-out>{output}</system-out>"
    yield "</testsuite>"


def _case(report: CiReport, case: CiCase) -> Iterator[str]:
    start = f'<testcase classname="kcompact.{xml(report.command)}.{xml(report.kind)}" name="{xml(case.name)}"'
    if not case.count:
        yield f"  {start}/>"
        return
    tag = "failure" if case.fails else "system-out"
    message = f' message="{case.count:,} {xml(case.name)}"' if case.fails else ""
    yield f"  {start}>"
    yield f"    <{tag}{message}>{'&#10;'.join(xml(terminal(text)) for text in _texts(case))}</{tag}>"
    yield "  </testcase>"


def _texts(case: CiCase) -> Iterator[str]:
    for finding in case.findings:
        yield f"{finding.title}: {finding.text}"
    if case.count > len(case.findings):
        yield f"and {case.count - len(case.findings):,} more"
