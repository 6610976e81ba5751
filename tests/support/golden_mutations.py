"""Wrong AFTERs made from the golden pairs: from each topic of each pair, one kind of fault in each turn."""

import random
from collections import defaultdict
from dataclasses import dataclass
from functools import cache

from golden_cases import GoldenCase
from golden_pairs import PAIRS, name_of, records_of
from kcompact.dumps.records.record import Record
from mutation_kinds import KINDS, CleanedTopic, Place


@dataclass(frozen=True)
class GoldenTopic:
    """One topic of a pair; ``name`` is its name in the dump that holds all pairs."""

    case: GoldenCase
    pair_index: int
    topic: str
    before: list[Record]
    after: list[Record]
    aborted: frozenset[Place]

    @property
    def name(self) -> str:
        return name_of(self.case, self.pair_index, self.topic)


@dataclass(frozen=True)
class Mutant:
    """A golden topic with a wrong AFTER."""

    of: GoldenTopic
    kind: str
    after: list[Record]

    @property
    def removes_or_leaves_only(self) -> bool:
        """Whether the wrong AFTER holds only records of BEFORE, unchanged."""
        before = {(r.partition, r.offset): r for r in self.of.before}
        return all(before.get((r.partition, r.offset)) == r for r in self.after)


@cache
def golden_topics() -> list[GoldenTopic]:
    stages: tuple[defaultdict[str, list[Record]], ...] = (defaultdict(list), defaultdict(list))
    for found, index in zip(stages, (0, 1), strict=True):
        for r in records_of(index):
            found[r.topic].append(r)
    return [
        GoldenTopic(
            case,
            i,
            topic,
            *(sorted(found[name_of(case, i, topic)]) for found in stages),
            _aborted(case, case.pairs[i][0], topic),
        )
        for case, i in PAIRS
        for topic in dict.fromkeys(topic for topic, _ in case.logs)
    ]


def _aborted(case: GoldenCase, stage: str, topic: str) -> frozenset[Place]:
    """The places of records below the last stable offset that a read_committed consumer did not see."""
    if not case.path(stage, "read_committed.jsonl").exists():
        return frozenset()
    committed = {r[:3] for r in case.records(stage, read_committed=True)}
    stable = {log: case.stage_log(stage, log).last_stable_offset for log in case.logs}
    gone = (r for r in case.records(stage) if r[:3] not in committed and r.topic == topic)
    return frozenset((r.partition, r.offset) for r in gone if r.offset < stable[topic, r.partition])


def mutants(turn: int) -> list[Mutant]:
    """At most one wrong AFTER of each topic; in as many turns as there are kinds, one of each kind."""
    kinds, found = list(KINDS.items()), []
    for number, topic in enumerate(golden_topics()):
        kind, mutate = kinds[(number + turn) % len(kinds)]
        chance = random.Random(f"{topic.name} {turn}")
        after = mutate(CleanedTopic(chance, topic.before, topic.after, topic.aborted))
        if after is not None and after != topic.after:
            found.append(Mutant(topic, kind, after))
    return found
