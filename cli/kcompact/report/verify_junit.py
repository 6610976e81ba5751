"""A verification as JUnit XML: one test case per check, failed if it found something."""

from collections.abc import Iterator

from kcompact.report.inert import terminal, xml
from kcompact.report.verify_words import Keys, answer, hidden, question, said_with_place
from kcompact.verify.check import Severity
from kcompact.verify.outcome import Outcome


def render_junit(outcome: Outcome, keys: Keys) -> str:
    """One test suite; what CI servers show as failures are the findings."""
    return "\n".join(_lines(outcome, keys)) + "\n"


def _lines(outcome: Outcome, keys: Keys) -> Iterator[str]:
    failing = {**outcome.counts_of(Severity.FINDING), **outcome.counts_of(Severity.UNDECIDED)}
    suite = xml(f"kcompact verify: {question(outcome)}")
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield (
        f'<testsuite name="{suite}" tests="{len(outcome.counts)}"'
        f' failures="{len(failing)}" errors="0" skipped="0">'
    )
    for name, count in outcome.counts.items():
        yield from _case(outcome, name, count, keys)
    notes = [answer(outcome), *(f"assumed: {text}" for text in outcome.assumed)]
    yield f"  <system-out>{'&#10;'.join(xml(text) for text in notes)}</system-out>"
    yield "</testsuite>"


def _case(outcome: Outcome, name: str, count: int, keys: Keys) -> Iterator[str]:
    case = f'<testcase classname="kcompact.verify.{xml(outcome.mode)}" name="{xml(name)}"'
    if not count:
        yield f"  {case}/>"
        return
    found = {**outcome.counts_of(Severity.UNDECIDED), **outcome.counts_of(Severity.FINDING)}
    is_finding = name in found
    tag = "failure" if is_finding else "system-out"
    said = f' message="{count:,} {xml(name)}"' if is_finding else ""
    yield f"  {case}>"
    yield f"    <{tag}{said}>{'&#10;'.join(xml(text) for text in _texts(outcome, name, keys))}</{tag}>"
    yield "  </testcase>"


def _texts(outcome: Outcome, name: str, keys: Keys) -> Iterator[str]:
    for finding in outcome.findings:
        if finding.check == name:
            yield terminal(said_with_place(finding, keys))
    if more := hidden(outcome).get(name):
        yield f"and {more:,} more"
