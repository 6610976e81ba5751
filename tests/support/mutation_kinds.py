"""Kinds of wrong AFTERs: each makes one from a topic before and after its cleaning, or None if it cannot."""

import random
from collections.abc import Callable
from dataclasses import dataclass

from kcompact.dumps.records.record import Record

Place = tuple[int, int]


@dataclass(frozen=True)
class CleanedTopic:
    """One topic before and after; ``aborted`` are the places of data of aborted transactions in BEFORE."""

    chance: random.Random
    before: list[Record]
    after: list[Record]
    aborted: frozenset[Place] = frozenset()

    def is_aborted(self, r: Record) -> bool:
        return (r.partition, r.offset) in self.aborted

    def left(self, holds: Callable[[Record], bool] = lambda _: True) -> list[Record]:
        return [r for r in self.after if holds(r)]

    def gone(self, holds: Callable[[Record], bool]) -> list[Record]:
        places = {(r.partition, r.offset) for r in self.after}
        return [r for r in self.before if (r.partition, r.offset) not in places and holds(r)]

    def one_of(self, records: list[Record]) -> Record | None:
        return self.chance.choice(records) if records else None

    def place_elsewhere(self, r: Record) -> Place:
        """A place after the end of another partition of the topic, or in a new one if there is no other."""
        others = sorted({one.partition for one in self.before} - {r.partition})
        partition = self.chance.choice(others) if others else r.partition + 1
        ends = [one.offset for one in self.before if one.partition == partition]
        return partition, max(ends, default=0) + 7


Mutate = Callable[[CleanedTopic], list[Record] | None]


def is_value(r: Record) -> bool:
    return r.value is not None


def is_tombstone(r: Record) -> bool:
    return r.value is None and r.key is not None


def put(records: list[Record], *new: Record) -> list[Record]:
    """The records with ``new`` ones, in place of those with the same partition and offset, or beside them."""
    places = {(r.partition, r.offset): r for r in [*records, *new]}
    return [places[place] for place in sorted(places)]


def without(records: list[Record], *gone: Record) -> list[Record]:
    return [r for r in records if not any(r is one for one in gone)]


def changed(holds: Callable[[Record], bool], **parts: object) -> Mutate:
    def mutate(topic: CleanedTopic) -> list[Record] | None:
        r = topic.one_of(topic.left(holds))
        return None if r is None else put(topic.after, r._replace(**parts))

    return mutate


def lost(holds: Callable[[Record], bool], at: int | None = None) -> Mutate:
    """AFTER without one record: any, or the first (``at`` 0) or the last (-1) of a partition."""

    def mutate(topic: CleanedTopic) -> list[Record] | None:
        some = topic.left(holds)
        if at is not None and some:
            partition = topic.chance.choice(sorted({r.partition for r in some}))
            some = [[r for r in some if r.partition == partition][at]]
        r = topic.one_of(some)
        return None if r is None else without(topic.after, r)

    return mutate


def back(holds: Callable[[CleanedTopic, Record], bool]) -> Mutate:
    """AFTER with one record that the cleaning had removed."""

    def mutate(topic: CleanedTopic) -> list[Record] | None:
        r = topic.one_of(topic.gone(lambda r: holds(topic, r)))
        return None if r is None else put(topic.after, r)

    return mutate


def is_older_version(topic: CleanedTopic, r: Record) -> bool:
    if r.key is None or topic.is_aborted(r):
        return False
    later = (o for o in topic.after if (o.key, o.partition) == (r.key, r.partition))
    return any(o.offset > r.offset for o in later)


def swapped_values(topic: CleanedTopic) -> list[Record] | None:
    one = topic.one_of(topic.left(is_value))
    other = topic.one_of([r for r in topic.left(is_value) if one is not None and r.value != one.value])
    if one is None or other is None:
        return None
    return put(topic.after, one._replace(value=other.value), other._replace(value=one.value))


def turned_headers(topic: CleanedTopic) -> list[Record] | None:
    r = topic.one_of(topic.left(lambda r: len(set(r.headers)) > 1 and r.headers[::-1] != r.headers))
    return None if r is None else put(topic.after, r._replace(headers=r.headers[::-1]))


def dropped_header(topic: CleanedTopic) -> list[Record] | None:
    r = topic.one_of(topic.left(lambda r: bool(r.headers)))
    return None if r is None else put(topic.after, r._replace(headers=r.headers[:-1]))


def later_timestamp(topic: CleanedTopic) -> list[Record] | None:
    r = topic.one_of(topic.after)
    return None if r is None else put(topic.after, r._replace(timestamp_ms=r.timestamp_ms + 1))


def moved_to_another_partition(topic: CleanedTopic) -> list[Record] | None:
    r = topic.one_of(topic.left(is_value))
    if r is None:
        return None
    partition, offset = topic.place_elsewhere(r)
    return put(without(topic.after, r), r._replace(partition=partition, offset=offset))


def doubled_partition(topic: CleanedTopic) -> list[Record] | None:
    r = topic.one_of(topic.after)
    if r is None:
        return None
    new = max(one.partition for one in topic.before) + 1
    mine = [one for one in topic.after if one.partition == r.partition]
    return [*topic.after, *(one._replace(partition=new) for one in mine)]


def lost_partition(topic: CleanedTopic) -> list[Record] | None:
    r = topic.one_of(topic.left(is_value))
    return None if r is None else [one for one in topic.after if one.partition != r.partition]


def older_instead(topic: CleanedTopic) -> list[Record] | None:
    """AFTER with an older version of a key in place of all records of that key."""
    older = topic.one_of(topic.gone(lambda r: is_older_version(topic, r)))
    if older is None:
        return None
    mine = (older.partition, older.key)
    return put([r for r in topic.after if (r.partition, r.key) != mine], older)


def reused_offset(topic: CleanedTopic) -> list[Record] | None:
    one, other = (
        topic.one_of(topic.gone(lambda r: not topic.is_aborted(r))),
        topic.one_of(topic.left(is_value)),
    )
    if one is None or other is None or other[2:] == one[2:]:
        return None
    return put(topic.after, other._replace(offset=one.offset, partition=one.partition))


def swapped_places(topic: CleanedTopic) -> list[Record] | None:
    one = topic.one_of(topic.after)
    other = topic.one_of([r for r in topic.after if one is not None and r[3:] != one[3:]])
    if one is None or other is None:
        return None
    return put(
        topic.after,
        one._replace(partition=other.partition, offset=other.offset),
        other._replace(partition=one.partition, offset=one.offset),
    )


def turned_order(topic: CleanedTopic) -> list[Record] | None:
    mine = topic.after[::-1]
    return mine if len({r.partition for r in mine}) < len(mine) else None


KINDS: dict[str, Mutate] = {
    "values swapped": swapped_values,
    "value changed": changed(is_value, value=b"another"),
    "value made null": changed(is_value, value=None),
    "null made empty": changed(is_tombstone, value=b""),
    "empty made null": changed(lambda r: r.value == b"", value=None),
    "key changed": changed(lambda _: True, key=b"another"),
    "key made null": changed(lambda r: r.key is not None, key=None),
    "header dropped": dropped_header,
    "headers turned": turned_headers,
    "timestamp off by one": later_timestamp,
    "record moved to another partition": moved_to_another_partition,
    "partition doubled": doubled_partition,
    "partition gone": lost_partition,
    "older version left": back(is_older_version),
    "older version instead": older_instead,
    "aborted record back": back(lambda topic, r: topic.is_aborted(r)),
    "record without key left": back(lambda topic, r: r.key is None and not topic.is_aborted(r)),
    "first tombstone gone": lost(is_tombstone, at=0),
    "last tombstone gone": lost(is_tombstone, at=-1),
    "tombstone gone": lost(is_tombstone),
    "first value gone": lost(is_value, at=0),
    "last value gone": lost(is_value, at=-1),
    "value gone": lost(is_value),
    "offset of a removed record reused": reused_offset,
    "records swapped": swapped_places,
    "order turned": turned_order,
}
