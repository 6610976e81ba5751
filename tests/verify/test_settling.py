"""Keys that are settled without the rules change nothing in what is told."""

import random
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from pyspark.sql import SparkSession

from index_frames import index_frame, index_table, logs_of, table_frame
from kcompact.broker.aborted import AbortedRange
from kcompact.broker.given import GivenLog
from kcompact.dumps.record import Record, log_id_of
from kcompact.log.policy import Policy
from kcompact.verify.bounds import Bounds
from kcompact.verify.compacted import verify_compacted
from kcompact.verify.compaction import settled_compaction, verify_compaction
from kcompact.verify.outcome import Outcome
from kcompact.verify.pair import EXTRA
from kcompact.verify.question import Question
from kcompact.verify.settled import rules_alone, rules_of
from kcompact.verify.settling import Rules, Settled, settle
from kcompact.verify.told import Told, with_told_columns
from mutations import BEFORE, MUTATIONS
from random_pairs import NOW_MS, Pair, random_pair
from records import record

COLUMNS = EXTRA | {"log_bytes"}
PAIRS = 400


def wrong(number: int) -> Pair:
    """A right pair in which one thing or two are wrong."""
    rng = random.Random(number)
    before, after = random_pair(number)
    for _ in range(rng.randrange(3)):
        if after:
            at = rng.randrange(len(after))
            after = [*after[:at], *rng.choice(SPOILED)(after[at], rng), *after[at + 1 :]]
    places = {r.offset: r for r in after}
    return before, [places[offset] for offset in sorted(places)]


SPOILED: list[Callable[[Record, random.Random], list[Record]]] = [
    lambda _, __: [],
    lambda r, _: [r._replace(key=b"other")],
    lambda r, rng: [r._replace(key=rng.choice([b"a", b"b", None]))],
    lambda r, _: [r._replace(value=None)],
    lambda r, _: [r._replace(value=b"")],
    lambda r, _: [r._replace(timestamp_ms=r.timestamp_ms + 1)],
    lambda r, _: [r._replace(headers=(("h", b"1"),))],
    lambda r, rng: [r._replace(offset=r.offset + rng.choice([-1, 1, 2, 100]))],
    lambda r, rng: [r, r._replace(offset=r.offset + rng.choice([1, 2, 100]))],
    lambda r, _: [r._replace(partition=1)],
    lambda r, _: [r._replace(is_control=True)],
]


def bounds_for(number: int, log: list[Record]) -> Bounds:
    """Told of a pair: nothing, what compact takes a checkpoint for, an end, or bounds of other kinds."""
    rng = random.Random(number)
    policy = Policy(now_ms=NOW_MS, delete_retention_ms=rng.choice([0, 86_400_000]))
    middle = log[len(log) // 2].offset
    return rng.choice(
        [
            Bounds(policy),
            Bounds(policy),
            Bounds(policy, uncleanable_offset=middle),
            Bounds(policy, middle, checkpoint_is_end=True),
            Bounds(policy, middle, log[-1].offset, checkpoint_is_end=True),
            Bounds(policy, middle, checkpoint_is_end=False),
            Bounds(policy, middle),
            Bounds(replace(policy, drop_tombstones=True)),
            Bounds(policy, log_start_offset=middle),
            Bounds(replace(policy, cleanup_policy=frozenset({"compact", "delete"}), retention_ms=1000)),
        ]
    )


def all_pairs() -> Iterator[tuple[Pair, Bounds]]:
    for number in range(PAIRS):
        pair = wrong(number)
        yield pair, bounds_for(number, pair[0])
    for mutation in MUTATIONS:
        if len({(r.partition, r.offset) for r in mutation.after()}) == len(mutation.after()):
            after = sorted(mutation.after(), key=lambda r: (r.partition, r.offset))
            topic = [[r._replace(topic=mutation.name) for r in records] for records in (BEFORE, after)]
            yield (topic[0], topic[1]), Bounds(Policy(now_ms=NOW_MS))


@pytest.fixture(scope="module")
def told() -> tuple[list[Record], list[Record], dict[int, Bounds], Told]:
    before, after, bounds = [], [], {}
    for pair, of_pair in all_pairs():
        before += pair[0]
        after += pair[1]
        bounds |= dict.fromkeys(logs_of(*pair), of_pair)
    given = {log_id: given_of(log_id, before) for log_id in bounds}
    return before, after, bounds, Told(given, {i: one.policy for i, one in bounds.items()})


def given_of(log_id: int, records: list[Record]) -> GivenLog:
    """Of every seventh log, that some records were aborted."""
    mine = [r.offset for r in records if log_id_of(r.topic, r.partition) == log_id]
    aborted = (AbortedRange(mine[0], mine[len(mine) // 3]),) if mine and log_id % 7 == 0 else ()
    return GivenLog(aborted=aborted)


def settled(before: list[Record], after: list[Record], rules: Rules) -> Settled:
    tables = index_table(before, COLUMNS), index_table(after, COLUMNS)
    return settle(*tables, rules, settle(*tables, rules).arrivals)


def rest(spark: SparkSession, records: list[Record], chosen: Settled, *, after: bool) -> object:
    mask = chosen.rest_after if after else chosen.rest_before
    return table_frame(
        spark, index_table([r for r, left in zip(records, mask, strict=True) if left], COLUMNS)
    )


def same(one: Outcome, other: Outcome) -> None:
    assert one.counts == other.counts
    assert one.findings == other.findings
    assert one.logs == other.logs
    assert one.assumed == other.assumed


def test_a_pair_is_judged_alike(
    spark: SparkSession, told: tuple[list[Record], list[Record], dict[int, Bounds], Told]
) -> None:
    before, after, bounds, given = told
    question = Question(logs_of(before, after), ("b",), "a", bounds, max_findings=10_000)
    rules = rules_of(question, given.lookups)
    chosen = settled(before, after, rules)
    assert sum(log.records_before for log in chosen.logs.values()) > PAIRS
    whole = with_told_columns(index_frame(spark, before, COLUMNS), given)
    left = with_told_columns(rest(spark, before, chosen, after=False), given)
    in_full = verify_compaction(spark, whole, index_frame(spark, after, COLUMNS), question)
    in_short = verify_compaction(
        spark, left, rest(spark, after, chosen, after=True), question, chosen.logs, is_in_order=True
    )
    same(in_short, in_full)
    assert len(in_full.findings) > PAIRS // 2


def test_a_dump_alone_is_judged_alike(
    spark: SparkSession, told: tuple[list[Record], list[Record], dict[int, Bounds], Told]
) -> None:
    records, _, bounds, given = told
    logs = logs_of(records)
    question = Question(logs, (), "a", {i: bounds[i] for i in logs}, max_findings=10_000)
    chosen = settled(records, records, rules_alone(question, given.lookups))
    assert sum(log.records_before for log in chosen.logs.values()) > PAIRS
    whole = with_told_columns(index_frame(spark, records, COLUMNS), given)
    left = with_told_columns(rest(spark, records, chosen, after=True), given)
    same(
        verify_compacted(spark, left, question, chosen.logs, is_in_order=True),
        verify_compacted(spark, whole, question),
    )


def test_a_right_pair_leaves_nothing_to_judge() -> None:
    before = [record(key, str(offset), offset=offset) for offset, key in enumerate("aabacdb")]
    latest = {r.key: r for r in before}
    after = [r for r in before if latest[r.key] is r]
    logs = logs_of(before)
    question = Question(logs, ("b",), "a", dict.fromkeys(logs, Bounds(Policy(now_ms=NOW_MS))))
    chosen = settled(before, after, rules_of(question, {}))
    assert not chosen.rest_before.any()
    assert not chosen.rest_after.any()
    (log,) = chosen.logs.values()
    assert (log.records_before, log.records_after, log.needed_end_offset) == (7, 4, 7)
    outcome = settled_compaction(question, chosen.logs)
    assert outcome.holds
    (judged,) = outcome.logs
    assert (judged.removed, judged.cleaned_end_offset) == ({"superseded": 3}, 7)


def test_without_rules_the_answer_is_theirs(spark: SparkSession) -> None:
    before, after = [], []
    for number in range(100):
        rng = random.Random(number)
        log = [
            record(rng.choice("abc"), rng.choice(["1", "2", None]), offset=at * 3, topic=f"t{number:03}")
            for at in range(rng.randrange(1, 20))
        ]
        latest = {r.key: r for r in log}
        before += log
        after += [r for r in log if latest[r.key] is r]
    logs = logs_of(before)
    policy = Policy(now_ms=NOW_MS, delete_retention_ms=1000)
    question = Question(logs, ("b",), "a", dict.fromkeys(logs, Bounds(policy)))
    chosen = settled(before, after, rules_of(question, {}))
    assert not chosen.rest_before.any()
    frames = [index_frame(spark, records, COLUMNS) for records in (before, after)]
    same(settled_compaction(question, chosen.logs), verify_compaction(spark, *frames, question))
