from dataclasses import fields
from pathlib import Path

import pytest

from kcompact.broker.configs import CONFIGS
from kcompact.errors import PolicyError
from kcompact.options.policy_options import (
    Policies,
    PolicyOptions,
    config_name,
    policies_for,
)
from kcompact.rules.policy import Policy, require_retention

# What no config says: asked for by options of single commands.
NOT_CONFIGS = {"rounds", "respect_dirty_ratio", "drop_tombstones", "null_keys", "now_ms"}
FROM_FILES_ONLY = {
    *("segment_index_bytes", "index_interval_bytes", "message_timestamp_type"),
    "producer_id_expiration_ms",
}


def policies(**options: object) -> Policies:
    return policies_for(PolicyOptions(**options), Policy(now_ms=5))  # type: ignore[arg-type]  # of many types


def test_options_are_the_fields_of_the_policy() -> None:
    options = {option.name for option in fields(PolicyOptions)} - {"topic_config"}
    assert options | FROM_FILES_ONLY == {f.name for f in fields(Policy)} - NOT_CONFIGS


def test_every_config_reaches_the_policy() -> None:
    known = {config_name(policy_field.name) for policy_field in fields(Policy)}
    assert CONFIGS.keys() - known == {"internal.segment.bytes"}


def test_an_option_beats_a_topic_s_file_which_beats_a_file_for_all(tmp_path: Path) -> None:
    (tmp_path / "all").write_text("segment.ms=1\nmin.compaction.lag.ms=1\nsegment.bytes=2000000\n")
    (tmp_path / "orders").write_text("segment.ms=2\nmin.compaction.lag.ms=2\n")
    topic_policies = policies(
        topic_config=[f"orders={tmp_path / 'orders'}", str(tmp_path / "all")], min_compaction_lag_ms="3s"
    )
    orders, users = topic_policies.for_topic("orders"), topic_policies.for_topic("users")
    assert (orders.segment_ms, orders.min_compaction_lag_ms, orders.segment_bytes) == (2, 3000, 2000000)
    assert (users.segment_ms, users.min_compaction_lag_ms, users.segment_bytes) == (1, 3000, 2000000)
    assert orders.now_ms == 5


def test_nothing_given_leaves_kafka_s_defaults_and_one_closed_segment_per_record() -> None:
    assert policies().for_topic("orders") == Policy(now_ms=5)


def test_retention_that_no_policy_asks_for_is_noted() -> None:
    no_delete = policies(retention_ms="1h", retention_bytes="5")
    assert [note.partition(" has no effect")[0] for note in no_delete.notes] == [
        "--retention-ms",
        "--retention-bytes",
    ]
    assert policies(retention_ms="1h", cleanup_policy="compact,delete").notes == []


def test_a_describe_text_applies_to_the_topic_it_names(tmp_path: Path) -> None:
    path = tmp_path / "describe.txt"
    path.write_text("Topic: a\tPartitionCount: 1\tConfigs: segment.ms=7\n")
    topic_policies = policies(topic_config=[str(path)])
    assert (topic_policies.for_topic("a").segment_ms, topic_policies.for_topic("b").segment_ms) == (7, None)
    assert policies(topic_config=[f"a={path}"]).for_topic("a").segment_ms == 7
    with pytest.raises(PolicyError, match="describes a, not b"):
        policies(topic_config=[f"b={path}"])


def test_a_file_about_a_topic_tells_its_lag_even_if_it_lists_none(tmp_path: Path) -> None:
    config = tmp_path / "topic.properties"
    config.write_text("cleanup.policy=compact\n")
    lag = "min.compaction.lag.ms"

    def names(topic: str, *files: str) -> frozenset[str]:
        return policies(topic_config=list(files)).config_names_for(topic)

    assert names("orders", str(config)) == names("orders", f"orders={config}") == {"cleanup.policy", lag}
    assert names("others", f"orders={config}") == names("orders") == set()


def test_a_file_about_topics_that_are_not_in_the_dump_is_noted(tmp_path: Path) -> None:
    path = tmp_path / "describe.txt"
    path.write_text("Topic: a\tPartitionCount: 1\tConfigs: segment.ms=7\n")
    topic_policies = policies(topic_config=[str(path)])
    assert set(topic_policies.for_topics(["b"])) == {"b"}
    assert topic_policies.notes == ["--topic-config is about a: not in the dump"]


def test_an_impossible_option_is_refused_with_its_name_and_range() -> None:
    with pytest.raises(PolicyError, match=r"--min-cleanable-dirty-ratio: .*from 0 to 1"):
        policies(min_cleanable_dirty_ratio="1.5")


def test_a_minimum_lag_above_the_maximum_lag_is_refused_naming_both_places(tmp_path: Path) -> None:
    path = tmp_path / "topic.properties"
    path.write_text("cleanup.policy=compact\nmax.compaction.lag.ms=1000\n")
    with pytest.raises(PolicyError) as refusal:
        policies(topic_config=[str(path)], min_compaction_lag_ms="1001").for_topic("orders")
    assert "--min-compaction-lag-ms" in refusal.value.message
    assert f"{path}:2" in refusal.value.message


def test_a_dedupe_buffer_that_threads_share_too_thinly_is_refused() -> None:
    policies(log_cleaner_dedupe_buffer_size="2097154", log_cleaner_threads="2").for_topic("t")
    with pytest.raises(PolicyError, match="each of 2 cleaner threads 1048576 bytes"):
        policies(log_cleaner_dedupe_buffer_size="2097153", log_cleaner_threads="2").for_topic("t")
    with pytest.raises(PolicyError, match="room for 0 keys"):
        policies(
            log_cleaner_dedupe_buffer_size="1048577", log_cleaner_io_buffer_load_factor="0.000001"
        ).for_topic("t")


@pytest.mark.parametrize("factor", ["0", "1e-300", "-0.5", "1.5", "nan"])
def test_a_load_factor_that_leaves_no_room_for_a_key_or_more_than_there_is_is_refused(factor: str) -> None:
    with pytest.raises(PolicyError, match=r"log\.cleaner\.io\.buffer\.load\.factor"):
        policies(log_cleaner_io_buffer_load_factor=factor).for_topic("t")


def test_segments_below_one_mebibyte_are_noted_when_asked_for_by_option() -> None:
    assert policies(segment_bytes="1MiB").notes == []
    assert "Kafka 4.1" in policies(segment_bytes="1000").notes[0]


def test_delete_without_retention_is_refused() -> None:
    require_retention("t", Policy())
    require_retention("t", Policy(cleanup_policy=frozenset({"delete"}), retention_ms=-1))
    with pytest.raises(PolicyError, match=r"neither retention.ms nor retention.bytes"):
        require_retention("t", Policy(cleanup_policy=frozenset({"compact", "delete"})))
