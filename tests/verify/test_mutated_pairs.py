"""500 wrong AFTERs of 20 kinds, each made of a log after its first round: all are found, or proven possible.

Known is what a user can give beside the dumps: configs, transactions, delete horizons, that nothing was ever
cleaned.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from kcompact.dumps.records.record import Record
from kcompact.rules.policy import Policy
from kcompact.verify.judgement.bounds import Bounds, Knowledge
from records import TIMESTAMP_MS, record
from verify_here import judge_pair, question_of

NOW_MS = TIMESTAMP_MS + 864_000_000
PER_KIND = 25
KNOWN = Knowledge(
    frozenset({"cleanup.policy", "delete.retention.ms"}),
    tells_transactions=True,
    tells_horizons=True,
    has_one_round=True,
    first_dirty_offset=0,
)


@dataclass(frozen=True)
class Case:
    """A log without a checkpoint, and what its first round leaves of it: the latest record of every key."""

    chance: random.Random
    before: list[Record]
    after: list[Record]

    def pick(self, holds: Callable[[Record], bool] = lambda _: True, *, gone: bool = False) -> Record | None:
        left = {(r.partition, r.offset) for r in self.after}
        some = [r for r in self.before if holds(r) and ((r.partition, r.offset) not in left) == gone]
        return self.chance.choice(some) if some else None


def case_of(number: int) -> Case:
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
    return Case(chance, before, [r for r in before if latest[r.key] is r])


def put(records: list[Record], *new: Record) -> list[Record]:
    """With records in place of those at their offsets, or beside the others."""
    places = {(r.partition, r.offset): r for r in [*records, *new]}
    return [places[place] for place in sorted(places)]


def without(records: list[Record], *gone: Record) -> list[Record]:
    return [r for r in records if not any(r is one for one in gone)]


def is_value(r: Record) -> bool:
    return r.value is not None


def changed(case: Case, holds: Callable[[Record], bool], **parts: object) -> list[Record] | None:
    r = case.pick(holds)
    return None if r is None else put(case.after, r._replace(**parts))


def swapped_values(case: Case) -> list[Record] | None:
    one, other = case.pick(lambda r: r.value == b"1"), case.pick(lambda r: r.value == b"22")
    if one is None or other is None:
        return None
    return put(case.after, one._replace(value=other.value), other._replace(value=one.value))


def moved_to_another_partition(case: Case) -> list[Record] | None:
    r = case.pick(is_value)
    return (
        None if r is None else put(without(case.after, r), r._replace(partition=1 - r.partition, offset=90))
    )


def doubled(case: Case) -> list[Record] | None:
    mine = [r for r in case.after if r.partition == 0]
    return [*case.after, *(r._replace(partition=2) for r in mine)]


def reused_offset(case: Case) -> list[Record] | None:
    one, other = case.pick(gone=True), case.pick(is_value)
    return (
        None
        if one is None or other is None
        else put(case.after, other._replace(offset=one.offset, partition=one.partition))
    )


def lost(holds: Callable[[Record], bool]) -> Callable[[Case], list[Record] | None]:
    def mutate(case: Case) -> list[Record] | None:
        r = case.pick(holds)
        return None if r is None else without(case.after, r)

    return mutate


def added_again(case: Case) -> list[Record] | None:
    r = case.pick(is_value, gone=True)
    return None if r is None else put(case.after, r)


def first_tombstone_lost(case: Case) -> list[Record] | None:
    tombstones = [r for r in case.after if r.value is None]
    return without(case.after, tombstones[0]) if tombstones else None


def last_tombstone_lost(case: Case) -> list[Record] | None:
    tombstones = [r for r in case.after if r.value is None]
    return without(case.after, tombstones[-1]) if tombstones else None


def older_instead(case: Case) -> list[Record] | None:
    older = case.pick(is_value, gone=True)
    if older is None:
        return None
    return put([r for r in case.after if r.key != older.key], older)


def two_swapped(case: Case) -> list[Record] | None:
    one, other = case.pick(is_value), case.pick(lambda r: r.value is None)
    if one is None or other is None:
        return None
    places = [(one.partition, one.offset), (other.partition, other.offset)]
    return put(
        case.after,
        one._replace(partition=places[1][0], offset=places[1][1]),
        other._replace(partition=places[0][0], offset=places[0][1]),
    )


KINDS: dict[str, Callable[[Case], list[Record] | None]] = {
    "values swapped": swapped_values,
    "header dropped": lambda c: changed(c, lambda r: bool(r.headers), headers=(("h", b"1"),)),
    "headers swapped": lambda c: changed(c, lambda r: bool(r.headers), headers=(("i", None), ("h", b"1"))),
    "record moved to another partition": moved_to_another_partition,
    "partition doubled": doubled,
    "partition gone": lambda c: [r for r in c.after if r.partition == 0],
    "null made empty": lambda c: changed(c, lambda r: r.value is None, value=b""),
    "empty made null": lambda c: changed(c, lambda r: r.value == b"", value=None),
    "timestamp off by one": lambda c: changed(c, lambda _: True, timestamp_ms=TIMESTAMP_MS + 1),
    "older version added": added_again,
    "older version instead": older_instead,
    "first tombstone gone": first_tombstone_lost,
    "last tombstone gone": last_tombstone_lost,
    "offset of a removed record reused": reused_offset,
    "value lost": lost(is_value),
    "value changed": lambda c: changed(c, is_value, value=b"other"),
    "key changed": lambda c: changed(c, lambda _: True, key=b"other"),
    "key made null": lambda c: changed(c, lambda _: True, key=None),
    "records swapped": two_swapped,
    "order turned": lambda c: c.after[::-1],
}
assert len(KINDS) == 20


def ends_before_what_replaces_it(case: Case, after: list[Record]) -> bool:
    """The proof that a broker could have left it: rounds that ended below what replaces the added record.

    Such rounds explain all that is gone, if each of those records has a later version below that end, too.
    """
    (added,) = [r for r in after if r not in case.after]
    mine = [r for r in case.before if r.partition == added.partition]
    end = min(r.offset for r in mine if r.key == added.key and r.offset > added.offset)
    gone = [r for r in mine if r not in after]
    return all(any(later.key == r.key and r.offset < later.offset < end for later in mine) for r in gone)


@pytest.mark.parametrize("kind", KINDS)
def test_every_mutation_is_found(kind: str) -> None:
    found, number = 0, 0
    while found < PER_KIND:
        case = case_of(number)
        number += 1
        after = KINDS[kind](case)
        if after is None:
            continue
        bounds = Bounds(Policy(now_ms=NOW_MS), known=KNOWN)
        assert judge_pair(question_of(case.before, case.after, bounds), case.before, case.after).holds
        outcome = judge_pair(question_of(case.before, after, bounds), case.before, after)
        if outcome.holds:
            assert kind == "older version added"
            assert ends_before_what_replaces_it(case, after), (kind, number - 1)
        assert not outcome.is_undecided, (kind, number - 1)
        found += 1
