"""A verification for CI servers."""

from kcompact.report.ci import CiCase, CiFinding, CiLevel, CiReport
from kcompact.report.verify.verify_words import Keys, answer, place, question, sentence
from kcompact.verify.check import Severity
from kcompact.verify.outcome import Finding, Outcome

_LEVELS = {
    Severity.FINDING: CiLevel.ERROR,
    Severity.UNDECIDED: CiLevel.ERROR,
    Severity.NOTE: CiLevel.NOTICE,
}


def ci_report(outcome: Outcome, keys: Keys) -> CiReport:
    """One case per check."""
    return CiReport(
        "verify",
        outcome.mode,
        question(outcome),
        answer(outcome),
        outcome.holds,
        [_case(outcome, name, keys) for name in outcome.counts],
        [f"assumed: {text}" for text in outcome.assumed],
    )


def _case(outcome: Outcome, name: str, keys: Keys) -> CiCase:
    examples = [finding for finding in outcome.findings if finding.check == name]
    findings = tuple(_finding(outcome, finding, keys) for finding in examples)
    failing = {**outcome.counts_of(Severity.UNDECIDED), **outcome.counts_of(Severity.FINDING)}
    return CiCase(name, findings, outcome.counts[name], name in failing)


def _finding(outcome: Outcome, finding: Finding, keys: Keys) -> CiFinding:
    title = f"{finding.check} in {place(finding)}"
    return CiFinding(_LEVELS[finding.severity], title, sentence(finding, keys), outcome.after)
