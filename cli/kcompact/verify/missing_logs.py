"""A log that AFTER lacks altogether is one finding, not one for each of its keys."""

from collections.abc import Mapping

from kcompact.verify.check import Severity
from kcompact.verify.checks.missing_log import CHECK
from kcompact.verify.classification.log_facts import LogFacts
from kcompact.verify.classification.remedies import RETENTION_REMEDY
from kcompact.verify.findings import Findings, Place
from kcompact.verify.outcome import Finding
from kcompact.verify.question import Question

WHOLE_LOG_REMEDY = (
    "--cleanup-policy: compact makes this a finding, as the cleaner never takes a whole log;"
    " compact,delete with --retention-ms or --retention-bytes tells whether retention may have"
)


def without_missing_logs(result: Findings, facts: Mapping[int, LogFacts], question: Question) -> Findings:
    """The findings, with one in place of all those of each log of which AFTER has no record."""
    gone = [log_id for log_id, log in facts.items() if not log.records_after]
    new_result = Findings()
    for place, count in result.counts.items():
        if place[1] not in gone:
            new_result.counts[place] = count
            new_result.findings[place] = result.findings.get(place, [])
    topics = {topic for log_id, (topic, _) in question.logs.items() if log_id in facts and log_id not in gone}
    for log_id in gone:
        places = [place for place in result.counts if place[1] == log_id]
        if places:
            finding = _finding(result, places, question, topic_is_gone=question.logs[log_id][0] not in topics)
            new_result.counts[CHECK.name, log_id, finding.severity] = 1
            new_result.findings[CHECK.name, log_id, finding.severity] = [finding]
    return new_result


def _finding(result: Findings, places: list[Place], question: Question, *, topic_is_gone: bool) -> Finding:
    topic, partition = question.logs[places[0][1]]
    losses = [place for place in places if place[2] is not Severity.NOTE] or places
    is_undecided = all(place[2] is Severity.UNDECIDED for place in losses)
    findings = [finding for place in losses for finding in result.findings.get(place, ())]
    remedies = [finding.remedy for finding in findings if finding.remedy]
    keys = sum(result.counts[place] for place in losses)
    missing = f"{topic} at all, nor {topic}-{partition}" if topic_is_gone else f"{topic}-{partition}"
    return Finding(
        check=CHECK.name,
        severity=Severity.UNDECIDED if is_undecided else Severity.FINDING,
        topic=topic,
        partition=partition,
        offset=None,
        key=None,
        expected=f"records of {keys:,} key{'' if keys == 1 else 's'}",
        found=f"AFTER has no {missing}",
        remedy=_of_whole_log(remedies[0]) if is_undecided and remedies else None,
    )


def _of_whole_log(remedy: str) -> str:
    return WHOLE_LOG_REMEDY if remedy == RETENTION_REMEDY else remedy
