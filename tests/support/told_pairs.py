"""Pairs that are right, or have one or two faults, each with facts that a user may give beside the dumps."""

import random
from collections.abc import Callable, Iterator
from dataclasses import replace

from kcompact.dumps.records.record import Record
from kcompact.rules.policy import Policy
from kcompact.verify.classification.bounds import Bounds, Knowledge
from kcompact.verify.outcome import VerifyOutcome
from mutations import BEFORE, MUTATIONS
from random_pairs import NOW_MS, Pair, random_pair

PAIRS = 400


def wrong(number: int) -> Pair:
    """A right pair, with up to two faults put into AFTER."""
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
    """Random facts about a pair: none, a checkpoint in each of its meanings, an end, or other bounds."""
    rng = random.Random(number)
    policy = Policy(now_ms=NOW_MS, delete_retention_ms=rng.choice([0, 86_400_000]))
    middle = log[len(log) // 2].offset
    chosen = rng.choice(
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
    return replace(chosen, knowledge=known_of(rng, middle, log[-1].offset))


def known_of(rng: random.Random, middle: int, last: int) -> Knowledge:
    """Random facts that are given; in half of the cases none."""
    if rng.random() < 0.5:
        return Knowledge()
    names = ["cleanup.policy", "delete.retention.ms"]
    return Knowledge(
        frozenset(rng.sample(names, rng.randint(0, 2))),
        transactions_given=rng.random() < 0.5,
        batches_given=rng.random() < 0.5,
        has_fixed_bound=rng.random() < 0.5,
        has_one_round=rng.random() < 0.3,
        last_missing_offset=rng.choice([None, middle, last]),
        first_dirty_offset=rng.choice([None, 0, middle]),
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


def same(one: VerifyOutcome, other: VerifyOutcome) -> None:
    assert one.counts == other.counts
    assert one.findings == other.findings
    assert one.logs == other.logs
    assert one.assumed == other.assumed
