"""A verification for GitHub Actions: annotations in the log, and a Markdown summary of the step."""

from collections.abc import Iterator

from kcompact.report.inert import github_message, github_property, markdown, markdown_code
from kcompact.report.verify_words import Keys, answer, found_or_explained, hidden, place, question, said
from kcompact.verify.check import Severity
from kcompact.verify.outcome import Finding, Outcome

MOST_ANNOTATIONS = 10  # GitHub shows no more of a step, per level


def render_annotations(outcome: Outcome, keys: Keys) -> str:
    """Workflow commands: one per finding (the first few), and one line with the answer."""
    return "".join(f"{line}\n" for line in _annotations(outcome, keys))


def _annotations(outcome: Outcome, keys: Keys) -> Iterator[str]:
    errors = [finding for finding in outcome.findings if finding.severity is not Severity.NOTE]
    notes = [finding for finding in outcome.findings if finding.severity is Severity.NOTE]
    # The answer takes one of GitHub's ten errors.
    for finding in errors[: MOST_ANNOTATIONS - 1]:
        yield _annotation("error", outcome, finding, keys)
    for finding in notes[: MOST_ANNOTATIONS - 1]:
        yield _annotation("notice", outcome, finding, keys)
    level = "notice" if outcome.holds else "error"
    message = github_message(f"{question(outcome)} {answer(outcome)}")
    yield f"::{level} title={github_property('kcompact verify')}::{message}"


def _annotation(level: str, outcome: Outcome, finding: Finding, keys: Keys) -> str:
    title = github_property(f"{finding.check} in {place(finding)}")
    message = github_message(said(finding, keys))
    return f"::{level} file={github_property(outcome.after)},title={title}::{message}"


def render_summary(outcome: Outcome, keys: Keys) -> str:
    """Markdown for ``GITHUB_STEP_SUMMARY``."""
    return "\n".join(_summary(outcome, keys)) + "\n"


def _summary(outcome: Outcome, keys: Keys) -> Iterator[str]:
    yield "### kcompact verify"
    yield ""
    yield f"{markdown(question(outcome))} **{markdown(answer(outcome))}**"
    yield ""
    for text in outcome.assumed:
        yield f"* assumed: {markdown(text)}"
    if outcome.findings:
        yield ""
        yield "| finding | where | key | expected | found |"
        yield "| --- | --- | --- | --- | --- |"
    for finding in outcome.findings:
        found = found_or_explained(finding, keys)
        cells = (place(finding), keys.shown(finding.key), finding.expected, found)
        yield f"| {finding.check} | {' | '.join(map(markdown_code, cells))} |"
    for name, count in hidden(outcome).items():
        yield f"\n{count:,} more {markdown(name)}"
