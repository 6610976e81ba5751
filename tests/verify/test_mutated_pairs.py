"""Wrong AFTERs of logs after their first round, 25 of each kind: all are found, or proven possible.

Known is what a user can give beside the dumps: configs, transactions, delete horizons, that nothing was ever
cleaned.
"""

import random

import pytest

from kcompact.dumps.records.record import Record
from kcompact.rules.policy import Policy
from kcompact.verify.classification.bounds import Bounds, Knowledge
from mutation_kinds import KINDS, CleanedTopic
from records import TIMESTAMP_MS, record
from verify_here import judge_pair, question_of

NOW_MS = TIMESTAMP_MS + 864_000_000
PER_KIND = 25
KNOWN = Knowledge(
    frozenset({"cleanup.policy", "delete.retention.ms", "min.compaction.lag.ms"}),
    transactions_given=True,
    batches_given=True,
    has_one_round=True,
    first_dirty_offset=0,
)
NOT_HERE = {"aborted record back", "record without key left"}  # these logs have no such records


def case_of(number: int) -> CleanedTopic:
    """A log without a checkpoint, and what its first round leaves: the latest record of every key."""
    chance = random.Random(number)
    before: list[Record] = []
    for partition in (0, 1):
        for offset in range(chance.randint(25, 60)):
            key = chance.choice("abcdefgh") + str(partition)
            value = None if chance.random() < 0.2 else chance.choice(["", "1", "22", "333"])
            headers = (("h", b"1"), ("i", None)) if chance.random() < 0.3 else ()
            before.append(
                record(
                    key, value, offset=offset, partition=partition, headers=headers, timestamp_ms=TIMESTAMP_MS
                )
            )
    latest = {r.key: r for r in before}
    return CleanedTopic(chance, before, [r for r in before if latest[r.key] is r])


def ends_before_what_replaces_it(case: CleanedTopic, after: list[Record]) -> bool:
    """The proof that a broker could have left it: rounds that ended below what replaces the added record.

    Such rounds explain all that is gone, if each of those records has a later version below that end, too.
    """
    (added,) = [r for r in after if r not in case.after]
    log = [r for r in case.before if r.partition == added.partition]
    end = min(r.offset for r in log if r.key == added.key and r.offset > added.offset)
    gone = [r for r in log if r not in after]
    return all(any(later.key == r.key and r.offset < later.offset < end for later in log) for r in gone)


@pytest.mark.everyday(1)
@pytest.mark.parametrize("kind", sorted(KINDS.keys() - NOT_HERE))
def test_every_mutation_is_found(kind: str) -> None:
    count, number = 0, 0
    while count < PER_KIND:
        case = case_of(number)
        number += 1
        after = KINDS[kind](case)
        if after is None or after == case.after:
            continue
        bounds = Bounds(Policy(now_ms=NOW_MS), knowledge=KNOWN)
        assert judge_pair(question_of(case.before, case.after, bounds), case.before, case.after).holds
        outcome = judge_pair(question_of(case.before, after, bounds), case.before, after)
        if outcome.holds:
            assert kind == "older version left"
            assert ends_before_what_replaces_it(case, after), (kind, number - 1)
        assert not outcome.is_undecided, (kind, number - 1)
        count += 1
