"""A verification in all its forms but HTML: on a terminal, as Markdown, for CI servers, as JSON for programs.

The README documents the shape of the JSON.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict
from typing import Any

from rich.console import Console

from kcompact.counted import counted
from kcompact.dumps.json.canonical_json import is_spelt_variously
from kcompact.dumps.json.json_text import canonical
from kcompact.errors import UnreadableError
from kcompact.inert import json_document, markdown, markdown_code
from kcompact.printable import terminal
from kcompact.report.ci import CiCase, CiFinding, CiLevel, CiReport
from kcompact.report.table import WHERE_ALL, markdown_table
from kcompact.report.verify.verify_words import (
    Keys,
    answer,
    answer_tables,
    hidden,
    place,
    question,
    sentence,
    sentence_with_place,
)
from kcompact.verify.check import Severity
from kcompact.verify.outcome import KeyEvidence, VerifiedLog, VerifyFinding, VerifyOutcome

MOST_LOGS = 20  # on a terminal
MOST_TALLIES = 100  # checks and logs with findings, on a terminal
_BY_LOG = ("compaction", "compacted")
MOST_ROWS = 200  # of a table in Markdown, and findings
SCHEMA_VERSION = 1
_LEVELS = {
    Severity.FINDING: CiLevel.ERROR,
    Severity.UNDECIDED: CiLevel.ERROR,
    Severity.NOTE: CiLevel.NOTICE,
}


def print_text(outcome: VerifyOutcome, console: Console, keys: Keys) -> None:
    """Print the answer without wrapping or styles, unless the console is quiet."""
    if not console.quiet:
        console.file.write(render_text(outcome, keys))


def render_text(outcome: VerifyOutcome, keys: Keys) -> str:
    """The answer, what it rests on, and the findings."""
    return "".join(f"{terminal(line)}\n" for line in _lines(outcome, keys))


def _lines(outcome: VerifyOutcome, keys: Keys) -> Iterator[str]:
    yield question(outcome)
    yield answer(outcome)
    if not outcome.evidence:
        yield from _findings(outcome, keys)
    if "moved-offset" in outcome.counts_of(Severity.FINDING):
        yield "hint: --mode state compares what two dumps hold, whatever the offsets"
    if any(map(_is_spelt_otherwise, outcome.findings)):
        yield "hint: --canonical-keys compares keys that are JSON by their values, however spelt"
    changes = {finding.found for finding in outcome.findings if finding.severity is Severity.FINDING}
    if changes == {"other headers"}:
        yield "hint: --fields headers= leaves headers out, where a tool has not exported them as they are"
    yield from _logs(outcome)
    yield from _state(outcome)
    for evidence in outcome.evidence:
        yield _evidence(evidence, keys)
    for path, digest in outcome.sha256.items():
        yield f"SHA-256 of {path}: {digest}"
    for text in outcome.assumed:
        yield f"{'note' if outcome.mode == 'compacted' else 'assumed'}: {text}"


def _findings(outcome: VerifyOutcome, keys: Keys) -> Iterator[str]:
    """One line per kind and log, the gravest first, and the first examples of each."""
    by_kind: dict[tuple[str, Severity, str | None, int | None], list[VerifyFinding]] = {}
    for finding in outcome.findings:
        log = (finding.topic, finding.partition) if outcome.mode in _BY_LOG else (None, None)
        by_kind.setdefault((finding.check, finding.severity, *log), []).append(finding)
    for tally in outcome.tallies[:MOST_TALLIES]:
        examples = by_kind.get((tally.check, tally.severity, tally.topic, tally.partition), [])
        where = "" if tally.topic is None else f" in {tally.topic}-{tally.partition}"
        yield f"{tally.severity.value}: {tally.count:,} {tally.check}{where}"
        yield from (f"    {sentence_with_place(finding, keys)}" for finding in examples)
        if 0 < len(examples) < tally.count:
            yield f"    and {tally.count - len(examples):,} more (--max-findings shows more)"
    if (more := len(outcome.tallies) - MOST_TALLIES) > 0:
        yield f"and {more:,} more checks and logs that have findings or notes ({WHERE_ALL})"


def _is_spelt_otherwise(finding: VerifyFinding) -> bool:
    """Whether AFTER's key is the same JSON in another spelling, as written by a tool that has parsed it."""
    keys = (finding.key, *(finding.found_key or ()))
    if len(keys) == 1 or not all(key is not None and is_spelt_variously(key) for key in keys):
        return False
    with suppress(UnreadableError):
        return len({canonical(key) for key in keys if key is not None}) == 1
    return False


def _logs(outcome: VerifyOutcome) -> Iterator[str]:
    for log in outcome.logs[:MOST_LOGS]:
        yield f"  {log.topic}-{log.partition}: {_log(log, outcome.mode)}"
    if len(outcome.logs) > MOST_LOGS:
        yield f"  and {len(outcome.logs) - MOST_LOGS:,} more logs"


def _log(log: VerifiedLog, mode: str) -> str:
    if mode == "compacted":
        return f"{counted(log.records_after, 'record')}, looked at up to offset {log.cleaned_end_offset}"
    removed = ", ".join(f"{count:,} {reason.replace('_', ' ')}" for reason, count in log.removed.items())
    end = "" if not log.removed else f"; cleaned up to offset {log.cleaned_end_offset}"
    end += " (assumed)" if end and not log.cleaned_end_is_given else ""
    return f"{log.records_before:,} -> {log.records_after:,} records{f' ({removed})' if removed else ''}{end}"


def _state(outcome: VerifyOutcome) -> Iterator[str]:
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


def render_markdown(outcome: VerifyOutcome, keys: Keys) -> str:
    """The whole answer; text from the dumps is inert in it."""
    parts = ["# Verification", f"{markdown(question(outcome))} **{markdown(answer(outcome))}**"]
    parts += filter(None, ["\n".join([*_listed_findings(outcome, keys), *_assumed(outcome)])])
    tables = [table.shortened(MOST_ROWS) for table in answer_tables(outcome, keys)]
    parts += [markdown_table(table) for table in tables if table.rows]
    return "\n\n".join(parts) + "\n"


def _listed_findings(outcome: VerifyOutcome, keys: Keys) -> Iterator[str]:
    for finding in outcome.findings[:MOST_ROWS]:
        where = markdown_code(place(finding))
        text = markdown_code(sentence(finding, keys))  # there, GitHub finds no mentions
        yield f"* **{finding.severity.value}** {finding.check} in {where}: {text}"
    if (more := len(outcome.findings) - MOST_ROWS) > 0:
        yield f"* {more:,} more of all kinds: --format json shows them"
    for check, count in hidden(outcome).items():
        yield f"* {count:,} more {check}: --max-findings and --format json show more"


def _assumed(outcome: VerifyOutcome) -> Iterator[str]:
    kind = "note" if outcome.mode == "compacted" else "assumed"
    for text in outcome.assumed:
        yield f"* **{kind}** {markdown(text)}"
    for path, digest in outcome.sha256.items():
        yield f"* SHA-256 of {markdown_code(path)}: {markdown_code(digest)}"


def render_json(outcome: VerifyOutcome, keys: Keys) -> str:
    """The whole outcome as JSON; keys are printable text, or their SHA-256."""
    return json_document(_as_dict(outcome, keys))


def _as_dict(outcome: VerifyOutcome, keys: Keys) -> dict[str, Any]:
    return {
        "schema_version": SCHEMA_VERSION,
        "command": "verify",
        "mode": outcome.mode,
        "before": list(outcome.before),
        "after": outcome.after,
        "holds": outcome.holds,
        "undecided": outcome.is_undecided,
        "counts": {
            name: {severity.value: outcome.counts_of(severity).get(name, 0) for severity in Severity}
            for name in outcome.checks
        },
        "tallies": [asdict(tally) for tally in outcome.tallies if tally.topic is not None],
        "facts": outcome.facts,
        "assumed": list(outcome.assumed),
        "logs": [asdict(log) for log in outcome.logs],
        "findings": [_finding_dict(finding, keys) for finding in outcome.findings],
        "keys": [_evidence_dict(evidence, keys) for evidence in outcome.evidence],
        "sha256": outcome.sha256,
        "run": {"now_ms": outcome.now_ms},
    }


def _finding_dict(finding: VerifyFinding, keys: Keys) -> dict[str, Any]:
    values = {name: value for name, value in asdict(finding).items() if name != "found_key"}
    shown = {"key": keys.shown(finding.key), "found": keys.actual(finding)}
    return {**values, "severity": finding.severity.value, **shown}


def _evidence_dict(evidence: KeyEvidence, keys: Keys) -> dict[str, Any]:
    return {**asdict(evidence), "key": keys.shown(evidence.key), "verdict": evidence.verdict.value}


def ci_report(outcome: VerifyOutcome, keys: Keys) -> CiReport:
    """One case per check."""
    return CiReport(
        "verify",
        outcome.mode,
        question(outcome),
        answer(outcome),
        outcome.holds,
        [_ci_case(outcome, name, keys) for name in outcome.counts],
        [f"assumed: {text}" for text in outcome.assumed],
    )


def _ci_case(outcome: VerifyOutcome, name: str, keys: Keys) -> CiCase:
    examples = [finding for finding in outcome.findings if finding.check == name]
    findings = tuple(_ci_finding(outcome, finding, keys) for finding in examples)
    failing = {**outcome.counts_of(Severity.UNDECIDED), **outcome.counts_of(Severity.FINDING)}
    return CiCase(name, findings, outcome.counts[name], name in failing)


def _ci_finding(outcome: VerifyOutcome, finding: VerifyFinding, keys: Keys) -> CiFinding:
    title = f"{finding.check} in {place(finding)}"
    return CiFinding(_LEVELS[finding.severity], title, sentence(finding, keys), outcome.after)
