"""A verification for the terminal."""

from collections.abc import Iterator

from rich.console import Console

from kcompact.printable import terminal
from kcompact.report.verify.verify_words import Keys, answer, place, question, sentence_with_place
from kcompact.verify.check import Severity
from kcompact.verify.outcome import Finding, KeyEvidence, Outcome, VerifiedLog

MOST_LOGS = 20
_BY_LOG = ("compaction", "compacted")


def print_text(outcome: Outcome, console: Console, keys: Keys) -> None:
    """Print the answer as it is, unless nothing is to be printed."""
    if not console.quiet:
        console.file.write(render_text(outcome, keys))


def render_text(outcome: Outcome, keys: Keys) -> str:
    """The answer, what it rests on, and the findings."""
    return "".join(f"{terminal(line)}\n" for line in _lines(outcome, keys))


def _lines(outcome: Outcome, keys: Keys) -> Iterator[str]:
    yield question(outcome)
    yield answer(outcome)
    if not outcome.evidence:
        yield from _findings(outcome, keys)
    if "moved-offset" in outcome.counts_of(Severity.FINDING):
        yield "hint: --mode state compares what two dumps hold, whatever the offsets"
    yield from _logs(outcome)
    yield from _state(outcome)
    for evidence in outcome.evidence:
        yield _evidence(evidence, keys)
    for path, digest in outcome.sha256.items():
        yield f"SHA-256 of {path}: {digest}"
    for text in outcome.assumed:
        yield f"{'note' if outcome.mode == 'compacted' else 'assumed'}: {text}"


def _findings(outcome: Outcome, keys: Keys) -> Iterator[str]:
    """One line per kind and log, and the first examples of each."""
    by_kind: dict[tuple[str, Severity, str | None, int | None], list[Finding]] = {}
    for finding in outcome.findings:
        log = (finding.topic, finding.partition) if outcome.mode in _BY_LOG else (None, None)
        by_kind.setdefault((finding.check, finding.severity, *log), []).append(finding)
    for tally in outcome.tallies:
        examples = by_kind.get((tally.check, tally.severity, tally.topic, tally.partition), [])
        where = "" if tally.topic is None else f" in {tally.topic}-{tally.partition}"
        yield f"{tally.severity.value}: {tally.count:,} {tally.check}{where}"
        yield from (f"    {sentence_with_place(finding, keys)}" for finding in examples)
        if 0 < len(examples) < tally.count:
            yield f"    and {tally.count - len(examples):,} more (--max-findings shows more)"


def _logs(outcome: Outcome) -> Iterator[str]:
    for log in outcome.logs[:MOST_LOGS]:
        yield f"  {log.topic}-{log.partition}: {_log(log, outcome.mode)}"
    if len(outcome.logs) > MOST_LOGS:
        yield f"  and {len(outcome.logs) - MOST_LOGS:,} more logs"


def _log(log: VerifiedLog, mode: str) -> str:
    if mode == "compacted":
        return f"{log.records_after:,} records, looked at up to offset {log.cleaned_end_offset}"
    removed = ", ".join(f"{count:,} {reason.replace('_', ' ')}" for reason, count in log.removed.items())
    end = "" if not log.removed else f"; cleaned up to offset {log.cleaned_end_offset}"
    end += " (assumed)" if end and not log.cleaned_end_is_given else ""
    return f"{log.records_before:,} -> {log.records_after:,} records{f' ({removed})' if removed else ''}{end}"


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
