"""Verify one dump alone: is it fully compacted, and what could still go?"""

from collections.abc import Iterator
from dataclasses import replace

from kcompact.verify.check_registry import CHECK_NAMES
from kcompact.verify.classification.bounds import Bounds
from kcompact.verify.classification.classified_rows import ClassifiedRows, known_log
from kcompact.verify.classification.cleaned_end import Reading
from kcompact.verify.classification.log_facts import LogFacts, all_facts
from kcompact.verify.classification.suspects import Suspects
from kcompact.verify.findings import find, in_order, tallies_of, together
from kcompact.verify.outcome import Outcome, VerifiedLog
from kcompact.verify.pipeline import Classifier, facts_of_share, find_affected_pairs
from kcompact.verify.question import Question
from kcompact.verify.rows.disorder import Disorder
from kcompact.verify.rows.key_history import NEVER
from kcompact.verify.rows.key_rows import BEFORE_ALL
from kcompact.verify.rows.pairs import Pairs
from kcompact.verify.rows.unaffected_keys import Rules


def verify_compacted(pairs: Pairs, question: Question, rules: Rules, disorder: Disorder) -> Outcome:
    """Whether nothing could go any more below the cleaned end; parameters as in ``verify_compaction``.

    Each dump of ``pairs`` is the same. The end is the checkpoint if there is one, else whatever bounds every
    round, else the end of the log.
    """
    question = replace(question, is_strict=True)
    affected = find_affected_pairs(pairs, rules)
    classifier = Classifier(question, rules.lookups, affected.arrivals)
    parts = affected.pairs.ask(lambda share: facts_of_share(classifier, share))
    facts = all_facts(parts, affected.logs)
    bounds = {log_id: question.bounds.get(log_id, Bounds()) for log_id in facts}
    ends = {log_id: _end(facts[log_id], bounds[log_id]) for log_id in facts}
    known_logs = {
        i: known_log(facts[i], Reading(is_end_given=True, limit_offset=ends[i]), bounds[i], BEFORE_ALL)
        for i in facts
    }
    rows = affected.taken_rows
    result = together(
        [
            disorder.result,
            *affected.pairs.ask(
                lambda share: find(Suspects(classifier.rows(share, known_logs), ends, rows, question))
            ),
        ],
        question,
    )
    counts = affected.pairs.ask(lambda share: _later_counts(classifier.rows(share, known_logs)))
    return Outcome(
        mode="compacted",
        before=(),
        after=question.after_name,
        now_ms=question.now_ms,
        checks=CHECK_NAMES,
        tallies=tallies_of(result, question),
        findings=in_order(result, question),
        logs=tuple(
            _verified_log(question, facts[log_id], ends[log_id])
            for log_id in sorted(facts, key=question.logs.__getitem__)
        ),
        assumed=tuple(_later(sum(n for n, _ in counts), sum(n for _, n in counts))),
    )


def _end(facts: LogFacts, bounds: Bounds) -> int:
    """Up to where a log is to be compacted."""
    ends = (facts.before_end_offset, bounds.checkpoint_offset, bounds.cleaned_before_offset)
    return min(bound for bound in ends if bound is not None)


def _later_counts(classified: ClassifiedRows) -> tuple[int, int]:
    """How many records may go later, though not now: for a later one of their key, and tombstones."""
    next_offset = classified.history.next_offset
    waits = classified.rows.is_data & (next_offset != NEVER) & (next_offset >= classified.limit_offset)
    deleted = classified.is_last_record & classified.rows.is_tombstone
    return int(waits.sum()), int(deleted.sum())


def _later(waiting: int, tombstones: int) -> Iterator[str]:
    if waiting:
        yield f"{waiting:,} records have a later one above the cleaned end: they may go in a later round"
    if tombstones:
        yield f"{tombstones:,} keys end with a tombstone: it goes when delete.retention.ms is over"


def _verified_log(question: Question, facts: LogFacts, end_offset: int) -> VerifiedLog:
    topic, partition = question.logs[facts.log_id]
    return VerifiedLog(
        topic=topic,
        partition=partition,
        records_before=facts.records_before,
        records_after=facts.records_after,
        removed={},
        first_dirty_offset=facts.before_first_offset or 0,
        cleaned_end_offset=end_offset,
        cleaned_end_is_given=True,
    )
