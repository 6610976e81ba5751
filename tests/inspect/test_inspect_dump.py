"""The one pass over a dump, in one task and in several, against counts made in plain Python."""

import random
from collections import Counter, defaultdict
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dump_files import write_kcat
from inspect_sightings import BY_NAME, partitions_of
from kcompact.dumps.dump import open_dump
from kcompact.dumps.options import ReadOptions
from kcompact.dumps.records.record import Record
from kcompact.engine.passes import index_pass as indexing
from kcompact.inspect.expectations import Expectations
from kcompact.inspect.inspection import Inspection, LogFacts
from kcompact.inspect.pipeline import inspect_dump
from records import record, tombstone

HOUR_MS = 3_600_000
Inspect = Callable[..., Inspection]


@pytest.fixture
def inspect(spark: Any, tmp_path: Path) -> Inspect:
    """Write records to a file each ``per_file`` records, and inspect them all."""
    runs = iter(range(1_000_000))

    def run(records: list[Record], per_file: int = 1_000_000) -> Inspection:
        folder = tmp_path / str(next(runs))
        (folder / "work").mkdir(parents=True)
        (folder / "dump").mkdir()
        for start in range(0, len(records), per_file):
            write_kcat(folder / "dump" / f"{start:06}.jsonl", records[start : start + per_file])
        with open_dump([str(folder / "dump")], ReadOptions()) as dump:
            return inspect_dump(spark, dump, folder / "work", Expectations())

    return run


@pytest.fixture
def many_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexing, "SMALLEST_SPLIT_BYTES", 1)


def sent(keys: list[bytes], name: str, count: int) -> list[tuple[bytes, int]]:
    return list(zip(keys, partitions_of(keys, BY_NAME[name], count), strict=True))


def as_records(sends: list[tuple[bytes, int]]) -> list[Record]:
    """Records in the order sent, a second apart."""
    ends: dict[int, int] = defaultdict(int)
    records = []
    for at, (key, partition) in enumerate(sends):
        records.append(record(key, "v", offset=ends[partition], partition=partition, timestamp_ms=1000 * at))
        ends[partition] += 1
    return records


def facts_of(inspection: Inspection, partition: int = 0) -> LogFacts:
    return next(log for log in inspection.logs if log.partition == partition)


def codes(inspection: Inspection) -> set[str]:
    return {finding.code for finding in inspection.findings}


ODD = [
    record("a", "1", offset=10, timestamp_ms=5 * HOUR_MS),
    record("a", "", offset=11, timestamp_ms=3 * HOUR_MS),
    record("b", "null", offset=12, timestamp_ms=3 * HOUR_MS),
    tombstone("b", offset=14, timestamp_ms=4 * HOUR_MS),
    record(None, "keyless", offset=15, timestamp_ms=4 * HOUR_MS),
    record("c", "x" * 500, offset=20, timestamp_ms=100 * HOUR_MS),
]


def test_the_facts_of_a_log(inspect: Inspect) -> None:
    inspection = inspect(ODD)
    log = facts_of(inspection)

    assert (log.end_minus_begin, log.records, log.first_offset, log.last_offset) == (11, 6, 10, 20)
    assert (log.keys, log.live_keys, log.deleted_keys, log.single_record_keys) == (3, 2, 1, 1)
    assert (log.values.present, log.values.null, log.values.empty, log.values.word_null) == (3, 1, 1, 1)
    assert (log.null_keys, log.null_key_offsets, log.tombstones, log.late_keys) == (1, [15], 1, 1)
    assert (log.min_timestamp_ms, log.max_timestamp_ms) == (3 * HOUR_MS, 100 * HOUR_MS)
    assert log.tombstone_ages == {"under 7 days": 1}
    assert [(gap.first_offset, gap.last_offset) for gap in log.gaps.longest] == [(16, 19), (13, 13)]
    assert (log.gaps.count, log.gaps.missing_offsets, log.gaps.single_offset_gaps) == (2, 5, 1)
    assert sum(part.new_keys for part in log.slices) == 3
    assert sum(part.records for part in log.slices) == 6
    assert (inspection.largest_records[0].offset, inspection.largest_records[0].key) == (20, b"c")
    assert codes(inspection) == {"null-keys", "word-null", "empty-values", "late-keys", "gaps"}
    assert inspection.verdict.startswith("6 records, 2 live of 3 keys in 1 partition; ")


def test_the_dedupe_buffer_of_few_keys_is_the_smallest_that_a_broker_takes(inspect: Inspect) -> None:
    """``CleanerConfig`` refuses a buffer of 1 MiB a thread and less."""
    inspection = inspect([record(f"k{at}", "v", offset=at) for at in range(9)])
    assert facts_of(inspection).dedupe_buffer_bytes == (1 << 20) + 1


def test_a_log_without_keys_fits_into_the_smallest_buffer(inspect: Inspect) -> None:
    inspection = inspect([record(None, "v", offset=0)])
    assert facts_of(inspection).dedupe_buffer_bytes == (1 << 20) + 1
    assert codes(inspection) == {"null-keys"}


def test_overlapping_files_show_as_repeated_offsets(inspect: Inspect) -> None:
    records = [record(f"k{at}", "v", offset=at) for at in range(4)]
    inspection = inspect([*records, *records[2:]])

    assert facts_of(inspection).repeated_offsets == 2
    assert not facts_of(inspection).in_offset_order
    assert {"repeated-offsets", "offset-order"} <= codes(inspection)


def test_a_key_deleted_in_one_partition_and_alive_in_another_is_named(inspect: Inspect) -> None:
    inspection = inspect(
        [
            record("moved", "old", offset=0, partition=0, timestamp_ms=1),
            record("moved", "new", offset=0, partition=1, timestamp_ms=2),
            record("gone", "old", offset=1, partition=0, timestamp_ms=3),
            tombstone("gone", offset=1, partition=1, timestamp_ms=4),
            record("back", "new", offset=2, partition=0, timestamp_ms=9),
            tombstone("back", offset=2, partition=1, timestamp_ms=5),
            record("home", "v", offset=3, partition=0, timestamp_ms=6),
        ]
    )
    topic = inspection.topics[0]

    assert (topic.shared_keys, topic.severe_keys) == (3, 1)
    assert topic.newest_by_partition == {0: 1, 1: 2}
    assert [shared.key for shared in topic.shared_key_examples] == [b"gone", b"back", b"moved"]
    gone = topic.shared_key_examples[0]
    assert gone.severe
    assert [(place.is_tombstone, place.is_newest) for place in gone.places] == [(False, False), (True, True)]
    assert {"deleted-elsewhere", "cross-partition-keys"} <= codes(inspection)


def test_lookalike_keys_are_told_by_what_they_differ_by(inspect: Inspect) -> None:
    keys = [
        b"\0\0\0\0\x01id-1",
        b"\0\0\0\0\x02id-1",
        b'{"a":1,"b":2}',
        b'{"b": 2, "a": 1}',
        b"plain",
        b"plain ",
        b"alone",
        b"\0\0\0\0\0\0\0\x2a",  # a long
        b"\0\0\0\0\x01\0\0\x2a",  # another long
        b'{"a":' * 300 + b"1" + b"}" * 300,  # deeper than some writers of JSON go
    ]
    inspection = inspect([record(key, "v", offset=at, partition=at % 2) for at, key in enumerate(keys)])

    assert inspection.topics[0].lookalike_keys == {
        "a schema id": 2,
        "JSON field order or blanks": 2,
        "blanks at the ends": 2,
    }
    assert len(inspection.topics[0].lookalike_examples) == 3


@pytest.mark.parametrize("per_file", [1, 1_000_000])
@pytest.mark.usefixtures("many_tasks")
def test_each_topic_has_its_own_examples_however_its_records_are_spread(
    inspect: Inspect, per_file: int
) -> None:
    """Of both topics the smallest keys, as ``sorted`` has them, with as many lookalikes."""
    spelt = [[f" k{at}".encode(), f"k{at}".encode()] for at in range(9)]
    records = [
        record(key, "v", offset=at, partition=partition, topic=topic)
        for topic, pairs in (("first", spelt), ("second", spelt[3:6]))
        for partition in (0, 1)
        for at, key in enumerate(key for pair in reversed(pairs) for key in pair)
    ]
    first, second = inspect(records, per_file).topics

    assert [shared.key for shared in first.shared_key_examples] == sorted(chain(*spelt))[:5]
    assert [shared.key for shared in second.shared_key_examples] == sorted(chain(*spelt[3:6]))[:5]
    assert [list(example.keys) for example in first.lookalike_examples] == spelt[:5]
    assert [list(example.keys) for example in second.lookalike_examples] == spelt[3:6]


def test_deletes_that_the_exporter_lost(inspect: Inspect) -> None:
    event = '{"before":{"id":1},"after":null,"op":"d"}'
    inspection = inspect([record("row-1", event, offset=0), record("row-2", "{}", offset=9)])

    assert facts_of(inspection).unmarked_delete_keys == 1
    assert {"unmarked-deletes", "no-tombstones"} <= codes(inspection)
    followed = inspect([record("row-1", event, offset=0), tombstone("row-1", offset=1)])
    assert facts_of(followed).delete_events == 1
    assert not {"unmarked-deletes", "no-tombstones"} & codes(followed)


@pytest.mark.usefixtures("many_tasks")
def test_a_dump_without_any_key(inspect: Inspect) -> None:
    inspection = inspect([record(None, "v", offset=at) for at in range(4)], per_file=2)

    assert (facts_of(inspection).records, facts_of(inspection).keys, facts_of(inspection).null_keys) == (
        4,
        0,
        4,
    )
    assert inspection.topics[0].placement.kind == "too_few"


@pytest.mark.usefixtures("many_tasks")
@pytest.mark.parametrize("name", ["murmur2", "crc32", "fnv1a"])
def test_the_cause_of_a_raised_partition_count_is_named_over_many_tasks(inspect: Inspect, name: str) -> None:
    keys = [f"user-{at}".encode() for at in range(150)]
    inspection = inspect(as_records(sent(keys, name, 4) + sent(keys, name, 6)), per_file=100)
    topic = inspection.topics[0]

    assert topic.placement.kind == "changed"
    assert [(placed.partitioner, placed.partitions) for placed in topic.placement.placed][1] == (name, 6)
    assert "raised from 4 to 6" in topic.placement.text
    moved = sum(a != b for a, b in zip(sent(keys, name, 4), sent(keys, name, 6), strict=True))
    assert topic.shared_keys == moved


RECORDS = st.lists(
    st.builds(
        lambda key, value, partition, when: (key, value, partition, when),
        st.sampled_from([None, b"", b"a", b"b", b" b", b"c\xff", b'{"x":1}', b'{"x": 1}']),
        st.sampled_from([None, b"", b"null", b"value"]),
        st.integers(0, 2),
        st.integers(0, 50),
    ),
    min_size=1,
    max_size=40,
)


@pytest.mark.usefixtures("many_tasks")
@settings(max_examples=5, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=RECORDS, seed=st.integers(0, 99))
def test_many_tasks_count_what_plain_python_counts(inspect: Inspect, rows: list[Any], seed: int) -> None:
    ends: dict[int, int] = defaultdict(int)
    records = []
    for key, value, partition, when in rows:
        ends[partition] += 1
        made = record(key, value, offset=ends[partition], partition=partition, timestamp_ms=when * HOUR_MS)
        records.append(made)
    random.Random(seed).shuffle(records)

    inspection = inspect(records, per_file=15)

    for log in inspection.logs:
        log_records = sorted((r for r in records if r.partition == log.partition), key=lambda r: r.offset)
        latest = {r.key: r for r in log_records if r.key is not None}
        assert log.records == len(log_records)
        assert log.keys == len(latest)
        assert log.deleted_keys == sum(r.value is None for r in latest.values())
        assert log.null_keys == sum(r.key is None for r in log_records)
        assert log.tombstones == sum(r.value is None and r.key is not None for r in log_records)
        late = {r.key for r in log_records if r.key in latest and r.timestamp_ms > latest[r.key].timestamp_ms}
        assert log.late_keys == len(late)
    per_key = Counter((r.partition, r.key) for r in records if r.key is not None)
    assert sum(bucket.keys for bucket in inspection.records_per_key) == len(per_key)
    assert sum(bucket.records for bucket in inspection.records_per_key) == sum(per_key.values())
    if per_key:
        assert inspection.top_keys_by_records[0].records == max(per_key.values())
    places = Counter(key for _, key in per_key)
    assert inspection.topics[0].shared_keys == sum(count > 1 for count in places.values())
    keys = set(places)
    assert inspection.topics[0].lookalike_keys.get("blanks at the ends", 0) == 2 * ({b"b", b" b"} <= keys)
