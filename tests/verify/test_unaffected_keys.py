"""Keys that are settled without the rules change nothing in what is reported."""

import pytest

from index_frames import logs_of
from kcompact.broker.aborted import AbortedRange
from kcompact.broker.log_context import LogContext
from kcompact.dumps.records.record import Record, log_id_of
from kcompact.rules.lookups import Lookup, lookup_for
from kcompact.rules.policy import Policy
from kcompact.verify.check import Severity
from kcompact.verify.classification.bounds import Bounds
from kcompact.verify.pipeline import verify_compaction
from kcompact.verify.question import Question
from kcompact.verify.rows.disorder import Disorder
from kcompact.verify.rows.unaffected_keys import find_unaffected, rules_alone, rules_of
from random_pairs import NOW_MS
from records import record
from told_pairs import PAIRS, all_pairs, same
from verify_here import judge_alone, judge_pair, pairs_of, question_of, rows_of


@pytest.fixture(scope="module")
def pairs() -> tuple[list[Record], list[Record], dict[int, Bounds], dict[int, Lookup]]:
    before, after, bounds = [], [], {}
    for pair, of_pair in all_pairs():
        before += pair[0]
        after += pair[1]
        bounds |= dict.fromkeys(logs_of(*pair), of_pair)
    context = {log_id: contexts_of(log_id, before) for log_id in bounds}
    return before, after, bounds, {i: lookup_for(context[i], b.policy) for i, b in bounds.items()}


def contexts_of(log_id: int, records: list[Record]) -> LogContext:
    """Of every seventh log, that some records were aborted."""
    offsets = [r.offset for r in records if log_id_of(r.topic, r.partition) == log_id]
    aborted = (AbortedRange(offsets[0], offsets[len(offsets) // 3]),) if offsets and log_id % 7 == 0 else ()
    return LogContext(aborted=aborted)


@pytest.mark.slow
def test_a_pair_is_judged_alike(
    pairs: tuple[list[Record], list[Record], dict[int, Bounds], dict[int, Lookup]],
) -> None:
    before, after, bounds, lookups = pairs
    question = Question(logs_of(before, after), ("b",), "a", bounds, max_findings=10_000)
    chosen = find_unaffected(rows_of(before), rows_of(after), rules_of(question, lookups))
    assert sum(log.facts.records_before for log in chosen.logs.values()) > PAIRS
    in_short = judge_pair(question, before, after, lookups)
    in_full = judge_pair(question, before, after, lookups, settles=False)
    same(in_short, in_full)
    assert len(in_full.findings) > PAIRS // 2
    assert in_full.counts_of(Severity.NOTE)["duplicate-left"] > PAIRS // 20


@pytest.mark.slow
def test_a_dump_alone_is_judged_alike(
    pairs: tuple[list[Record], list[Record], dict[int, Bounds], dict[int, Lookup]],
) -> None:
    records, _, bounds, lookups = pairs
    logs = logs_of(records)
    question = Question(logs, (), "a", {i: bounds[i] for i in logs}, max_findings=10_000)
    chosen = find_unaffected(rows_of(records), rows_of(records), rules_alone(question, lookups))
    assert sum(log.facts.records_before for log in chosen.logs.values()) > PAIRS
    same(
        judge_alone(question, records, lookups),
        judge_alone(question, records, lookups, settles=False),
    )


def test_a_right_pair_leaves_nothing_to_judge() -> None:
    before = [record(key, str(offset), offset=offset) for offset, key in enumerate("aabacdb")]
    latest = {r.key: r for r in before}
    after = [r for r in before if latest[r.key] is r]
    question = question_of(before, after, Bounds(Policy(now_ms=NOW_MS)))
    chosen = find_unaffected(rows_of(before), rows_of(after), rules_of(question, {}))
    assert not chosen.rest_before.any()
    assert not chosen.rest_after.any()
    (log,) = chosen.logs.values()
    assert (log.facts.records_before, log.facts.records_after, log.needed_end_offset) == (7, 4, 7)
    outcome = judge_pair(question, before, after)
    assert outcome.holds
    (judged,) = outcome.logs
    assert (judged.removed, judged.cleaned_end_offset) == ({"superseded": 3}, 7)


@pytest.mark.slow
def test_how_keys_are_shared_out_changes_nothing(
    pairs: tuple[list[Record], list[Record], dict[int, Bounds], dict[int, Lookup]],
) -> None:
    before, after, bounds, lookups = pairs
    question = Question(logs_of(before, after), ("b",), "a", bounds, max_findings=10_000)
    rules = rules_of(question, lookups)
    tables = rows_of(before), rows_of(after)
    together = verify_compaction(pairs_of(*tables), question, rules, Disorder())
    same(verify_compaction(pairs_of(*tables, receivers=3), question, rules, Disorder()), together)
