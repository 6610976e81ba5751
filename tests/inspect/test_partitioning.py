"""The cause is named right for every partitioner, for changes, and for producers side by side."""

import random

import pytest

from inspect_sightings import BY_NAME, partitions_of, sightings
from kcompact.inspect.per_topic import describe
from kcompact.inspect.placement.partitioners import PARTITIONERS
from kcompact.inspect.placement.partitioning import find_cause

KEYS = [f"customer-{number}".encode() for number in range(400)]


def sent(name: str, count: int, keys: list[bytes] = KEYS) -> list[tuple[bytes, int]]:
    return list(zip(keys, partitions_of(keys, BY_NAME[name], count), strict=True))


@pytest.mark.parametrize("count", [3, 6, 12, 50])
@pytest.mark.parametrize("name", [partitioner.name for partitioner in PARTITIONERS])
def test_each_partitioner_is_told_from_all_others(name: str, count: int) -> None:
    cause = find_cause(sightings(sent(name, count)))

    assert cause.kind == "one"
    assert [(place.partitioner.name, place.partitions) for place in cause.placements] == [(name, count)]
    assert cause.explained == cause.rows == len(KEYS)


@pytest.mark.parametrize("name", ["murmur2", "crc32", "fnv1a", "murmur2-kafkajs"])
@pytest.mark.parametrize(("old", "new"), [(6, 12), (6, 8), (4, 5), (1, 6), (30, 60)])
def test_a_partition_count_that_was_raised_half_way(name: str, old: int, new: int) -> None:
    cause = find_cause(sightings(sent(name, old) + sent(name, new)))

    assert cause.kind == "changed"
    assert [place.partitions for place in cause.placements] == [old, new]
    assert cause.placements[1].partitioner.name == name
    assert cause.explained == cause.rows
    ends = dict.fromkeys(range(new), 0)
    for _, partition in sent(name, old):
        ends[partition] += 1
    for change in cause.changes:
        assert change.old_last_offset is None or change.old_last_offset < ends[change.partition]
        assert change.new_first_offset is None or change.new_first_offset >= ends[change.partition]


def test_the_first_record_of_the_new_count_is_found_exactly() -> None:
    cause = find_cause(sightings(sent("murmur2", 2) + sent("murmur2", 3)))
    before = sum(partition == 0 for _, partition in sent("murmur2", 2))

    in_zero = next(change for change in cause.changes if change.partition == 0)
    assert in_zero.old_last_offset is not None
    assert in_zero.new_first_offset is not None
    assert in_zero.old_last_offset < before <= in_zero.new_first_offset


@pytest.mark.parametrize("new", [6, 16])
def test_signs_that_do_not_show_modulo_two_make_no_second_partitioner(new: int) -> None:
    cause = find_cause(sightings(sent("fnv1a-reference", 2) + sent("fnv1a-reference", new)))

    assert cause.kind == "changed"
    assert {place.partitioner.name for place in cause.placements} == {"fnv1a-reference"}


@pytest.mark.parametrize(("old", "new"), [("crc32", "murmur2"), ("fnv1a", "murmur2"), ("murmur2", "crc32")])
def test_another_client_that_took_over(old: str, new: str) -> None:
    cause = find_cause(sightings(sent(old, 6) + sent(new, 6)))

    assert cause.kind == "changed"
    assert [place.partitioner.name for place in cause.placements] == [old, new]


@pytest.mark.parametrize(("client", "other"), [("murmur2", "crc32"), ("murmur2", "fnv1a")])
def test_two_clients_side_by_side(client: str, other: str) -> None:
    sends = sent(client, 6) + sent(other, 6)
    random.Random(7).shuffle(sends)
    cause = find_cause(sightings(sends))

    assert cause.kind == "mixed"
    assert {place.partitioner.name for place in cause.placements} == {client, other}


def test_producers_that_learn_late_of_new_partitions_do_not_hide_the_change() -> None:
    late = sent("murmur2", 6)[:10]
    cause = find_cause(sightings(sent("murmur2", 6) + sent("murmur2", 8)[:200] + late + sent("murmur2", 8)))

    assert cause.kind == "changed"
    assert [place.partitions for place in cause.placements] == [6, 8]


def test_partitions_that_were_not_exported_do_not_mislead() -> None:
    cause = find_cause(sightings([(key, at) for key, at in sent("murmur2", 12) if at in {0, 3}]))

    assert [(place.partitioner.name, place.partitions) for place in cause.placements] == [("murmur2", 12)]


def test_a_few_records_placed_by_hand_are_forgiven() -> None:
    sends = sent("murmur2", 6)
    by_hand = next(at for at in range(6) if at != sends[0][1])
    cause = find_cause(sightings([*sends, (sends[0][0], by_hand)]))

    assert cause.kind == "one"
    assert describe(cause).text.endswith("but 1 of 401 are elsewhere: partitions chosen by hand")


def test_a_topic_of_one_partition_needs_no_partitioner() -> None:
    cause = find_cause(sightings([(key, 0) for key in KEYS]))

    assert [place.partitions for place in cause.placements] == [1]
    assert describe(cause).text == "there is one partition only"


def test_keys_placed_at_random_have_no_known_cause() -> None:
    chance = random.Random(1)
    assert find_cause(sightings([(key, chance.randrange(6)) for key in KEYS])).kind == "unknown"


def test_a_handful_of_keys_says_nothing() -> None:
    assert find_cause(sightings(sent("murmur2", 3, KEYS[:4]))).kind == "too_few"
    assert find_cause(sightings([])).kind == "too_few"


@pytest.mark.slow
def test_small_topics_that_nothing_explains_say_nothing() -> None:
    """Each of 200 topics has ten keys, which two placements in turn do not explain: all pairs are tried."""
    rng = random.Random(7)
    topics = [[(key, rng.randrange(7)) for key in KEYS[at : at + 10]] for at in range(200)]

    kinds = {find_cause(sightings(topic)).kind for topic in topics}

    assert kinds == {"too_few"}
