"""Files whose records do not say topic, partition or offset: one log, several, or a question."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from dump_pipeline import index_all, open_one, planned
from kcompact.dumps.dump import open_dump
from kcompact.dumps.options import ReadOptions
from kcompact.dumps.writers.targets import with_writers
from kcompact.errors import InputError, OutputError

KAFKACTL = {"Partition": 0, "Headers": {}, "Key": "a", "Value": "v", "Timestamp": "2024-01-01T00:00:00Z"}


def write(folder: Path, names: list[str], record: dict[str, Any]) -> None:
    for number, name in enumerate(names):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        offset = "offset" if "key" in record else "Offset"
        (folder / name).write_text(json.dumps({offset: number} | record) + "\n")


def logs(folder: Path, **options: Any) -> list[tuple[str, int]]:
    with open_one(folder, **options) as dump:
        _, notes = index_all(dump)
    return sorted({(log.topic, log.partition) for split in notes.values() for log in split.logs.values()})


@pytest.mark.parametrize("has_topic", [False, True], ids=["by-name", "in-records"])
@pytest.mark.parametrize(
    "names", [["orders-2-0.csv", "orders-2-1.csv"], ["orders-2-1.csv", "orders-2-0.csv"]]
)
@pytest.mark.parametrize(
    ("folder", "places"),
    [("topic=orders-2", [("orders-2", 0), ("orders-2", 1)]), ("topic=orders", [("orders", 2)])],
)
def test_partitions_of_a_topic_that_ends_in_a_number_are_asked_about(
    tmp_path: Path, names: list[str], folder: str, places: list[tuple[str, int]], *, has_topic: bool
) -> None:
    """They were one partition of another topic, in which keys superseded one another."""
    record = {"key": "a", "value": "v"} | ({"topic": folder.removeprefix("topic=")} if has_topic else {})
    write(tmp_path, names, record)
    with pytest.raises(InputError, match="are they partitions of orders-2, or") as refused:
        logs(tmp_path)
    assert folder in (refused.value.hint or "")
    write(tmp_path / "told" / folder, names, record)
    assert logs(tmp_path / "told") == places


@pytest.mark.parametrize(
    "names",
    [
        ["customers/dump.json", "orders/dump.json"],
        ["customers-p0/dump.json", "orders-p0/dump.json"],
        ["region=de/orders.json", "region=fr/orders.json"],
        ["orders-2024-01-01.json", "orders-2024-01-02.json"],
        ["orders_20240101.json", "orders_20240102.json"],
        ["orders.2024-01-01T1030.json", "orders.2024-01-01T1130.json"],
        ["2024-01-01.json", "2024-01-02.json"],
        ["20240101_orders.json", "20240102_orders.json"],
        ["2024-01-01-orders.json", "2024-01-02-orders.json"],
        ["messages.json", "messages (1).json"],
        ["orders_1.json", "orders_2.json"],
        ["orders.part1.json", "orders.part2.json"],
        ["xaa", "xab"],
        ["x00", "x01"],
        ["orders_aa", "orders_ab"],
        ["orders00.json", "orders01.json"],
        ["orders.aa", "orders.ab"],
        ["orders-2024-W01.json", "orders-2024-W02.json"],
        ["orders-2024Q1.json", "orders-2024Q2.json"],
        ["orders-1704067200000.json", "orders-1704153600000.json"],
        ["orders.old.json", "orders.new.json"],
        ["0.json", "1.json"],
        ["orders-2023.json", "orders-2024.json"],
        ["orders-1706693400.json", "orders-1706693500.json"],
        ["orders-00000000000000000100.json", "orders-00000000000000000200.json"],
        ["orders_p0.json", "orders_p1.json"],
        ["orders-partition0.json", "orders-partition1.json"],
        ["dump1.json", "dump2.json"],
        ["orders.json", "Copy of orders.json"],
        ["orders.json", "orders - Copy.json"],
        ["orders.json", "orders.json.1"],
        ["orders.json", "orders.json.bak"],
        ["orders.json", "orders.json.2024-01-31"],
    ],
)
def test_files_that_may_be_of_one_topic_or_of_two_are_asked_about(names: list[str], tmp_path: Path) -> None:
    write(tmp_path, names, KAFKACTL)
    with pytest.raises(InputError, match="they may be of one or of two") as refused:
        logs(tmp_path)
    write(tmp_path / "bare", names, {"key": "a", "value": "v"})
    with pytest.raises(InputError, match="they may be of one or of two"):
        logs(tmp_path / "bare")
    assert "topic=" in str(refused.value.hint)
    write(tmp_path / "named", [f"topic=t/{name}" for name in names], KAFKACTL)
    assert logs(tmp_path / "named") == [("t", 0)]


def test_the_topic_in_the_hint_is_the_folder_that_differs(tmp_path: Path) -> None:
    write(tmp_path, ["orders/messages.json", "payments/messages.json"], KAFKACTL)
    with pytest.raises(InputError) as refused:
        logs(tmp_path)
    assert "such as topic=NAME/ " in str(refused.value.hint)


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["dt=2024-01-01/orders.json", "dt=2024-01-02/orders.json"], [("orders", 0)]),
        (["2024/01/31/orders.json", "2024/02/01/orders.json"], [("orders", 0)]),
        (["orders.json", "customers.json"], [("customers", 0), ("orders", 0)]),
        (["orders.v1.json", "orders.v2.json"], [("orders.v1", 0), ("orders.v2", 0)]),
        (["topic=a/dump.json", "topic=b/dump.json"], [("a", 0), ("b", 0)]),
        (["orders-2024-01-01.json"], [("orders-2024-01-01", 0)]),
    ],
)
def test_names_that_tell_topics_apart_are_not(
    names: list[str], expected: list[tuple[str, int]], tmp_path: Path
) -> None:
    write(tmp_path, names, KAFKACTL)
    assert logs(tmp_path) == expected


def test_folders_that_may_be_partitions_are_asked_about(tmp_path: Path) -> None:
    record = {"topic": "t", "key": "a", "value": "v"}
    write(tmp_path / "bare", ["0/x.json", "1/x.json"], record)
    with pytest.raises(InputError, match="are 0 and 1 partitions"):
        logs(tmp_path / "bare")
    write(tmp_path / "named", ["partition=0/x.json", "partition=1/x.json"], record)
    assert logs(tmp_path / "named") == [("t", 0), ("t", 1)]


@pytest.mark.parametrize("name", ["kafka_partition", "_partition", "Partition", "partition_id", "p"])
def test_folders_by_a_column_that_may_be_the_partition_are_asked_about(tmp_path: Path, name: str) -> None:
    """As ``partitionBy`` of Spark and DuckDB writes them: their keys superseded one another."""
    write(tmp_path, [f"{name}=10/x.json", f"{name}=11/x.json"], {"topic": "t", "key": "a", "value": "v"})
    with pytest.raises(InputError, match=f"are {name}=10 and {name}=11 partitions") as refused:
        logs(tmp_path)
    assert "folders partition=10/" in (refused.value.hint or "")


@pytest.mark.parametrize("has_topic", [False, True], ids=["by-name", "in-records"])
@pytest.mark.parametrize(
    "names",
    [
        ["0.json", "1.json"],
        ["p0.json", "p1.json"],
        ["orders-p9.json", "orders-p10.json"],
        ["orders.partition=0.json", "orders.partition=1.json"],
        ["a.json", "partition_3/x.json", "partition_4/x.json"],
        ["p0/x.json", "p1/x.json"],
        ["10/x.json", "11/x.json"],
        ["2024-01-31/0.json", "2024-02-01/1.json"],
    ],
)
def test_names_that_may_be_partitions_are_asked_about(
    tmp_path: Path, names: list[str], *, has_topic: bool
) -> None:
    """All were partition 0, where keys of one superseded those of another."""
    record = {"key": "a", "value": "v"} | ({"topic": "orders"} if has_topic else {})
    write(tmp_path / "topic=orders", names, record)
    with pytest.raises(InputError, match=r"are \S+ and \S+ partitions\?") as refused:
        logs(tmp_path)
    number = re.findall("[0-9]+", names[-2])[-1]
    assert f"below folders partition={number}/" in (refused.value.hint or "")


@pytest.mark.parametrize(
    "names",
    [
        ["part-00000-a.json", "part-00001-a.json"],
        ["orders_1.json", "orders_2.json"],
        ["000000000000.json", "000000000001.json"],
        ["20240131.json", "20240201.json"],
        ["2024/01/10/x.json", "2024/01/11/x.json"],
    ],
)
def test_names_that_count_files_are_not(tmp_path: Path, names: list[str]) -> None:
    write(tmp_path / "topic=orders", names, {"key": "a", "value": "v"})
    assert logs(tmp_path) == [("orders", 0)]


@pytest.mark.parametrize(
    "names", [["orders-1.json", "orders.json"], ["partition_1.json", "partition_any.json"]]
)
def test_a_file_whose_name_says_no_partition_is_asked_about_beside_others(
    tmp_path: Path, names: list[str]
) -> None:
    write(tmp_path / "orders", names, {"key": "a", "value": "v"})
    with pytest.raises(
        InputError, match=f"{names[1]}: no partition in the records or in its name"
    ) as refused:
        logs(tmp_path)
    assert f"put {names[1]} below topic=orders/partition=0/" in (refused.value.hint or "")
    write(
        tmp_path / "told/orders",
        [names[0], f"topic=orders/partition=0/{names[1]}"],
        {"key": "a", "value": "v"},
    )
    assert logs(tmp_path / "told") == [("orders", 0), ("orders", 1)]


@pytest.mark.parametrize(
    ("names", "topics"),
    [
        (["eu-1.orders.json", "eu-1.customers.json"], {"eu-1.orders", "eu-1.customers"}),
        (["eu-1.orders", "eu-1.customers"], {"eu-1.orders", "eu-1.customers"}),
        (["orders-0.v1.json", "orders-0.v2.json"], {"orders-0.v1", "orders-0.v2"}),
        (["orders-0.snappy.json", "orders-1.json"], {"orders"}),
        (["orders-0.ndj", "orders-1.jsonlines"], {"orders"}),
    ],
)
def test_words_behind_a_number_belong_to_the_topic(
    tmp_path: Path, names: list[str], topics: set[str]
) -> None:
    """Two topics were one log of ``eu``, where keys of one superseded those of the other."""
    write(tmp_path, names, {"key": "a", "value": "v"})
    assert {topic for topic, _ in logs(tmp_path)} == topics
    assert len(logs(tmp_path)) == 2


def test_a_topic_may_begin_with_a_dash(tmp_path: Path) -> None:
    write(tmp_path, ["-orders-1.json"], {"key": "a", "value": "v"})
    assert logs(tmp_path) == [("-orders", 1)]


@pytest.mark.parametrize("name", ["orders-2024-01-01.json", "orders-20240101.json", "orders-2024-01.json"])
def test_a_date_is_no_partition(name: str, tmp_path: Path) -> None:
    write(tmp_path, [name], {"key": "a", "value": "v"})
    assert logs(tmp_path) == [(name.removesuffix(".json"), 0)]


def rows(folder: Path, *names: str) -> Path:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text('{"id":"a","v":1}\n{"id":"b","v":2}\n')
    return folder


def test_files_that_a_sink_wrote_at_the_same_time_are_refused(tmp_path: Path) -> None:
    names = "country=DE/orders+0+0000000000.json", "country=FR/orders+0+0000000003.json"
    with pytest.raises(InputError, match="written at the same time") as refused:
        open_one(rows(tmp_path, *names), key_fields=("id",))
    assert "offset.field=_kafka_offset" in str(refused.value.hint)


@pytest.mark.parametrize("hours", [("hour=01", "hour=02"), ("dt=2024-01-01", "dt=2024-01-02")])
def test_folders_by_time_are_noted(hours: tuple[str, str], tmp_path: Path) -> None:
    names = [f"orders/{hour}/orders+0+000000000{number}.json" for number, hour in enumerate(hours)]
    with open_one(rows(tmp_path, *names), key_fields=("id",)) as dump:
        assert sum("where the sink put records there by its own clock" in note for note in dump.notes) == 1


def test_the_note_on_folders_by_time_counts_all_files_of_the_log(tmp_path: Path) -> None:
    names = [
        f"orders/dt=2024-01-0{day}/orders+0+000000000{start}.json" for day, start in ("10", "12", "24", "26")
    ]
    with open_dump([str(rows(tmp_path, *names))], ReadOptions(key_fields=("id",))) as dump:
        assert [note[:9] for note in dump.notes if "own clock" in note] == ["4 files ("]


def test_files_of_a_log_in_one_folder_go_by_their_names(tmp_path: Path) -> None:
    names = [f"topics/orders/partition=0/orders+0+000000000{start}.json" for start in (0, 2)]
    rows(tmp_path, *names, "topics/orders/partition=1/orders+1+0000000000.json")
    with open_dump([str(tmp_path)], ReadOptions(key_fields=("id",))) as dump:
        assert not any("own clock" in note for note in dump.notes)
        assert [file.start_offset for file in dump.files] == [0, 2, 0]


@pytest.mark.parametrize(
    ("topics", "about"),
    [(3, "dump/b.json: no topic in the records; by its name: b"), (4, "by its name: a, b, c, ...")],
)
def test_topics_of_many_files_are_noted_once(topics: int, about: str, tmp_path: Path) -> None:
    names = [f"dump/{topic}.json" for topic in "abcd"[:topics]]
    write(tmp_path, names, KAFKACTL)
    with open_one(tmp_path / "dump") as dump:
        notes = [note for note in dump.notes if "no topic in the records" in note]
    assert len(notes) == (topics if topics <= 3 else 1)
    assert sum(note.endswith(about) for note in notes) == 1
    assert [note.startswith("4 files (") for note in notes] == [topics > 3] * len(notes)


BARE = {"key": "a", "value": "v"}  # and an offset: neither topic nor partition


@pytest.mark.parametrize(
    ("names", "record", "expected"),
    [
        (["topic=a/part-00000.json", "topic=b/part-00000.json"], BARE, [("a", 0), ("b", 0)]),
        (["topic=a/dump-1.json", "topic=b/dump-1.json"], BARE, [("a", 1), ("b", 1)]),
        (["topic=a/partition=0/part-0.json", "topic=a/partition=1/part-0.json"], BARE, [("a", 0), ("a", 1)]),
        (["topic=a/partition=2/a-0.json"], BARE, [("a", 2)]),
        (["topic=a/partition=0/part-0-9333-444455556666.c000.json"], BARE, [("a", 0)]),
        (["a/dt=2024-01-01/part-0-x.json", "b/dt=2024-01-01/part-0-y.json"], KAFKACTL, [("a", 0), ("b", 0)]),
        (["a/dt=2024-01-01/part-0.json", "a/dt=2024-01-02/part-0.json"], KAFKACTL, [("a", 0)]),
        (["a/2024-01-01/part-0.json", "a/2024-01-02/part-0.json"], KAFKACTL, [("a", 0)]),
        (["a/partition-0.json", "b/partition-1.json"], KAFKACTL, [("a", 0), ("b", 0)]),
        (["orders-0.json", "orders-1.json"], BARE, [("orders", 0), ("orders", 1)]),
        (["a/orders-00000-of-00002.json", "a/orders-00001-of-00002.json"], KAFKACTL, [("orders", 0)]),
        (["a/orders-00001-of-00002.json"], BARE, [("orders", 0)]),
        (["a/0/17_1_2.json", "a/1/17_1_2.json"], BARE, [("a", 0), ("a", 1)]),
        (["a/0/0000000000000000070.jsonl", "a/1/0000000000000000000.jsonl"], BARE, [("a", 0), ("a", 1)]),
    ],
)
def test_folders_count_before_names(
    names: list[str], record: dict[str, Any], expected: list[tuple[str, int]], tmp_path: Path
) -> None:
    write(tmp_path, names, record)
    assert logs(tmp_path) == expected


@pytest.mark.parametrize(
    "names",
    [
        ["customers/dump-0.json", "orders/dump-0.json"],
        ["prod/orders-0.json", "staging/orders-0.json"],
        ["orders-2024-01-01-0.json", "orders-2024-01-01-1.json"],
        ["orders-20240101-0.json", "orders-20240102-0.json"],
        ["prod/orders/part-0.json", "test/orders/part-0.json"],
    ],
)
def test_names_with_numbers_are_as_doubtful(names: list[str], tmp_path: Path) -> None:
    write(tmp_path, names, BARE)
    with pytest.raises(InputError, match="they may be of one or of two"):
        logs(tmp_path)


def test_logs_that_names_alone_tell_are_not_copied_into_one_file(tmp_path: Path) -> None:
    write(tmp_path, ["orders.json", "customers.json"], KAFKACTL)
    with open_one(tmp_path) as dump:
        plan = planned(dump, [str(tmp_path)], tmp_path / "out.json")
        with pytest.raises(OutputError, match="in one file nobody could tell them apart"):
            with_writers(plan, None)
        assert with_writers(plan, "jsonl").targets[0].writer is not None
    write(tmp_path / "one", ["topic=t/a.json", "topic=t/b.json"], KAFKACTL)
    with open_one(tmp_path / "one") as dump:
        with_writers(planned(dump, [str(tmp_path / "one")], tmp_path / "out.json"), None)


def test_the_first_offset_is_in_the_name_that_quixstreams_gives(tmp_path: Path) -> None:
    (tmp_path / "a/0").mkdir(parents=True)
    for start in (70, 90):
        (tmp_path / f"a/0/{start:019}.jsonl").write_text('{"_timestamp":1,"_key":"a","_value":{}}\n')
    with open_one(tmp_path) as dump:
        assert [file.start_offset for file in dump.files] == [70, 90]
        assert any("counted on from the one in the file's name, so gaps do not show" in n for n in dump.notes)


def test_numbers_in_no_folder_of_a_partition_are_no_topics(tmp_path: Path) -> None:
    write(tmp_path, [f"orders/{start:019}.json" for start in (0, 70)], KAFKACTL)
    with pytest.raises(InputError, match="they may be of one or of two"):
        logs(tmp_path)
    write(tmp_path / "in", [f"orders/0/{start:019}.json" for start in (0, 70)], KAFKACTL)
    assert logs(tmp_path / "in") == [("orders", 0)]


def test_a_time_in_nanoseconds_is_no_offset(tmp_path: Path) -> None:
    write(tmp_path, ["orders/2024/1735689600000000000.json", "orders/2025/1767225600000000000.json"], BARE)
    with pytest.raises(InputError, match="they may be of one or of two"):
        logs(tmp_path)


def test_the_order_of_shards_is_unknown(tmp_path: Path) -> None:
    """Beam distributes records over them."""
    for shard in (0, 1):
        (tmp_path / f"orders-0000{shard}-of-00002.json").write_text('{"key":"a","value":"v"}\n')
    with pytest.raises(InputError, match="which file is the later one"):
        logs(tmp_path)


def test_folders_that_may_be_partitions_are_asked_about_before_an_order(tmp_path: Path) -> None:
    """To join their files, as where no order is known, would mix the keys of partitions."""
    for partition in (0, 1):
        (tmp_path / f"orders/{partition}").mkdir(parents=True)
        (tmp_path / f"orders/{partition}/x.json").write_text('{"key":"a","value":"v"}\n')
    with pytest.raises(InputError, match="are 0 and 1 partitions"):
        logs(tmp_path)


def test_folders_of_numbers_are_of_one_topic(tmp_path: Path) -> None:
    write(tmp_path, ["orders/0/dump.json", "orders/1/dump.json"], KAFKACTL)
    assert logs(tmp_path) == [("dump", 0)]  # whose partition each record has
