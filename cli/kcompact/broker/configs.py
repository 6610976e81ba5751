"""The configs that matter to cleaning, by Kafka's names, with the values that a broker accepts."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from kcompact.broker.quantities import parse_duration_ms, parse_size_bytes
from kcompact.broker.text_lines import shown
from kcompact.digits import INT_MAX, LONG_MAX

SMALLEST_SEGMENT_BYTES = 1_048_576  # since Kafka 4.1; 14 before
SMALLEST_BUFFER_BYTES_PER_THREAD = 1_048_576  # exclusive (R11)
SMALLEST_LOAD_FACTOR = 1e-07  # with which the largest buffer of a thread, 2 GiB, still has room for 8 keys

ConfigValue = int | float | str | frozenset[str]


@dataclass(frozen=True)
class Config:
    """How one config is read. ``parse`` raises ValueError; ``low`` and ``high`` are allowed values."""

    parse: Callable[[str], ConfigValue]
    low: float = -LONG_MAX - 1
    high: float = LONG_MAX
    words: frozenset[str] = frozenset()  # of a config that takes words instead of a number

    def range_text(self) -> str:
        """The values that are allowed, for messages."""
        if self.words:
            return "one of " + ", ".join(sorted(self.words))
        return f"from {self.low} to {self.high}"


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError as error:
        raise ValueError(f"'{shown(text)}' is not a whole number") from error


def _decimal(text: str) -> float:
    try:
        number = float(text)
    except ValueError as error:
        raise ValueError(f"'{shown(text)}' is not a number") from error
    if not math.isfinite(number):
        raise ValueError(f"'{shown(text)}' is not a number")
    return number


def _words(text: str) -> frozenset[str]:
    return frozenset(word.strip().lower() for word in text.split(","))


def _ms(low: int) -> Config:
    return Config(parse_duration_ms, low, LONG_MAX)


CONFIGS: dict[str, Config] = {
    "cleanup.policy": Config(_words, words=frozenset({"compact", "delete"})),
    "min.cleanable.dirty.ratio": Config(_decimal, 0, 1),
    "min.compaction.lag.ms": _ms(0),
    "max.compaction.lag.ms": _ms(1),
    "delete.retention.ms": _ms(0),
    "segment.bytes": Config(parse_size_bytes, 14, INT_MAX),
    "internal.segment.bytes": Config(parse_size_bytes, 1, INT_MAX),
    "segment.ms": _ms(1),
    "segment.index.bytes": Config(parse_size_bytes, 4, INT_MAX),
    "index.interval.bytes": Config(parse_size_bytes, 0, INT_MAX),
    "retention.ms": _ms(-1),
    "retention.bytes": Config(parse_size_bytes, -LONG_MAX - 1, LONG_MAX),
    "message.timestamp.type": Config(str.strip, words=frozenset({"CreateTime", "LogAppendTime"})),
    "producer.id.expiration.ms": _ms(1),
    "log.cleaner.threads": Config(_whole, 1, INT_MAX),
    "log.cleaner.dedupe.buffer.size": Config(
        parse_size_bytes, SMALLEST_BUFFER_BYTES_PER_THREAD + 1, LONG_MAX
    ),
    "log.cleaner.io.buffer.load.factor": Config(_decimal, SMALLEST_LOAD_FACTOR, 1),
}
"""Topic configs, and the broker configs that matter to a round (a file may hold these, too)."""

CONFIGS_WITHOUT_EFFECT = frozenset(
    {
        "compression.gzip.level",
        "compression.lz4.level",
        "compression.type",
        "compression.zstd.level",
        "errors.deadletterqueue.group.enable",
        "file.delete.delay.ms",
        "flush.messages",
        "flush.ms",
        "follower.replication.throttled.replicas",
        "leader.replication.throttled.replicas",
        "local.retention.bytes",
        "local.retention.ms",
        "max.decompressed.message.bytes",
        "max.message.bytes",
        "message.downconversion.enable",
        "message.format.version",
        "message.timestamp.after.max.ms",
        "message.timestamp.before.max.ms",
        "message.timestamp.difference.max.ms",
        "min.insync.replicas",
        "preallocate",
        "remote.copy.lag.bytes",
        "remote.copy.lag.ms",
        "remote.log.copy.disable",
        "remote.log.delete.on.disable",
        "remote.storage.enable",
        "segment.jitter.ms",
        "unclean.leader.election.enable",
    }
)
"""Topic configs that Kafka knows, but that do not matter to cleaning a dump."""


def parse_config(name: str, text: str) -> ConfigValue:
    """The value of a config in CONFIGS. Raises ValueError that says what a broker accepts."""
    config = CONFIGS[name]
    try:
        value = config.parse(text.strip())
    except ValueError as error:
        raise ValueError(f"{name}: {error} (accepted: {config.range_text()})") from error
    if isinstance(value, int | float):
        is_within = config.low <= value <= config.high
    else:
        is_within = (value if isinstance(value, frozenset) else {value}) <= config.words
    if not is_within:
        raise ValueError(f"{name}={shown(text)} is out of range: accepted is {config.range_text()}")
    return value
