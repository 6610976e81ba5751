"""From classified rows to findings: counted in full, named up to a limit in the order of logs and offsets."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import reduce

import numpy as np

from kcompact.rules.lookups import rows_of_logs
from kcompact.verify.check import Check, Severity
from kcompact.verify.check_registry import CHECKS, ROW_CHECKS
from kcompact.verify.classification.remedies import NONE, words_of
from kcompact.verify.classification.suspects import Suspects
from kcompact.verify.outcome import Finding, Tally
from kcompact.verify.question import Question
from kcompact.verify.rows.key_rows import Longs

Place = tuple[str, int, Severity]
"""Check, log id, severity."""


@dataclass(frozen=True)
class Findings:
    """Findings by place: their number, and the first of them by offset."""

    counts: Counter[Place] = field(default_factory=Counter)
    findings: dict[Place, list[Finding]] = field(default_factory=dict)

    def plus(self, other: "Findings") -> "Findings":
        """Both; perhaps more of each than are to be named."""
        findings = {place: list(some) for place, some in self.findings.items()}
        for place, some in other.findings.items():
            findings.setdefault(place, []).extend(some)
        return Findings(self.counts + other.counts, findings)


def find(suspects: Suspects) -> Findings:
    """All that the checks find in the rows of some keys."""
    result = Findings()
    for check in ROW_CHECKS:
        rows = np.flatnonzero(check.finds(suspects))
        for severity, some in _by_severity(check, suspects, rows):
            for log_id, at in rows_of_logs(suspects.rows.log_id[some]):
                place = (check.name, log_id, severity)
                result.counts[place] = len(at)
                first = _first(some[at], suspects)
                result.findings[place] = [_finding(check, suspects, place, row) for row in first]
    return result


def _by_severity(check: Check, suspects: Suspects, rows: Longs) -> Iterator[tuple[Severity, Longs]]:
    certain = np.ones(len(rows), np.bool_)
    if check.is_certain is not None:
        certain = check.is_certain(suspects)[rows]
    yield Severity.FINDING if suspects.question.is_strict else Severity.NOTE, rows[~certain]
    explained = (
        certain & (suspects.remedies[rows] != NONE) if check.is_loss else np.zeros(len(rows), np.bool_)
    )
    yield Severity.UNDECIDED, rows[explained]
    yield Severity.FINDING, rows[certain & ~explained]


def together(parts: Iterable[Findings], question: Question) -> Findings:
    """The findings of all shares."""
    whole = reduce(Findings.plus, parts, Findings())
    findings = {
        place: sorted(some, key=lambda finding: finding.offset or 0)[: question.max_findings]
        for place, some in whole.findings.items()
    }
    return Findings(whole.counts, findings)


def tallies_of(result: Findings, question: Question) -> tuple[Tally, ...]:
    """The numbers of all findings: by check, then log."""
    return tuple(
        Tally(place[0], place[2], result.counts[place], *question.logs[place[1]])
        for place in _places(question)
        if result.counts[place]
    )


def in_order(result: Findings, question: Question) -> tuple[Finding, ...]:
    """The findings: those that make the exit code first, then by check, log and offset."""
    return tuple(finding for place in _places(question) for finding in result.findings.get(place, ()))


def _places(question: Question) -> Iterator[Place]:
    for severity in Severity:
        for check in CHECKS:
            for log_id in question.log_numbers:
                yield check.name, log_id, severity


def _first(rows: Longs, suspects: Suspects) -> list[int]:
    order = np.argsort(suspects.rows.offset[rows], kind="stable")[: suspects.question.max_findings]
    first: list[int] = rows[order].tolist()
    return first


def _finding(check: Check, suspects: Suspects, place: Place, at: int) -> Finding:
    question, severity = suspects.question, place[2]
    is_certain = check.is_certain is None or bool(check.is_certain(suspects)[at])
    row = suspects.row(at, is_certain=is_certain)
    topic, partition = question.logs[place[1]]
    expected, actual = check.words(row)
    remedy = None
    if severity is Severity.UNDECIDED:
        now_ms = int(suspects.classified.of_log("now_ms")[at])
        remedy = words_of(int(suspects.remedies[at]), now_ms, row.timestamp_ms)
    return Finding(
        check=check.name,
        severity=severity,
        topic=topic,
        partition=partition,
        offset=row.offset,
        key=row.key,
        expected=expected,
        found=actual,
        found_key=row.found_key,
        remedy=remedy,
    )
