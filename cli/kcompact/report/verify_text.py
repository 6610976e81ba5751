"""A verification for the terminal."""

from collections.abc import Iterator

from kcompact.report.inert import terminal
from kcompact.report.verify_words import Keys, answer, hidden, place, question
from kcompact.verify.outcome import Finding, JudgedLog, KeyEvidence, Outcome

MOST_LOGS = 20


def render_text(outcome: Outcome, keys: Keys) -> str:
    """The answer, what it rests on, and the findings."""
    return "".join(f"{terminal(line)}\n" for line in _lines(outcome, keys))


def _lines(outcome: Outcome, keys: Keys) -> Iterator[str]:
    yield question(outcome)
    yield answer(outcome)
    yield from _logs(outcome)
    yield from _state(outcome)
    for one in outcome.evidence:
        yield _evidence(one, keys)
    for path, digest in outcome.sha256.items():
        yield f"SHA-256 of {path}: {digest}"
    for text in outcome.assumed:
        yield f"{'note' if outcome.mode == 'compacted' else 'assumed'}: {text}"
    if not outcome.evidence:
        for finding in outcome.findings:
            yield from _finding(finding, keys)
    for name, count in hidden(outcome).items():
        yield f"{count:,} more {name} (--max-findings shows more)"
    if outcome.counts.get("moved-offset"):
        yield "hint: --mode state compares what two dumps hold, whatever the offsets"


def _logs(outcome: Outcome) -> Iterator[str]:
    for log in outcome.logs[:MOST_LOGS]:
        yield f"  {log.topic}-{log.partition}: {_log(log, outcome.mode)}"
    if len(outcome.logs) > MOST_LOGS:
        yield f"  and {len(outcome.logs) - MOST_LOGS:,} more logs"


def _log(log: JudgedLog, mode: str) -> str:
    if mode == "compacted":
        return f"{log.records_after:,} records, looked at up to offset {log.cleaned_end_offset}"
    gone = ", ".join(f"{count:,} {reason.replace('_', ' ')}" for reason, count in log.removed.items())
    end = "" if not log.removed else f"; cleaned up to offset {log.cleaned_end_offset}"
    end += " (assumed)" if end and not log.cleaned_end_is_given else ""
    return f"{log.records_before:,} -> {log.records_after:,} records{f' ({gone})' if gone else ''}{end}"


def _state(outcome: Outcome) -> Iterator[str]:
    if outcome.mode == "state":
        facts = outcome.facts
        yield (
            f"  {facts['live_keys_a']:,} live keys in A, {facts['live_keys_b']:,} in B,"
            f" {facts['equal_keys']:,} with the same value"
        )


def _evidence(evidence: KeyEvidence, keys: Keys) -> str:
    last = evidence.last_value_offset
    value = "no value seen" if last is None else f"last value {last}"
    deleted = "" if evidence.tombstone_offset is None else f", tombstone {evidence.tombstone_offset}"
    return f"  {keys.shown(evidence.key)}  {place(evidence)}  {evidence.verdict.value}  ({value}{deleted})"


def _finding(finding: Finding, keys: Keys) -> Iterator[str]:
    yield f"{finding.severity.value}: {finding.check}  {place(finding)}  key {keys.shown(finding.key)}"
    yield f"    expected {finding.expected}"
    yield f"    found    {keys.found(finding)}"
