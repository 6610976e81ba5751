"""Every AFTER that a small log can be left with: those of rounds are never refused, others keep its state.

Where a bound ends every round (an active segment, an open transaction), they keep the state below it.

The rounds are those of a plain model, which tries every end of a map, every end of what is rewritten, and
every moment at which tombstones may go (``Cleaner.shouldRetainRecord``, ``MemoryRecords.filterTo``).
"""

import itertools
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import pytest

from kcompact.dumps.records.record import Record
from kcompact.rules.policy import Policy
from kcompact.verify.classification.bounds import Bounds, Knowledge
from kcompact.verify.outcome import Severity
from records import TIMESTAMP_MS, record
from verify_here import judge_pair, question_of

WORLDS = 60
ROUNDS = 3
BOUNDS = Bounds(Policy(now_ms=TIMESTAMP_MS + 864_000_000), knowledge=Knowledge(frozenset({"cleanup.policy"})))
Log = Sequence[tuple[str, str | None]]  # a key and a value (None: a tombstone) at each offset


@dataclass(frozen=True)
class State:
    """What rounds have left of a log. ``stamped`` tells by which round a tombstone's horizon was set."""

    kept: frozenset[int]
    stamped: Mapping[int, int]
    first_dirty_offset: int = 0
    rounds: int = 0
    due_round: int = 0  # horizons that were set until this round have passed

    @property
    def identity(self) -> tuple[object, ...]:
        stamps = tuple(sorted((at, number) for at, number in self.stamped.items() if at in self.kept))
        return self.kept, stamps, self.first_dirty_offset, self.rounds, self.due_round


def after_round(log: Log, state: State, end_offset: int, rewritten_end: int) -> State:
    """What a round leaves whose map ends before ``end_offset``, and that rewrites up to the other one."""
    latest = {log[at][0]: at for at in sorted(state.kept) if state.first_dirty_offset <= at < end_offset}

    def stays(at: int) -> bool:
        key, value = log[at]
        is_due = value is None and state.stamped.get(at, state.due_round + 1) <= state.due_round
        return at >= end_offset or (latest.get(key, -1) <= at and not is_due)

    number = state.rounds + 1
    met = {at: number for at in state.kept if at < rewritten_end and log[at][1] is None}
    kept = frozenset(filter(stays, state.kept))
    return State(kept, met | dict(state.stamped), end_offset, number, state.due_round)


def states_after_rounds(log: Log, bound: int | None) -> list[State]:
    """The states that up to ``ROUNDS`` rounds can leave; without a bound, other keys may have followed."""
    first = State(frozenset(range(len(log))), {})
    states, seen = [first], {first.identity}
    for state in states:  # which grows
        for following in _next_states(log, state, bound) if state.rounds < ROUNDS else ():
            if following.identity not in seen:
                seen.add(following.identity)
                states.append(following)
    return states


def _next_states(log: Log, state: State, bound: int | None) -> Iterator[State]:
    for end_offset in range(state.first_dirty_offset + 1, len(log) + ROUNDS if bound is None else bound + 1):
        for rewritten_end in range(end_offset, max(end_offset, len(log)) + 1):
            for due_round in range(state.due_round, state.rounds + 1):
                yield after_round(log, replace(state, due_round=due_round), end_offset, rewritten_end)


def state_of(records: Sequence[Record]) -> dict[bytes | None, bytes]:
    """What a table of the topic holds: the latest value of each key that is not deleted."""
    latest = {r.key: r.value for r in records}
    return {key: value for key, value in latest.items() if value is not None}


def random_log(number: int) -> Log:
    """Three to five records of a few keys."""
    chance = random.Random(number)
    values = [str(at) if chance.random() < 0.55 else None for at in range(chance.randint(3, 5))]
    return [(chance.choice("aab" if len(values) < 5 else "aabc"), value) for value in values]


def every_subset(log: Log) -> tuple[list[Record], dict[str, list[Record]]]:
    """The log in one topic for each subset of its records, and the subsets by topic."""
    before, after = [], {}
    for topic, bits in enumerate(itertools.product((False, True), repeat=len(log))):
        records = [record(*log[at], offset=at, topic=f"t{topic}") for at in range(len(log))]
        before += records
        after[f"t{topic}"] = list(itertools.compress(records, bits))
    return before, after


def refused_topics(
    before: list[Record], after: Mapping[str, list[Record]], bounds: Bounds
) -> set[str | None]:
    """The topics of which ``verify`` says more than a note."""
    all_after = [r for records in after.values() for r in records]
    outcome = judge_pair(question_of(before, all_after, bounds), before, all_after)
    return {f.topic for f in outcome.findings if f.severity is not Severity.NOTE}


@pytest.mark.parametrize("records_above", [0, 1, 2])
@pytest.mark.parametrize("number", range(WORLDS))
def test_every_subset_of_a_small_log(number: int, records_above: int) -> None:
    log = random_log(number)
    end_offset = len(log) - records_above
    bound = end_offset if records_above else None
    left_by_rounds = {state.kept for state in states_after_rounds(log, bound)}
    before, after = every_subset(log)
    refused = refused_topics(before, after, replace(BOUNDS, uncleanable_offset=bound))
    state = state_of(before[:end_offset])
    for topic, records in after.items():
        if frozenset(r.offset for r in records) in left_by_rounds:
            assert topic not in refused, (log, records)
        if topic not in refused:
            assert state_of([r for r in records if r.offset < end_offset]) == state, (log, records)
    assert refused
    assert len(left_by_rounds) > 1 or records_above


@pytest.mark.everyday(30)
@pytest.mark.parametrize("records_above", [0, 1, 2])
@pytest.mark.parametrize("number", range(WORLDS))
def test_every_subset_beside_a_checkpoint_that_says_where_cleaning_ended(
    number: int, records_above: int
) -> None:
    log = random_log(number)
    end_offset = len(log) - records_above
    states = states_after_rounds(log, end_offset)
    left_by_rounds = {state.kept for state in states if state.first_dirty_offset == end_offset}
    before, after = every_subset(log)
    bounds = replace(BOUNDS, checkpoint_offset=end_offset, checkpoint_is_end=True)
    refused = refused_topics(before, after, bounds)
    state = state_of(before[:end_offset])
    values_above = [at for at in range(end_offset, len(log)) if log[at][1] is not None]
    for topic, records in after.items():
        offsets = frozenset(r.offset for r in records)
        if offsets in left_by_rounds:
            assert topic not in refused, (log, records)
        if topic not in refused:
            assert state_of([r for r in records if r.offset < end_offset]) == state, (log, records)
            assert offsets.issuperset(values_above), (log, records)
    assert refused
