"""Findings from classified rows: all are counted, and the first ones of each log named, up to a limit."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import reduce

import numpy as np

from kcompact.arrays import Flags, Longs
from kcompact.counted import counted
from kcompact.rules.lookups import rows_of_logs
from kcompact.verify.check import Check, Severity
from kcompact.verify.checks import CHECKS, MISSING_LOG
from kcompact.verify.classification.known_log import PairFacts
from kcompact.verify.classification.remedies import RETENTION_REMEDY, WHOLE_LOG_REMEDY, Remedy, words_of
from kcompact.verify.classification.suspects import Suspects
from kcompact.verify.outcome import Tally, VerifyFinding
from kcompact.verify.question import Question

Place = tuple[str, int, Severity]
"""Check, log id, severity."""


@dataclass(frozen=True)
class Findings:
    """Findings by place: their number, and the first of them by offset.

    ``without_key``: how many are about a record without a key, or with an empty one.
    """

    counts: Counter[Place] = field(default_factory=Counter)
    findings: dict[Place, list[VerifyFinding]] = field(default_factory=dict)
    without_key: Counter[Place] = field(default_factory=Counter)

    def plus(self, other: "Findings") -> "Findings":
        """The findings of both; a place may then have more named findings than the limit allows."""
        findings = {place: list(some) for place, some in self.findings.items()}
        for place, some in other.findings.items():
            findings.setdefault(place, []).extend(some)
        return Findings(self.counts + other.counts, findings, self.without_key + other.without_key)

    @property
    def counts_by_log(self) -> dict[int, list[int]]:
        """For each log with findings, their number by severity, the gravest first."""
        by_log: dict[int, list[int]] = {}
        for (_, log_id, severity), count in self.counts.items():
            by_log.setdefault(log_id, [0] * len(Severity))[list(Severity).index(severity)] += count
        return by_log

    def with_logs_of(self, other: "Findings", log_ids: Collection[int]) -> "Findings":
        """A copy in which the findings of some logs are those of ``other``."""
        result = Findings()
        for source, is_other in ((self, False), (other, True)):
            for place, count in source.counts.items():
                if (place[1] in log_ids) is is_other:
                    result.counts[place] = count
                    result.findings[place] = source.findings.get(place, [])
                    result.without_key[place] = source.without_key[place]
        return result


def find(suspects: Suspects) -> Findings:
    """All that the checks find in the rows of some keys."""
    result = Findings()
    for check in CHECKS:
        rows = np.flatnonzero(check.finds(suspects))
        certain = check.is_certain(suspects) if check.is_certain else np.ones(len(suspects.rows), np.bool_)
        for severity, some in _by_severity(check, suspects, rows, certain):
            for log_id, at in rows_of_logs(suspects.rows.log_id[some]):
                place = (check.name, log_id, severity)
                result.counts[place] = len(at)
                result.without_key[place] = int(suspects.is_without_key(some[at]).sum())
                order = np.argsort(suspects.rows.offset[some[at]], kind="stable")
                result.findings[place] = [
                    _finding(check, suspects, place, row, is_certain=bool(certain[row]))
                    for row in some[at][order[: suspects.question.max_findings]].tolist()
                ]
    return result


def _by_severity(
    check: Check[Suspects], suspects: Suspects, rows: Longs, certain: Flags
) -> Iterator[tuple[Severity, Longs]]:
    yield Severity.FINDING if suspects.question.is_strict else Severity.NOTE, rows[~certain[rows]]
    rows = rows[certain[rows]]
    is_explained = check.is_loss & (suspects.remedies[rows] != Remedy.NONE)
    is_explained |= check.is_change & suspects.rows.is_doubted[rows]
    yield Severity.UNDECIDED, rows[is_explained]
    yield Severity.FINDING, rows[~is_explained]


def _finding(
    check: Check[Suspects], suspects: Suspects, place: Place, at: int, *, is_certain: bool
) -> VerifyFinding:
    _, log_id, severity = place
    topic, partition = suspects.question.logs[log_id]
    row = suspects.row(at, is_certain=is_certain)
    expected, actual = check.words(row)
    remedy = None
    if severity is Severity.UNDECIDED:
        remedy = words_of(int(suspects.remedies[at]), row["now_ms"], row["timestamp_ms"])
    return VerifyFinding(
        check=check.name,
        severity=severity,
        topic=topic,
        partition=partition,
        offset=row["offset"],
        key=row["key"],
        expected=expected,
        found=actual,
        found_key=row["found_key"],
        remedy=remedy,
    )


def together(parts: Iterable[Findings], question: Question) -> Findings:
    """The findings of all shares, with at most ``max_findings`` named at each place."""
    whole = reduce(Findings.plus, parts, Findings())
    findings = {
        place: sorted(some, key=lambda finding: finding.offset or 0)[: question.max_findings]
        for place, some in whole.findings.items()
    }
    return Findings(whole.counts, findings, whole.without_key)


def without_missing_logs(result: Findings, facts: Mapping[int, PairFacts], question: Question) -> Findings:
    """The findings, reduced to a single one for each log of which AFTER has no record."""
    gone = {log_id for log_id, log in facts.items() if not log.records_after}
    topics = {question.logs[log_id].topic for log_id in facts.keys() - gone}
    new_result = result.with_logs_of(Findings(), gone)
    places_by_log: dict[int, list[Place]] = {}
    for place in result.counts:
        if place[1] in gone:
            places_by_log.setdefault(place[1], []).append(place)
    for log_id, places in places_by_log.items():
        finding = _missing_log(result, places, question, topics)
        place = MISSING_LOG.name, log_id, finding.severity
        new_result.counts[place], new_result.findings[place] = 1, [finding]
    return new_result


def _missing_log(
    result: Findings, places: list[Place], question: Question, topics: set[str]
) -> VerifyFinding:
    """One finding in place of all those of a log. ``topics`` are the topics of which AFTER has records."""
    log = question.logs[places[0][1]]
    losses = [place for place in places if place[2] is not Severity.NOTE] or places
    is_undecided = all(place[2] is Severity.UNDECIDED for place in losses)
    remedies = [finding.remedy for place in losses for finding in result.findings.get(place, ())]
    remedy = next(filter(None, remedies), None) if is_undecided else None
    missing = str(log) if log.topic in topics else f"{log.topic} at all, nor {log}"
    return VerifyFinding(
        check=MISSING_LOG.name,
        severity=Severity.UNDECIDED if is_undecided else Severity.FINDING,
        topic=log.topic,
        partition=log.partition,
        offset=None,
        key=None,
        expected=f"records of {counted(sum(result.counts[place] for place in losses), 'key')}",
        found=f"AFTER has no {missing}",
        remedy=WHOLE_LOG_REMEDY if remedy == RETENTION_REMEDY else remedy,
    )


def tallies_of(result: Findings, question: Question) -> tuple[Tally, ...]:
    """The numbers of all findings: by check, then log."""
    return tuple(
        Tally(check, severity, result.counts[check, log_id, severity], *question.logs[log_id])
        for check, log_id, severity in _places(question)
        if result.counts[check, log_id, severity]
    )


def in_order(result: Findings, question: Question) -> tuple[VerifyFinding, ...]:
    """The named findings by severity, the gravest first, then by check, log and offset."""
    return tuple(finding for place in _places(question) for finding in result.findings.get(place, ()))


def _places(question: Question) -> Iterator[Place]:
    for severity in Severity:
        for check in CHECKS:
            for log_id in question.log_numbers:
                yield check.name, log_id, severity
