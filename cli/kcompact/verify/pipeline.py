"""Verify a pair of dumps: is AFTER a compaction of BEFORE?"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import numpy as np
import pyarrow as pa

from kcompact.rules.lookups import Lookup, rows_of_logs
from kcompact.verify.check_registry import CHECK_NAMES
from kcompact.verify.classification.bounds import Bounds
from kcompact.verify.classification.classified_rows import (
    REASONS,
    SUPERSEDED,
    ClassifiedRows,
    KnownLog,
    known_log,
)
from kcompact.verify.classification.cleaned_end import Reading, cleaned_end, first_dirty_offset, reading_of
from kcompact.verify.classification.evidence import Evidence
from kcompact.verify.classification.expired_by_size import expired_end_offsets
from kcompact.verify.classification.log_facts import LogFacts, all_facts, facts_of
from kcompact.verify.classification.proof import evidence_of, evidence_of_tombstones
from kcompact.verify.classification.suspects import Suspects
from kcompact.verify.classification.verdict_assumptions import assumptions
from kcompact.verify.findings import find, in_order, tallies_of, together
from kcompact.verify.missing_logs import without_missing_logs
from kcompact.verify.outcome import Outcome, VerifiedLog
from kcompact.verify.question import Question
from kcompact.verify.rows.disorder import Disorder
from kcompact.verify.rows.key_history import history_of
from kcompact.verify.rows.key_rows import BEFORE_ALL, BEHIND_ALL, Longs, key_rows
from kcompact.verify.rows.pairs import Pairs, Share, Sifting
from kcompact.verify.rows.unaffected_keys import (
    Rules,
    Unaffected,
    UnaffectedLog,
    added_up,
    find_unaffected,
    taken_flags,
)


@dataclass(frozen=True)
class Classifier:
    """Classifies the rows of shares. Picklable.

    ``arrivals`` are places (log_id, offset) of AFTER's records that BEFORE does not have there under their
    key.
    """

    question: Question
    lookups: Mapping[int, Lookup]
    arrivals: Longs

    def rows(self, share: Share, known_logs: Mapping[int, KnownLog]) -> ClassifiedRows:
        """The rows of a share, classified."""
        rows = key_rows(*share, self.question.compared, self.lookups)
        return ClassifiedRows(rows, history_of(rows), taken_flags(rows, self.arrivals), known_logs)


@dataclass(frozen=True)
class AffectedPairs:
    """The pairs that are left to be classified, and figures of the keys that are not.

    ``taken_rows`` are BEFORE's index rows at the place of an arrival of another key.
    """

    pairs: Pairs
    logs: Mapping[int, UnaffectedLog]
    arrivals: Longs
    taken_rows: pa.Table


def find_affected_pairs(
    pairs: Pairs, rules: Rules, unaffected_logs: Mapping[int, UnaffectedLog] = MappingProxyType({})
) -> AffectedPairs:
    """Separate all unaffected keys; ``unaffected_logs``: figures of keys that ``pairs`` lacks, by log id."""
    shares, affected_pairs = _sift(pairs, rules, None)
    arrivals = np.concatenate([unaffected.arrivals for unaffected, _ in shares])
    if len(arrivals):
        # A key that BEFORE has where AFTER has another one is not unaffected: once more, knowing them.
        shares, affected_pairs = _sift(pairs, rules, arrivals)
    logs = added_up([unaffected_logs, *(unaffected.logs for unaffected, _ in shares)])
    return AffectedPairs(affected_pairs, logs, arrivals, pa.concat_tables([rows for _, rows in shares]))


def _sift(
    pairs: Pairs, rules: Rules, arrivals: Longs | None
) -> tuple[list[tuple[Unaffected, pa.Table]], Pairs]:
    def look(share: Share) -> Sifting:
        unaffected = find_unaffected(*share, rules, arrivals)
        taken_rows = share[0].take(pa.array(unaffected.taken_at))
        return Sifting((unaffected.figures_only(), taken_rows), unaffected.rest_before, unaffected.rest_after)

    return pairs.sift(look)


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
    affected = find_affected_pairs(pairs, rules, unaffected_logs)
    unaffected, affected_pairs = affected.logs, affected.pairs
    classifier = Classifier(question, rules.lookups, affected.arrivals)
    facts = all_facts(affected_pairs.ask(lambda share: facts_of_share(classifier, share)), unaffected)
    bounds = {log_id: question.bounds.get(log_id, Bounds()) for log_id in facts}
    readings = {log_id: reading_of(facts[log_id], bounds[log_id]) for log_id in facts}
    expired = expired_end_offsets(affected_pairs, facts, bounds)
    known_logs = {i: known_log(facts[i], readings[i], bounds[i], expired.get(i, BEFORE_ALL)) for i in facts}
    sums = _together(affected_pairs.ask(lambda share: _summed(classifier.rows(share, known_logs), bounds)))
    removed = _with_unaffected(sums.removed, unaffected, bounds)
    logs = {
        log_id: _verified_log(question, facts[log_id], readings[log_id], removed.get(log_id, {}))
        for log_id in sorted(facts, key=question.logs.__getitem__)
    }
    result = disorder.result
    ends = {log_id: log.cleaned_end_offset for log_id, log in logs.items()}
    evidence = _evidence(sums, unaffected, bounds, readings, facts)
    if any(
        offset < max(ends[log_id], *_proven_ends(evidence[log_id], ends[log_id]))
        for log_id, offset in sums.doubtful_from_offset.items()
    ):
        rows = affected.taken_rows
        parts = affected_pairs.ask(
            lambda share: find(Suspects(classifier.rows(share, known_logs), ends, rows, question, evidence))
        )
        result = without_missing_logs(together([result, *parts], question), facts, question)
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


def facts_of_share(classifier: Classifier, share: Share) -> dict[int, LogFacts]:
    """Figures of the logs of a share, by log id."""
    rows = key_rows(*share, classifier.question.compared, classifier.lookups)
    is_taken = taken_flags(rows, classifier.arrivals)
    return facts_of(rows, history_of(rows), is_taken, classifier.question.bounds)


@dataclass(frozen=True)
class Removed:
    """Records of a log that went for one reason, and the smallest cleaned end that lets all of them go."""

    records: int
    needed_end_offset: int

    def plus(self, other: "Removed") -> "Removed":
        """Both."""
        return Removed(self.records + other.records, max(self.needed_end_offset, other.needed_end_offset))


RemovedOfLog = dict[str, Removed]


@dataclass(frozen=True)
class Sums:
    """By log id: what went, by reason; the cleaned end above which the log can have findings; evidence."""

    removed: dict[int, RemovedOfLog] = field(default_factory=dict)
    doubtful_from_offset: dict[int, int] = field(default_factory=dict)
    evidence: dict[int, Evidence] = field(default_factory=dict)


def _summed(classified: ClassifiedRows, bounds: Mapping[int, Bounds]) -> Sums:
    sums = Sums(evidence=evidence_of(classified, bounds))
    rows = classified.rows
    for log_id, at in rows_of_logs(rows.log_id):
        gone = at[classified.is_gone[at]]
        why = classified.reason[gone]
        sums.removed[log_id] = {
            REASONS[number]: Removed(
                int((why == number).sum()), int(classified.needed_end_offset[gone[why == number]].max())
            )
            for number in np.unique(why).tolist()
        }
        sums.doubtful_from_offset[log_id] = int(classified.doubtful_from_offset[at].min())
    return sums


def _together(parts: Iterable[Sums]) -> Sums:
    whole = Sums()
    for part in parts:
        for log_id, removed in part.removed.items():
            of_log = whole.removed.setdefault(log_id, {})
            for reason, removal in removed.items():
                of_log[reason] = of_log[reason].plus(removal) if reason in of_log else removal
        for log_id, offset in part.doubtful_from_offset.items():
            from_offset = whole.doubtful_from_offset.get(log_id, BEHIND_ALL)
            whole.doubtful_from_offset[log_id] = min(from_offset, offset)
        for log_id, evidence in part.evidence.items():
            whole.evidence[log_id] = whole.evidence.get(log_id, Evidence()).plus(evidence)
    return whole


def _with_unaffected(
    removed: dict[int, RemovedOfLog],
    unaffected: Mapping[int, UnaffectedLog],
    bounds: Mapping[int, Bounds],
) -> dict[int, RemovedOfLog]:
    """Add what went of unaffected keys: all of it because later records replace it."""
    for log_id, log in unaffected.items():
        if not log.removed:
            continue
        due = [bounds[log_id].is_due(row) for row in log.tombstones]
        ends = [row[0 if gone else 1] + 1 for row, gone in zip(log.tombstones, due, strict=True)]
        ends += [] if log.needed_end_offset is None else [log.needed_end_offset]
        of_log = removed.setdefault(log_id, {})
        removal = of_log.get(SUPERSEDED, Removed(0, BEFORE_ALL))
        of_log[SUPERSEDED] = removal.plus(Removed(log.removed, max(ends, default=BEFORE_ALL)))
    return removed


def _evidence(
    sums: Sums,
    unaffected: Mapping[int, UnaffectedLog],
    bounds: Mapping[int, Bounds],
    readings: Mapping[int, Reading],
    facts: Mapping[int, LogFacts],
) -> dict[int, Evidence]:
    """The certain facts about every log: from its removals, and from what is known of it."""
    by_log = {}
    for log_id, reading in readings.items():
        whole = sums.evidence.get(log_id, Evidence())
        first_kept = facts[log_id].first_kept_tombstone
        first_kept = BEHIND_ALL if first_kept is None else first_kept
        if log_id in unaffected:
            of_tombstones = evidence_of_tombstones(unaffected[log_id].tombstones, bounds[log_id], first_kept)
            whole = whole.plus(unaffected[log_id].evidence).plus(of_tombstones)
        whole = whole.reaching(first_kept)
        if not reading.is_end_given:
            whole = whole.ending_at(bounds[log_id].round_end_offset)
        first_dirty = bounds[log_id].knowledge.first_dirty_offset
        if first_dirty is not None and reading.is_certain and not reading.is_end_given:
            whole = replace(whole, first_dirty_at_most=min(first_dirty, whole.first_dirty_at_most))
        checkpoint = bounds[log_id].checkpoint_offset
        if bounds[log_id].checkpoint_is_end and checkpoint is not None and whole.mapped_up_to != BEFORE_ALL:
            whole = replace(whole, mapped_up_to=max(whole.mapped_up_to, checkpoint - 1))
        by_log[log_id] = whole
    return by_log


def _proven_ends(evidence: Evidence, nothing: int) -> tuple[int, int]:
    """The ends (exclusive) of what was mapped and rewritten for certain; a segment may reach further."""
    if evidence.rewritten_up_to == BEFORE_ALL:
        return nothing, nothing
    return evidence.mapped_up_to + 1, BEHIND_ALL


def _verified_log(
    question: Question, facts: LogFacts, reading: Reading, removed: RemovedOfLog
) -> VerifiedLog:
    topic, partition = question.logs[facts.log_id]
    bounds = question.bounds.get(facts.log_id, Bounds())
    needed = max((removal.needed_end_offset for removal in removed.values()), default=BEFORE_ALL)
    return VerifiedLog(
        topic=topic,
        partition=partition,
        records_before=facts.records_before,
        records_after=facts.records_after,
        removed={reason: removed[reason].records for reason in sorted(removed)},
        first_dirty_offset=first_dirty_offset(facts, reading, bounds),
        cleaned_end_offset=cleaned_end(facts, reading, bounds, None if needed == BEFORE_ALL else needed),
        cleaned_end_is_given=reading.is_end_given,
    )
