"""From judged rows to findings: counted in full, named up to a limit in the order of logs and offsets."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import reduce

import numpy as np

from kcompact.log.lookups import rows_of_logs
from kcompact.verify.check import Check
from kcompact.verify.checks import CHECKS, ROW_CHECKS
from kcompact.verify.key_rows import Longs
from kcompact.verify.outcome import Finding
from kcompact.verify.question import Question
from kcompact.verify.suspects import Suspects

CheckOfLog = tuple[str, int]


@dataclass(frozen=True)
class Found:
    """Findings by check and log id: their number, and the first of them by offset."""

    counts: Counter[CheckOfLog] = field(default_factory=Counter)
    findings: dict[CheckOfLog, list[Finding]] = field(default_factory=dict)

    def plus(self, other: "Found") -> "Found":
        """Both; perhaps more of each than are to be named."""
        findings = {place: list(some) for place, some in self.findings.items()}
        for place, some in other.findings.items():
            findings.setdefault(place, []).extend(some)
        return Found(self.counts + other.counts, findings)


def find(suspects: Suspects) -> Found:
    """All that the checks find in the rows of some keys."""
    found = Found()
    for check in ROW_CHECKS:
        rows = np.flatnonzero(check.finds(suspects))
        for log_id, at in rows_of_logs(suspects.rows.log_id[rows]):
            found.counts[check.name, log_id] = len(at)
            first = _first(rows[at], suspects)
            found.findings[check.name, log_id] = [_finding(check, suspects, log_id, row) for row in first]
    return found


def together(parts: Iterable[Found], question: Question) -> Found:
    """The findings of all shares."""
    whole = reduce(Found.plus, parts, Found())
    findings = {
        place: sorted(some, key=lambda one: one.offset or 0)[: question.max_findings]
        for place, some in whole.findings.items()
    }
    return Found(whole.counts, findings)


def counts_by_check(found: Found) -> dict[str, int]:
    """How often each check found something; every check is there."""
    counts = {check.name: 0 for check in CHECKS}
    for (name, _), count in found.counts.items():
        counts[name] += count
    return counts


def in_order(found: Found, question: Question) -> tuple[Finding, ...]:
    """The findings by check, log and offset."""
    return tuple(_ordered(found, question))


def _ordered(found: Found, question: Question) -> Iterator[Finding]:
    for check in CHECKS:
        for log_id in sorted(question.logs, key=question.logs.__getitem__):
            yield from found.findings.get((check.name, log_id), ())


def _first(rows: Longs, suspects: Suspects) -> list[int]:
    order = np.argsort(suspects.rows.offset[rows], kind="stable")[: suspects.question.max_findings]
    first: list[int] = rows[order].tolist()
    return first


def _finding(check: Check, suspects: Suspects, log_id: int, at: int) -> Finding:
    question, row = suspects.question, suspects.row(at)
    topic, partition = question.logs[log_id]
    expected, found = check.words(row)
    return Finding(
        check=check.name,
        severity=question.severity(check),
        topic=topic,
        partition=partition,
        offset=row.offset,
        key=row.key,
        expected=expected,
        found=found,
        found_key=row.found_key,
    )
