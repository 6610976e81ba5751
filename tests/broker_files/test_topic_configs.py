from collections.abc import Callable
from pathlib import Path

import pytest

from kcompact.broker.topic_configs import read_topic_configs
from kcompact.errors import PolicyError

GOLDEN = Path(__file__).parents[1] / "golden"


def values(path: Path) -> dict[str | None, dict[str, object]]:
    configs = read_topic_configs(str(path))
    return {t: {n: entry.value for n, entry in e.items()} for t, e in configs.by_topic.items()}


Write = Callable[[str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(text: str) -> Path:
        path = tmp_path / "topic.txt"
        path.write_text(text)
        return path

    return write


def test_a_properties_file_speaks_for_every_topic(write: Write) -> None:
    path = write("# ours\n! too\n\ncleanup.policy = compact,\\\n   delete\nretention.ms: 7d\nflush.ms=1\n")
    assert values(path) == {
        None: {"cleanup.policy": frozenset({"compact", "delete"}), "retention.ms": 604800000}
    }
    assert read_topic_configs(str(path)).notes == []


def test_kafka_configs_describe_speaks_for_the_topic_it_names() -> None:
    assert values(GOLDEN / "w01-upserts/topic.describe.txt") == {
        "w01": {"cleanup.policy": frozenset({"compact"}), "segment.ms": 600000}
    }


def test_kafka_configs_describe_all_is_read_without_a_note() -> None:
    path = GOLDEN / "w01-upserts/topic.describe-all.txt"
    assert values(path)["w01"] == {
        "cleanup.policy": frozenset({"compact"}),
        "delete.retention.ms": 86400000,
        "index.interval.bytes": 4096,
        "max.compaction.lag.ms": 9223372036854775807,
        "message.timestamp.type": "CreateTime",
        "min.cleanable.dirty.ratio": 0.5,
        "min.compaction.lag.ms": 0,
        "retention.bytes": -1,
        "retention.ms": 604800000,
        "segment.bytes": 1073741824,
        "segment.index.bytes": 10485760,
        "segment.ms": 600000,
    }
    assert read_topic_configs(str(path)).notes == []


def test_internal_segment_bytes_takes_the_place_of_segment_bytes(write: Write) -> None:
    assert values(GOLDEN / "w34-delayed-but-uncleanable/topic.describe.txt")["w34"]["segment.bytes"] == 2000
    assert values(write("internal.segment.bytes=2000\nsegment.bytes=1048576\n")) == {
        None: {"segment.bytes": 2000}
    }


def test_kafka_topics_describe_is_read_in_its_new_and_old_shape(write: Write) -> None:
    path = write(
        "Topic: orders\tTopicId: mm9kqAtkTDWJc6TtQ7kfaA\tPartitionCount: 2\tReplicationFactor: 1\t"
        "Configs: cleanup.policy=compact,delete,segment.bytes=1048576\n"
        "\tTopic: orders\tPartition: 0\tLeader: 1\tReplicas: 1\tIsr: 1\tElr: \tLastKnownElr: \n"
        "Topic:users\tPartitionCount:1\tReplicationFactor:1\tConfigs:cleanup.policy=compact\n"
        "\tTopic: users\tPartition: 0\tLeader: 1\tReplicas: 1\tIsr: 1\n"
        "Topic: plain\tPartitionCount: 1\tReplicationFactor: 1\tConfigs: \n"
    )
    assert values(path) == {
        "orders": {"cleanup.policy": frozenset({"compact", "delete"}), "segment.bytes": 1048576},
        "users": {"cleanup.policy": frozenset({"compact"})},
    }


def test_kafka_configs_before_2_5_prints_all_on_one_line(write: Write) -> None:
    path = write("Configs for topic 'orders' are cleanup.policy=compact,delete,retention.ms=1000\n")
    assert values(path) == {
        "orders": {"cleanup.policy": frozenset({"compact", "delete"}), "retention.ms": 1000}
    }


def test_what_kafka_configs_says_of_a_broker_holds_for_every_topic(write: Write) -> None:
    path = write(
        "Dynamic configs for broker 1 are:\n"
        "  log.cleaner.threads=2 sensitive=false synonyms={DYNAMIC_BROKER_CONFIG:log.cleaner.threads=2}\n"
        "Default configs for brokers in the cluster are:\n"
        "  log.cleaner.dedupe.buffer.size=268435456 sensitive=false synonyms={}\n"
    )
    assert values(path) == {None: {"log.cleaner.threads": 2, "log.cleaner.dedupe.buffer.size": 268435456}}


def test_a_server_properties_file_makes_one_short_note(write: Write) -> None:
    names = [f"some.thing.{number}" for number in range(20)]
    path = write("log.cleaner.threads=2\nsegment.byte=1\n" + "".join(f"{name}=x\n" for name in names))
    [note] = read_topic_configs(str(path)).notes
    assert "segment.byte (did you mean segment.bytes?), some.thing.0" in note
    assert note.endswith(" and 15 more")


def test_a_byte_order_mark_hides_no_config(write: Write) -> None:
    assert values(write("\ufeffmin.compaction.lag.ms=7200000\r\n")) == {
        None: {"min.compaction.lag.ms": 7200000}
    }


def test_unknown_names_make_a_note_with_the_likely_name(write: Write) -> None:
    path = write("min.cleanable.dirty.ration=0.1\nlog.dirs=data\nsegment.ms=1000\n")
    configs = read_topic_configs(str(path))
    assert set(configs.by_topic[None]) == {"segment.ms"}
    [note] = configs.notes
    assert "log.dirs" in note
    assert "min.cleanable.dirty.ration (did you mean min.cleanable.dirty.ratio?)" in note


def test_an_impossible_value_names_file_line_and_range(write: Write) -> None:
    path = write("segment.ms=1000\n\nmin.cleanable.dirty.ratio=2\n")
    with pytest.raises(PolicyError) as refusal:
        read_topic_configs(str(path))
    assert f"{path}:3: " in refusal.value.message
    assert "from 0 to 1" in refusal.value.message


@pytest.mark.parametrize(
    "text",
    [
        "cleanup.policy\n",
        "All configs for topic t are:\n  what is this\n",
        '{"segment.ms": "1000", "min.compaction.lag.ms": "1000"}\n',
        '"segment.ms" = "1000"\n',
    ],
)
def test_a_line_that_is_no_config_is_refused(write: Write, text: str) -> None:
    with pytest.raises(PolicyError, match="is not a config"):
        read_topic_configs(str(write(text)))


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*/*topic.properties")), ids=lambda p: p.parent.name)
def test_what_kafka_configs_printed_says_what_the_properties_say(path: Path) -> None:
    described = values(path.with_name(path.name.replace(".properties", ".describe.txt")))
    [configs] = described.values()
    assert {None: configs} == values(path)
    assert set(described) != {None}
