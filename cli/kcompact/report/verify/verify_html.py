"""A verification as one HTML file: the answer, and each finding with both records side by side."""

from collections.abc import Sequence

from kcompact.report.html_page import render, shown
from kcompact.report.pictures import MOST_PICTURED_LOGS, Bar, bar
from kcompact.report.verify.verify_words import (
    Keys,
    actual_and_remedy,
    answer,
    answer_tables,
    hidden,
    place,
    question,
)
from kcompact.verify.outcome import VerifiedLog, VerifyOutcome

MOST_FINDINGS = 200
_MORE = "findings of all kinds"
_KINDS = {  # reasons that share the colour of another one in compaction reports
    "lost": "keyless",
    "tombstone_assumed_expired": "expired_tombstone",
    "below_log_start": "expired",
    "marker": "aborted",
}


def render_html(outcome: VerifyOutcome, keys: Keys) -> str:
    """The whole answer; ``keys`` says whether keys are shown or hashed."""
    findings = [
        (
            finding.severity.value,
            finding.check,
            place(finding),
            keys.shown(finding.key),
            finding.expected,
            actual_and_remedy(finding, keys),
        )
        for finding in outcome.findings
    ]
    more = len(findings) - MOST_FINDINGS
    logs = sorted(outcome.logs, key=lambda log: -log.removed.get("lost", 0))[:MOST_PICTURED_LOGS]
    return render(
        "verification.html",
        outcome=outcome,
        question=question(outcome),
        answer=answer(outcome),
        findings=findings[:MOST_FINDINGS],
        hidden={**hidden(outcome), **({_MORE: more} if more > 0 else {})},
        log_bars=_log_bars(logs, outcome.mode),
        hidden_logs=len(outcome.logs) - len(logs),
        tables=shown(answer_tables(outcome, keys)),
    )


def _log_bars(logs: Sequence[VerifiedLog], mode: str) -> list[Bar]:
    if mode != "compaction":
        return []
    largest = max((log.records_before for log in logs), default=0)
    return [
        bar(
            f"{log.topic}-{log.partition}",
            [
                ("kept", "kept", log.records_after),
                *((_KINDS.get(why, why), why.replace("_", " "), count) for why, count in log.removed.items()),
            ],
            largest,
            f"{log.records_before:,} → {log.records_after:,} records",
        )
        for log in logs
    ]
