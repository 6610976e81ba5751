"""Wrong AFTERs made from a right pair, each with the names of the checks that must find the fault.

The right pair, worked out by hand (partition 0; partition 1 has two records of ``a``, and one of ``h``):

====== =========================== =====================
offset record                      AFTER
====== =========================== =====================
0      i=1                         superseded by 1
1      i deleted, long ago         expired
2      a=1                         superseded by 5
3      b=1                         superseded by 6
4      c=1, with headers           superseded by 15
5      a=2                         superseded by 11
6      b deleted, an hour ago      stays
7      d=1                         superseded by 8
8      d=2                         stays
9      no key                      goes
10     e="" (empty, not deleted)   stays
11     a=3                         stays
12     ""="empty key"              stays
14     f=1                         stays
15     c=2, with headers           stays
16     g=1                         superseded by 17
17     g deleted, an hour ago      stays
18     j=1                         superseded by 19
19     j deleted                   superseded by 20
20     j=2                         stays
====== =========================== =====================
"""

from collections.abc import Callable
from dataclasses import dataclass

from kcompact.dumps.records.record import Record
from records import TIMESTAMP_MS, record, tombstone

NOW_MS = TIMESTAMP_MS + 864_000_000
RECENT_MS = NOW_MS - 3_600_000
HEADERS = (("trace", b"1"), ("none", None))

BEFORE: list[Record] = [
    record("i", "1", offset=0),
    tombstone("i", offset=1),
    record("a", "1", offset=2),
    record("b", "1", offset=3),
    record("c", "1", offset=4, headers=HEADERS),
    record("a", "2", offset=5),
    tombstone("b", offset=6, timestamp_ms=RECENT_MS),
    record("d", "1", offset=7),
    record("d", "2", offset=8),
    record(None, "no key", offset=9),
    record("e", "", offset=10),
    record("a", "3", offset=11),
    record("", "empty key", offset=12),
    record("f", "1", offset=14),
    record("c", "2", offset=15, headers=HEADERS),
    record("g", "1", offset=16),
    tombstone("g", offset=17, timestamp_ms=RECENT_MS),
    record("j", "1", offset=18),
    tombstone("j", offset=19),
    record("j", "2", offset=20),
    record("a", "1", offset=0, partition=1),
    record("a", "2", offset=1, partition=1),
    record("h", "1", offset=2, partition=1),
]
_STAYS = {(0, offset) for offset in (6, 8, 10, 11, 12, 14, 15, 17, 20)} | {(1, 1), (1, 2)}
AFTER = [r for r in BEFORE if (r.partition, r.offset) in _STAYS]


def at(offset: int, partition: int = 0) -> Record:
    """BEFORE's record at an offset."""
    return next(r for r in BEFORE if (r.partition, r.offset) == (partition, offset))


def without(*offsets: int, partition: int = 0) -> list[Record]:
    """AFTER without some offsets."""
    return [r for r in AFTER if r.partition != partition or r.offset not in offsets]


def instead(*records: Record) -> list[Record]:
    """AFTER with these records in place of those at their offsets."""
    others = {(r.partition, r.offset): r for r in records}
    return [others.get((r.partition, r.offset), r) for r in AFTER]


def ordered(records: list[Record]) -> list[Record]:
    """Records in the order of a log."""
    return sorted(records, key=lambda r: (r.partition, r.offset))


@dataclass(frozen=True)
class Mutation:
    """A wrong AFTER, and the number of findings that each check must report."""

    name: str
    after: Callable[[], list[Record]]
    found: dict[str, int]


MUTATIONS = [
    Mutation("a key's only record lost", lambda: without(14), {"missing-key": 1}),
    Mutation("a key lost in another partition", lambda: without(2, partition=1), {"missing-key": 1}),
    Mutation("an updated key lost", lambda: without(8), {"missing-key": 1}),
    Mutation("the key of no bytes lost", lambda: without(12), {"missing-key": 1}),
    Mutation("an empty value taken for a deletion", lambda: without(10), {"missing-key": 1}),
    Mutation("an older value kept", lambda: ordered([*without(11), at(5)]), {"stale-value": 1}),
    Mutation("the oldest value kept", lambda: ordered([*without(11), at(2)]), {"stale-value": 1}),
    Mutation("an older tombstone kept", lambda: ordered([*without(20), at(19)]), {"stale-value": 1}),
    Mutation(
        "a record in a gap", lambda: ordered([*AFTER, record("z", "1", offset=13)]), {"unexpected-record": 1}
    ),
    Mutation(
        "an old value again in a gap",
        lambda: ordered([*AFTER, at(2)._replace(offset=13)]),
        {"unexpected-record": 1},
    ),
    Mutation("later data", lambda: [*AFTER, record("z", "1", offset=30)], {"unexpected-record": 1}),
    Mutation(
        "another topic's record", lambda: [*AFTER, at(2)._replace(partition=7)], {"unexpected-record": 1}
    ),
    Mutation("value changed", lambda: instead(at(14)._replace(value=b"2")), {"changed-record": 1}),
    Mutation("value of an older record", lambda: instead(at(11)._replace(value=b"1")), {"changed-record": 1}),
    Mutation("key in another case", lambda: instead(at(14)._replace(key=b"F")), {"changed-record": 1}),
    Mutation("blank behind the key", lambda: instead(at(14)._replace(key=b"f ")), {"changed-record": 1}),
    Mutation("empty key became none", lambda: instead(at(12)._replace(key=None)), {"changed-record": 1}),
    Mutation("timestamp changed", lambda: instead(at(14)._replace(timestamp_ms=5)), {"changed-record": 1}),
    Mutation("headers lost", lambda: instead(at(15)._replace(headers=())), {"changed-record": 1}),
    Mutation(
        "headers in another order",
        lambda: instead(at(15)._replace(headers=HEADERS[::-1])),
        {"changed-record": 1},
    ),
    Mutation(
        "null header became empty",
        lambda: instead(at(15)._replace(headers=(("trace", b"1"), ("none", b"")))),
        {"changed-record": 1},
    ),
    Mutation("empty value became null", lambda: instead(at(10)._replace(value=None)), {"changed-record": 1}),
    Mutation(
        "value became the word null", lambda: instead(at(10)._replace(value=b"null")), {"changed-record": 1}
    ),
    Mutation(
        "tombstone became empty",
        lambda: instead(at(17)._replace(value=b"")),
        {"changed-record": 1, "key-resurrected": 1},
    ),
    Mutation(
        "tombstone replaced by the older value",
        lambda: instead(at(6)._replace(value=b"1")),
        {"changed-record": 1, "key-resurrected": 1},
    ),
    Mutation(
        "values swapped",
        lambda: instead(at(11)._replace(value=at(14).value), at(14)._replace(value=at(11).value)),
        {"changed-record": 2},
    ),
    Mutation(
        "records swapped",
        lambda: instead(at(11)._replace(offset=14), at(14)._replace(offset=11)),
        {"moved-offset": 2},
    ),
    Mutation(
        "moved into a gap", lambda: ordered([*without(14), at(14)._replace(offset=13)]), {"moved-offset": 1}
    ),
    Mutation("moved to the end", lambda: [*without(14), at(14)._replace(offset=40)], {"moved-offset": 1}),
    Mutation(
        "moved to another partition",
        lambda: ordered([*without(14), at(14)._replace(partition=1)]),
        {"moved-offset": 1},
    ),
    Mutation("a tombstone moved", lambda: [*without(17), at(17)._replace(offset=21)], {"moved-offset": 1}),
    Mutation(
        "offsets numbered anew",
        lambda: [
            *(r._replace(offset=n) for n, r in enumerate(r for r in AFTER if r.partition == 0)),
            *(r for r in AFTER if r.partition == 1),
        ],
        # In BEFORE, offset 8 is d=2; numbered anew, it is the last record, j=2, which was at offset 20.
        {"moved-offset": 9},
    ),
    Mutation("order of two turned", lambda: [*AFTER[1::-1], *AFTER[2:]], {"reordered-records": 1}),
    Mutation("order turned round", lambda: AFTER[::-1], {"reordered-records": 9}),
    Mutation(
        "sorted by key",
        lambda: sorted(AFTER, key=lambda r: (r.partition, r.key or b"")),
        {"reordered-records": 3},
    ),
    Mutation("deletion undone", lambda: ordered([*without(17), at(16)]), {"key-resurrected": 1}),
    Mutation("old deletion undone", lambda: [at(0), *AFTER], {"key-resurrected": 1}),
    Mutation("a young tombstone gone", lambda: without(17), {"tombstone-too-early": 1}),
    Mutation("all tombstones gone", lambda: without(6, 17), {"tombstone-too-early": 2}),
    Mutation("a record twice", lambda: ordered([*AFTER, at(14)]), {"duplicate-offset": 1}),
    Mutation(
        "an offset twice with a difference",
        lambda: ordered([*AFTER, at(14)._replace(value=b"2")]),
        {"duplicate-offset": 1},
    ),
    Mutation("a duplicate left", lambda: ordered([*AFTER, at(4)]), {"duplicate-left": 1}),
    Mutation("a record without key left", lambda: ordered([*AFTER, at(9)]), {"keyless-left": 1}),
    Mutation("nothing but one partition", lambda: [r for r in AFTER if r.partition == 0], {"missing-log": 1}),
    Mutation(
        "cut in front",
        lambda: [r for r in AFTER if r.offset > 10 or r.partition],
        {"missing-key": 2, "tombstone-too-early": 1},
    ),
    Mutation(
        "cut at the end",
        lambda: [r for r in AFTER if r.offset < 15],
        {"missing-key": 2, "tombstone-too-early": 1},
    ),
    Mutation("empty", list, {"missing-log": 2}),
    Mutation(
        "a few together",
        lambda: ordered(
            [
                *(r for r in instead(at(8)._replace(value=b"x")) if r.offset not in (11, 14)),
                at(4),
                at(5),
                record("z", "1", offset=13),
            ]
        ),
        {
            "changed-record": 1,
            "missing-key": 1,
            "stale-value": 1,
            "duplicate-left": 1,
            "unexpected-record": 1,
        },
    ),
]
