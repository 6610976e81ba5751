import pytest

from kcompact.broker.configs import parse_config


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("cleanup.policy", "compact, delete", frozenset({"compact", "delete"})),
        ("min.cleanable.dirty.ratio", "0.5", 0.5),
        ("min.cleanable.dirty.ratio", "1", 1.0),
        ("segment.bytes", "64MiB", 67108864),
        ("segment.bytes", "14", 14),
        ("segment.ms", "7d", 604800000),
        ("retention.ms", "-1", -1),
        ("max.compaction.lag.ms", "9223372036854775807", 9223372036854775807),
        ("log.cleaner.dedupe.buffer.size", "1048577", 1048577),
    ],
)
def test_a_value_that_a_broker_accepts_is_read(name: str, text: str, expected: object) -> None:
    assert parse_config(name, text) == expected


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("cleanup.policy", "compacted", "compact, delete"),
        ("cleanup.policy", "", "compact, delete"),
        ("min.cleanable.dirty.ratio", "1.01", "from 0 to 1"),
        ("min.cleanable.dirty.ratio", "nan", "from 0 to 1"),
        ("min.compaction.lag.ms", "-1", "from 0 to 9223372036854775807"),
        ("max.compaction.lag.ms", "0", "from 1 to"),
        ("max.compaction.lag.ms", "9223372036854775808", "9223372036854775807"),
        ("segment.bytes", "13", "from 14 to 2147483647"),
        ("segment.bytes", "2GiB", "from 14 to 2147483647"),
        ("segment.ms", "soon", "7d"),
        ("retention.ms", "-2", "from -1 to"),
        ("message.timestamp.type", "createtime", "CreateTime, LogAppendTime"),
        ("log.cleaner.threads", "0", "from 1 to"),
        ("log.cleaner.dedupe.buffer.size", "1048576", "from 1048577 to"),
    ],
)
def test_an_impossible_value_is_refused_with_its_range(name: str, text: str, message: str) -> None:
    with pytest.raises(ValueError, match=name) as refusal:
        parse_config(name, text)
    assert message in str(refusal.value)
