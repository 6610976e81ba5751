"""Words and tables that the forms of a verification share: keys, places, the answer in one line, figures."""

import hashlib
from collections import Counter
from dataclasses import dataclass

from kcompact.printable import printable_key
from kcompact.report.table import Foreign, Row, Table, log_cell
from kcompact.verify.check import Severity
from kcompact.verify.outcome import KeyEvidence, VerifyFinding, VerifyOutcome


@dataclass(frozen=True)
class Keys:
    """How keys are shown: as they are (printable), or as their SHA-256, which shows no personal data."""

    hashed: bool = False

    def shown(self, key: bytes | None) -> str:
        """A key as inert text."""
        if self.hashed and key is not None:
            return f"sha256:{hashlib.sha256(key).hexdigest()}"
        return printable_key(key)

    def actual(self, finding: VerifyFinding) -> str:
        """The actual record of a finding, with its key where that is not the expected one."""
        if finding.found_key is None:
            return finding.found
        return f"{finding.found}: key {self.shown(finding.found_key[0])} for {self.shown(finding.key)}"


def question(outcome: VerifyOutcome) -> str:
    """The question, in words."""
    after, before = outcome.after, ", ".join(outcome.before)
    return {
        "compaction": f"is {after} a compaction of {before}?",
        "state": f"does {after} hold the same state as {before}?",
        "compacted": f"is {after} fully compacted?",
        "absent-keys": f"are these keys gone from {after}?",
    }[outcome.mode]


def answer(outcome: VerifyOutcome) -> str:
    """The answer, with what speaks against it."""
    if outcome.holds:
        notes = _counted(outcome, Severity.NOTE)
        return "yes" + (f" (left over: {notes})" if notes else "")
    if outcome.is_undecided:
        return f"nobody can tell: {_counted(outcome, Severity.UNDECIDED)}"
    return f"no: {_counted(outcome, Severity.FINDING)}"


def _counted(outcome: VerifyOutcome, severity: Severity) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in outcome.counts_of(severity).items())


def place(finding: VerifyFinding | KeyEvidence) -> str:
    """The place of a finding or a key, as ``orders-0@17``; the topic is not made inert yet."""
    if isinstance(finding, KeyEvidence):
        return "-" if finding.topic is None else f"{finding.topic}-{finding.partition}"
    offset = "" if finding.offset is None else f"@{finding.offset}"
    return f"{finding.topic}-{finding.partition}{offset}"


def sentence(finding: VerifyFinding, keys: Keys) -> str:
    """A finding in one line: which key, what was expected, what is there, what could explain it."""
    key = "" if finding.offset is None else f"key {keys.shown(finding.key)}: "
    return f"{key}expected {finding.expected}, found {actual_and_remedy(finding, keys)}"


def actual_and_remedy(finding: VerifyFinding, keys: Keys) -> str:
    """The actual record, and the option that could explain it."""
    return keys.actual(finding) + ("" if finding.remedy is None else f"; give {finding.remedy}")


def sentence_with_place(finding: VerifyFinding, keys: Keys) -> str:
    """A finding in one line, with its place."""
    return f"{place(finding)} {sentence(finding, keys)}"


def hidden(outcome: VerifyOutcome) -> dict[str, int]:
    """How many findings of each check are counted but not named."""
    named = Counter(finding.check for finding in outcome.findings)
    return dict(Counter(outcome.counts) - named)


def answer_tables(outcome: VerifyOutcome, keys: Keys) -> list[Table]:
    """The tables that HTML and Markdown show."""
    return [_checks_table(outcome), _logs_table(outcome), _evidence_table(outcome, keys)]


def _checks_table(outcome: VerifyOutcome) -> Table:
    columns = [outcome.counts_of(severity) for severity in Severity]
    rows: list[Row] = [(name, *(counts.get(name, 0) for counts in columns)) for name in outcome.checks]
    return Table.of("Checks", ("check", *(severity.value for severity in Severity)), rows, ("check",))


def _logs_table(outcome: VerifyOutcome) -> Table:
    reasons = list(dict.fromkeys(reason for log in outcome.logs for reason in log.removed))
    headers = ("log", "records before", "records after", *reasons, "cleaned up to offset", "which is")
    rows = [
        (
            log_cell(log.topic, log.partition),
            log.records_before,
            log.records_after,
            *(log.removed.get(reason, 0) for reason in reasons),
            log.cleaned_end_offset,
            "known" if log.cleaned_end_is_given else "assumed",
        )
        for log in outcome.logs
    ]
    return Table.of("Logs", headers, rows, ("log", "which is"))


def _evidence_table(outcome: VerifyOutcome, keys: Keys) -> Table:
    rows = [
        (
            Foreign(keys.shown(evidence.key)),
            Foreign(place(evidence)),
            evidence.verdict.value,
            evidence.last_value_offset,
            evidence.tombstone_offset,
        )
        for evidence in outcome.evidence
    ]
    headers = ("key", "log", "verdict", "last value at offset", "tombstone at offset")
    return Table.of("Keys asked for", headers, rows, ("key", "log", "verdict"))
