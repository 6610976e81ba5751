"""Verify a pair of dumps: is AFTER a compaction of BEFORE?"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import numpy as np

from kcompact.rules.lookups import rows_of_logs
from kcompact.verify.affected_pairs import find_affected_pairs, verified_logs
from kcompact.verify.checks import CHECK_NAMES
from kcompact.verify.classification.bounds import Bounds
from kcompact.verify.classification.classified_rows import ClassifiedRows, Reason
from kcompact.verify.classification.evidence import Evidence, added_up
from kcompact.verify.classification.expired_by_size import expired_end_offsets
from kcompact.verify.classification.known_log import KnownLog, known_log
from kcompact.verify.classification.proof import evidence_of, evidence_of_tombstones, whole_evidence
from kcompact.verify.classification.verdict_assumptions import assumptions
from kcompact.verify.findings import in_order, tallies_of, without_missing_logs
from kcompact.verify.outcome import Outcome
from kcompact.verify.question import Question
from kcompact.verify.rows.disorder import Disorder
from kcompact.verify.rows.key_rows import BEFORE_ALL, BEHIND_ALL
from kcompact.verify.rows.pairs import Pairs
from kcompact.verify.rows.unaffected_keys import Rules, UnaffectedLog


@dataclass(frozen=True)
class LogSums:
    """Sums over some of a log's records: those that went, by reason, and what follows from that.

    ``needed_end_offset`` is the smallest cleaned end that lets all of them go; where the end is above
    ``doubtful_from_offset`` the log can have findings.
    """

    removed: Counter[str] = field(default_factory=Counter)
    needed_end_offset: int = BEFORE_ALL
    doubtful_from_offset: int = BEHIND_ALL
    evidence: Evidence = field(default_factory=Evidence)

    def plus(self, other: "LogSums") -> "LogSums":
        """Of the records of both."""
        return LogSums(
            self.removed + other.removed,
            max(self.needed_end_offset, other.needed_end_offset),
            min(self.doubtful_from_offset, other.doubtful_from_offset),
            self.evidence.plus(other.evidence),
        )


def verify_compaction(
    pairs: Pairs,
    question: Question,
    rules: Rules,
    disorder: Disorder,
    unaffected_logs: Mapping[int, UnaffectedLog] = MappingProxyType({}),
) -> Outcome:
    """Compare two dumps, in neither of which an offset of a log occurs twice any more.

    ``disorder`` was found before that, and so were ``unaffected_logs``: by log id, figures of unaffected
    keys that ``pairs`` lacks. Raises InputError where BEFORE contradicts itself.
    """
    disorder.require_one_truth(question)
    affected = find_affected_pairs(pairs, question, rules, unaffected_logs)
    facts = affected.facts()
    bounds = {log_id: question.bounds.get(log_id, Bounds()) for log_id in facts}
    expired = expired_end_offsets(affected.pairs, facts, bounds)
    known_logs = {i: known_log(facts[i], bounds[i], expired.get(i, BEFORE_ALL)) for i in facts}
    unaffected = {i: _sums_of_unaffected(log, known_logs[i]) for i, log in affected.unaffected.items()}
    sums = added_up([*affected.ask(known_logs, _sums), unaffected])
    known_logs = {i: _cleaned_log(log, sums[i]) for i, log in known_logs.items()}
    logs = verified_logs(question, known_logs, {i: log_sums.removed for i, log_sums in sums.items()})
    result = disorder.result
    if any(sums[i].doubtful_from_offset < _doubtful_end(log) for i, log in known_logs.items()):
        result = without_missing_logs(affected.findings(known_logs, result), facts, question)
    tallies = tallies_of(result, question)
    return Outcome(
        mode="compaction",
        before=question.before_name,
        after=question.after_name,
        now_ms=question.now_ms,
        checks=CHECK_NAMES,
        tallies=tallies,
        findings=in_order(result, question),
        logs=tuple(logs.values()),
        assumed=assumptions(question, logs, tallies, disorder.repeated_before),
    )


def _sums(classified: ClassifiedRows) -> dict[int, LogSums]:
    evidence, sums = evidence_of(classified), {}
    for log_id, at in rows_of_logs(classified.rows.log_id):
        gone = at[classified.is_gone[at]]
        counts = np.bincount(classified.reason[gone], minlength=len(Reason)).tolist()
        sums[log_id] = LogSums(
            Counter({reason.label: counts[reason] for reason in Reason if counts[reason]}),
            int(classified.needed_end_offset[gone].max(initial=BEFORE_ALL)),
            int(classified.doubtful_from_offset[at].min()),
            evidence[log_id],
        )
    return sums


def _sums_of_unaffected(unaffected: UnaffectedLog, log: KnownLog) -> LogSums:
    """Of unaffected keys, whose records went because later ones replace them."""
    needed = BEFORE_ALL if unaffected.needed_end_offset is None else unaffected.needed_end_offset
    evidence = unaffected.evidence
    if unaffected.tombstones:
        offset, next_offset, timestamp_ms, horizon_ms = np.array(unaffected.tombstones).T
        # One that was due may have gone by itself.
        is_early = log.bounds.are_too_early(timestamp_ms, horizon_ms)
        needed = max(needed, int(np.where(is_early, next_offset, offset).max()) + 1)
        evidence = evidence.plus(evidence_of_tombstones(unaffected.tombstones, log))
    removed = {Reason.SUPERSEDED.label: unaffected.removed} if unaffected.removed else {}
    return LogSums(Counter(removed), needed, evidence=evidence)


def _cleaned_log(log: KnownLog, sums: LogSums) -> KnownLog:
    """A log whose records are all classified."""
    end, evidence = log.cleaned_end(sums.needed_end_offset), whole_evidence(sums.evidence, log)
    return replace(log, cleaned_end_offset=end, evidence=evidence)


def _doubtful_end(log: KnownLog) -> int:
    """Only records below it can be findings; a segment that was rewritten for certain may reach anywhere."""
    return log.cleaned_end_offset if log.evidence.rewritten_up_to == BEFORE_ALL else BEHIND_ALL
