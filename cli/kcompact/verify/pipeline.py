"""Verify a pair of dumps: is AFTER a compaction of BEFORE?"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import numpy as np

from kcompact.counted import counted
from kcompact.dumps.records.record_contents import CONTENT
from kcompact.verify.affected_pairs import AffectedPairs, find_affected_pairs, verified_logs
from kcompact.verify.check import Severity
from kcompact.verify.checks import CHECK_NAMES, NEED_EVIDENCE, NEED_ROUNDS
from kcompact.verify.classification.bounds import Bounds
from kcompact.verify.classification.classified_rows import ClassifiedRows, Reason
from kcompact.verify.classification.evidence import Evidence, added_up
from kcompact.verify.classification.expired_by_size import expired_end_offsets
from kcompact.verify.classification.known_log import KnownLog, known_log
from kcompact.verify.classification.proof import evidence_of, evidence_of_tombstones, whole_evidence
from kcompact.verify.findings import Findings, in_order, tallies_of, without_missing_logs
from kcompact.verify.outcome import Tally, VerifiedLog, VerifyOutcome
from kcompact.verify.question import Question
from kcompact.verify.rows.disorder import Disorder
from kcompact.verify.rows.indexed import Indexed
from kcompact.verify.rows.key_rows import BEFORE_ALL, BEHIND_ALL
from kcompact.verify.rows.pairs import Pairs
from kcompact.verify.rows.unaffected_keys import Rules, UnaffectedLog


@dataclass(frozen=True)
class LogSums:
    """Sums over some of a log's records: the removed ones by reason, and what their removal implies.

    ``needed_end_offset`` is the smallest cleaned end (exclusive) that lets all of them go. The log can only
    have findings if its cleaned end is above ``doubtful_from_offset``.
    """

    removed: Counter[str] = field(default_factory=Counter)
    needed_end_offset: int = BEFORE_ALL
    doubtful_from_offset: int = BEHIND_ALL
    evidence: Evidence = field(default_factory=Evidence)

    def plus(self, other: "LogSums") -> "LogSums":
        """The sums over the records of both."""
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
) -> VerifyOutcome:
    """Compare two dumps, in which no offset of a log occurs twice any more.

    ``disorder`` is what was wrong until then. ``unaffected_logs`` are, by log id, figures of unaffected keys
    whose rows ``pairs`` lacks. Raises InputError where BEFORE holds an offset twice with different content.
    """
    disorder.require_one_truth(question)
    affected = find_affected_pairs(pairs, question, rules, unaffected_logs)
    facts = affected.facts()
    bounds = {log_id: question.bounds.get(log_id, Bounds()) for log_id in facts}
    expired = expired_end_offsets(affected.pairs, facts, bounds)
    known_logs = {i: known_log(facts[i], bounds[i], expired.get(i, BEFORE_ALL)) for i in facts}
    judged = _judge(affected, known_logs, disorder.result)
    in_doubt = [i for i in judged.result.counts_by_log if i in facts and not known_logs[i].is_reading_certain]
    if in_doubt:
        others = {i: known_logs[i].read_otherwise() for i in in_doubt}
        judged = judged.or_better(_judge(affected, known_logs | others, disorder.result))
    logs = verified_logs(question, judged.known_logs, judged.removed)
    result = without_missing_logs(judged.result, facts, question)
    tallies = tallies_of(result, question)
    return VerifyOutcome(
        mode="compaction",
        before=question.before_name,
        after=question.after_name,
        now_ms=question.now_ms,
        checks=CHECK_NAMES,
        tallies=tallies,
        findings=in_order(result, question),
        findings_without_key=sum(
            n for place, n in result.without_key.items() if place[2] is Severity.FINDING
        ),
        logs=tuple(logs.values()),
        assumed=_assumptions(question, logs, tallies, disorder.repeated_before),
    )


def without_doubt(outcome: VerifyOutcome, before: Indexed, after: Indexed) -> VerifyOutcome:
    """The outcome, unless it depends on what is null in CSV: then raises the InputError that asks about it.

    It does if it holds although tombstones are gone that may have been empty values, or records without a
    key that may have had an empty one; and if every finding is about a record without a key or with an
    empty one.
    """
    went = {reason for log in outcome.logs for reason in log.removed}
    if "value" in before.doubts and outcome.holds and not went.isdisjoint(_TOMBSTONES_WENT):
        raise before.doubts["value"]
    if "key" in before.doubts and outcome.holds and Reason.KEYLESS.label in went:
        raise before.doubts["key"]
    count = sum(outcome.counts_of(Severity.FINDING).values())
    doubt = before.doubts.get("key") or after.doubts.get("key")
    if doubt is not None and count and count == outcome.findings_without_key:
        raise doubt
    return outcome


_TOMBSTONES_WENT = {Reason.TOMBSTONE_ASSUMED_EXPIRED.label, Reason.EXPIRED_TOMBSTONE.label}


@dataclass(frozen=True)
class Judged:
    """All logs as judged once: by log id, how each was cleaned and its removed records; and the findings."""

    known_logs: Mapping[int, KnownLog]
    removed: Mapping[int, Mapping[str, int]]
    result: Findings

    def or_better(self, other: "Judged") -> "Judged":
        """For each log, the judgement with fewer findings of it (of the gravest severity that differs)."""
        counts, others = self.result.counts_by_log, other.result.counts_by_log
        better = {i for i in counts if others.get(i, []) < counts[i]}
        return Judged(
            {i: (other if i in better else self).known_logs[i] for i in self.known_logs},
            {i: (other if i in better else self).removed[i] for i in self.removed},
            self.result.with_logs_of(other.result, better),
        )


def _judge(affected: AffectedPairs, known_logs: Mapping[int, KnownLog], of_order: Findings) -> Judged:
    """Classify all records. ``of_order`` are the findings about their order."""
    unaffected = {i: _sums_of_unaffected(log, known_logs[i]) for i, log in affected.unaffected.items()}
    sums = added_up([*affected.ask(known_logs, _sums), unaffected])
    known_logs = {i: _cleaned_log(log, sums[i]) for i, log in known_logs.items()}
    is_doubtful = any(sums[i].doubtful_from_offset < _doubtful_end(log) for i, log in known_logs.items())
    result = affected.findings(known_logs, of_order) if is_doubtful else of_order
    return Judged(known_logs, {i: log_sums.removed for i, log_sums in sums.items()}, result)


def _sums(classified: ClassifiedRows) -> dict[int, LogSums]:
    evidence, sums = evidence_of(classified), {}
    for log_id, at in classified.rows.by_log:
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
    """Sums over a log's unaffected keys, whose removed records all went because later ones replace them."""
    needed, evidence = unaffected.needed_end_offset, unaffected.evidence
    if unaffected.tombstones:
        offset, next_offset, timestamp_ms, horizon_ms = np.array(unaffected.tombstones).T
        # A tombstone that was due may have gone by itself, whatever replaces it.
        is_early = log.bounds.are_too_early(timestamp_ms, horizon_ms)
        needed = max(needed, int(np.where(is_early, next_offset, offset).max()) + 1)
        evidence = evidence.plus(evidence_of_tombstones(unaffected.tombstones, log))
    removed = {Reason.SUPERSEDED.label: unaffected.removed} if unaffected.removed else {}
    return LogSums(Counter(removed), needed, evidence=evidence)


def _cleaned_log(log: KnownLog, sums: LogSums) -> KnownLog:
    """The log with its cleaned end and evidence, now that all its records are classified."""
    end, evidence = log.cleaned_end(sums.needed_end_offset), whole_evidence(sums.evidence, log)
    return replace(log, cleaned_end_offset=end, evidence=evidence)


def _doubtful_end(log: KnownLog) -> int:
    """The offset from which on no record is a finding.

    None is above the cleaned end, unless a segment was rewritten for certain, as that may reach anywhere.
    """
    return log.cleaned_end_offset if log.evidence.rewritten_up_to == BEFORE_ALL else BEHIND_ALL


def _assumptions(
    question: Question, logs: Mapping[int, VerifiedLog], tallies: Sequence[Tally], repeated_before: int
) -> tuple[str, ...]:
    """One sentence per assumption; ``logs`` are by log id."""
    texts = []
    if any(log.removed and not log.cleaned_end_is_given for log in logs.values()):
        texts.append("each log was cleaned up to the smallest offset that explains what is gone from it")
    texts += [*_checkpoints(question, logs), *_commits(question, logs)]
    for reason, noun, words in _WENT:
        if count := sum(log.removed.get(reason.label, 0) for log in logs.values()):
            texts.append(f"{counted(count, noun)} {words}")
    if repeated_before:
        records = counted(repeated_before, "record")
        texts.append(f"{records} of BEFORE repeated with the same content: counted once")
    missing = [word for name, word in CONTENT.items() if name not in question.compared]
    if missing:
        words = " and ".join(missing)
        texts.append(f"{words} not compared: one of the dumps does not have them, or not in full")
    partly = {name for splits in question.lacking for name, some in splits.items() if some}
    if words := " and ".join(CONTENT[name] for name in CONTENT if name in partly & question.compared):
        texts.append(f"{words} not compared where a file does not have them, or not in full")
    return (*texts, *_transactions(question, logs, tallies))


_WENT = (
    (Reason.TOMBSTONE_ASSUMED_EXPIRED, "tombstone", "expired: gone, and old enough for that"),
    (Reason.EXPIRED, "record", "went by retention: at the start of the log, and allowed to go"),
    (Reason.BELOW_LOG_START, "record", "went with the log start"),
)


def _checkpoints(question: Question, logs: Mapping[int, VerifiedLog]) -> Iterator[str]:
    with_checkpoint = [
        log
        for log_id, log in logs.items()
        if log_id in question.bounds and question.bounds[log_id].checkpoint_offset is not None
    ]
    began = sum(not log.cleaned_end_is_given for log in with_checkpoint)
    ended = len(with_checkpoint) - began
    if began:
        yield f"the checkpoint says where the cleaning began ({counted(began, 'log')})"
    if ended:
        yield f"the checkpoint says where the cleaning ended ({counted(ended, 'log')})"


def _commits(question: Question, logs: Mapping[int, VerifiedLog]) -> Iterator[str]:
    """Notes on logs where aborted data may have been mistaken for records that replaced others."""
    superseded = [i for i, log in logs.items() if log.removed.get(Reason.SUPERSEDED.label)]
    in_doubt = [i for i in superseded if i in question.bounds and question.bounds[i].aborts_unknown]
    if in_doubt:
        yield (
            f"what replaced other records was committed ({counted(len(in_doubt), 'log')}):"
            " offsets are missing where transactions may have ended;"
            " --batches or --read-committed tells of them"
        )
    ends = {i: logs[i].cleaned_end_offset for i in superseded if i in question.bounds}
    if behind := sum(question.bounds[i].takes_for_committed(end) for i, end in ends.items()):
        yield (
            f"what replaced other records was committed ({counted(behind, 'log')}): some of it comes after"
            " the end of the read_committed dump; --last-stable-offset tells whether it was aborted"
        )


def _transactions(
    question: Question, logs: Mapping[int, VerifiedLog], tallies: Sequence[Tally]
) -> Iterator[str]:
    """Notes on logs with a finding: what was assumed about their transactions and rounds."""
    in_doubt = _logs_with(question, logs, tallies, NEED_EVIDENCE)
    if count := sum(bounds.assumes_no_transactions for bounds in in_doubt):
        of_logs = counted(count, "log")
        yield (
            f"no record was aborted: no offset is missing where a transaction ended ({of_logs});"
            " a marker after the last record would not show: --log-end-offset or --batches tells of it"
        )
    in_doubt = _logs_with(question, logs, tallies, NEED_ROUNDS)
    if count := sum(bounds.assumes_roomy_map for bounds in in_doubt):
        of_logs = counted(count, "log")
        yield f"no offset map was full ({of_logs}): --log-cleaner-dedupe-buffer-size says how much one holds"
    in_doubt = _logs_with(question, logs, tallies, {"duplicate-left"})
    if count := sum(bounds.assumes_whole_segments for bounds in in_doubt):
        of_logs = counted(count, "log")
        yield (
            f"no round began within a segment, after an abort marker ({of_logs}),"
            " which leaves duplicates: --batches shows it"
        )


def _logs_with(
    question: Question, logs: Mapping[int, VerifiedLog], tallies: Sequence[Tally], checks: Collection[str]
) -> list[Bounds]:
    """The bounds of BEFORE's logs that have a finding of one of these checks."""
    names = {
        (tally.topic, tally.partition)
        for tally in tallies
        if tally.severity is Severity.FINDING and tally.check in checks
    }
    with_finding = (i for i, log in logs.items() if (log.topic, log.partition) in names)
    return [question.bounds[i] for i in with_finding if i in question.bounds]
