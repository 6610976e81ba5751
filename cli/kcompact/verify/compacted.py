"""Verify one dump alone: is it fully compacted, and what could still go?"""

from collections.abc import Iterator
from dataclasses import replace

from kcompact.rules.verdicts import NEVER
from kcompact.verify.affected_pairs import find_affected_pairs, verified_logs
from kcompact.verify.checks import CHECK_NAMES
from kcompact.verify.classification.bounds import Bounds
from kcompact.verify.classification.classified_rows import ClassifiedRows
from kcompact.verify.classification.known_log import KnownLog, PairFacts
from kcompact.verify.findings import in_order, tallies_of
from kcompact.verify.outcome import VerifyOutcome
from kcompact.verify.question import Question
from kcompact.verify.rows.disorder import Disorder
from kcompact.verify.rows.pairs import Pairs
from kcompact.verify.rows.unaffected_keys import Rules


def verify_compacted(pairs: Pairs, question: Question, rules: Rules, disorder: Disorder) -> VerifyOutcome:
    """Check that nothing below the cleaned end could still be removed; parameters as ``verify_compaction``.

    Both dumps of ``pairs`` are the same one. The cleaned end is the least of the checkpoint, if there is one,
    the bound of every round, and the end of the log.
    """
    question = replace(question, is_strict=True)
    affected = find_affected_pairs(pairs, question, rules, {})
    known_logs = {
        log_id: _cleaned_log(facts, question.bounds.get(log_id, Bounds()))
        for log_id, facts in affected.facts().items()
    }
    result = affected.findings(known_logs, disorder.result)
    return VerifyOutcome(
        mode="compacted",
        before=(),
        after=question.after_name,
        now_ms=question.now_ms,
        checks=CHECK_NAMES,
        tallies=tallies_of(result, question),
        findings=in_order(result, question),
        logs=tuple(verified_logs(question, known_logs, {}).values()),
        assumed=tuple(_later(*map(sum, zip(*affected.ask(known_logs, _later_counts), strict=True)))),
    )


def _cleaned_log(facts: PairFacts, bounds: Bounds) -> KnownLog:
    """The log as one that should be compacted up to its cleaned end."""
    end = min(facts.before_end_offset, bounds.cleanable_end_offset)
    if bounds.checkpoint_offset is not None:
        end = min(end, bounds.checkpoint_offset)
    return KnownLog(bounds, facts, is_end_given=True, limit_offset=end, cleaned_end_offset=end)


def _later_counts(classified: ClassifiedRows) -> tuple[int, int]:
    """Counts of records that a later round may remove: replaced from the cleaned end on, and tombstones."""
    next_offset = classified.rows.next_offset
    waits = classified.rows.is_data & (next_offset != NEVER) & (next_offset >= classified.limit_offset)
    deleted = classified.is_last_record & classified.rows.is_tombstone
    return int(waits.sum()), int(deleted.sum())


def _later(waiting: int, tombstones: int) -> Iterator[str]:
    if waiting:
        records = "1 record has" if waiting == 1 else f"{waiting:,} records have"
        yield f"{records} a later one above the cleaned end, and may go in a later round"
    if tombstones:
        keys = "1 key ends" if tombstones == 1 else f"{tombstones:,} keys end"
        yield f"{keys} with a tombstone: it goes when delete.retention.ms is over"
