"""Wrong AFTERs of some 25 kinds, made of what a real broker left: all are found, or proven possible.

All is told: configs, segments, batches, checkpoint, offsets, clock. ``KCOMPACT_MUTATED_TURNS=26`` puts every
topic through every kind, over a thousand wrong AFTERs; ``KCOMPACT_MUTATED_FROM`` draws others.
"""

import os
from collections import Counter

import pytest

from golden_mutations import Mutant, golden_topics, mutants
from golden_pairs import Known, verify
from kcompact.verify.check import Severity
from kcompact.verify.outcome import VerifyFinding
from mutation_kinds import KINDS
from other_brokers import map_size_that_leaves

TURNS = int(os.environ.get("KCOMPACT_MUTATED_TURNS", "2"))
FIRST = int(os.environ.get("KCOMPACT_MUTATED_FROM", "0"))
ALL_TOLD = Known(0, policy=True, segments=True, batches=True, offsets=True)
assert len(KINDS) > 20


def found_in(changed: list[Mutant]) -> dict[str, list[VerifyFinding]]:
    """By topic, of all golden pairs at once, of which some have another AFTER."""
    after_of = {topic.name: topic.after for topic in golden_topics()} | {m.of.name: m.after for m in changed}
    outcome = verify(ALL_TOLD, [r for after in after_of.values() for r in after])
    findings: dict[str, list[VerifyFinding]] = {name: [] for name in after_of}
    for finding in outcome.findings:
        findings[finding.topic].append(finding)
    return findings


def another_broker_leaves(mutant: Mutant) -> bool:
    """Whether cleaning with an offset map of another size leaves each changed log as it is."""
    of = mutant.of
    changed = {r.partition for r in {*mutant.after} ^ {*of.after}}
    return mutant.removes_or_leaves_only and all(
        map_size_that_leaves(
            of.case,
            of.pair_index,
            (of.topic, partition),
            {r.offset for r in mutant.after if r.partition == partition},
        )
        for partition in changed
    )


@pytest.mark.slow
@pytest.mark.parametrize("turn", range(FIRST, FIRST + TURNS))
def test_a_wrong_after_of_a_golden_pair_is_found_or_a_broker_could_have_left_it(turn: int) -> None:
    changed = mutants(turn)
    assert len(changed) > len(golden_topics()) // 2
    by_topic = found_in(changed)
    survivors = []
    for mutant in changed:
        severities = Counter(finding.severity for finding in by_topic.pop(mutant.of.name))
        if not severities[Severity.FINDING]:
            assert not severities[Severity.UNDECIDED], (mutant.of.name, mutant.kind)
            survivors.append(mutant)
    assert [name for name, findings in by_topic.items() if findings] == []
    assert [(m.of.name, m.kind) for m in survivors if not another_broker_leaves(m)] == []
