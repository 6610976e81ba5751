"""The table of partitioners: which client does what with a key. A new one is one row."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kcompact.arrays import Longs
from kcompact.inspect.placement.hashes import (
    Hashes,
    KeyMatrix,
    crc32,
    fnv1a,
    java_string_hash,
    murmur2,
    murmur2_in_doubles,
)

Partitions = Longs
Counts = int | Longs
"""One number of partitions, or several to be tried at once, with hashes of the shape (keys, 1)."""
ToPartition = Callable[[Hashes, Counts], Partitions]


def to_positive(hashes: Hashes, count: Counts) -> Partitions:
    """Java's ``toPositive``: the sign bit is cleared, then the remainder."""
    return (hashes & np.uint32(0x7FFFFFFF)).astype(np.int64) % count


def unsigned(hashes: Hashes, count: Counts) -> Partitions:
    """The remainder of all 32 bits."""
    return hashes.astype(np.int64) % count


def absolute_remainder(hashes: Hashes, count: Counts) -> Partitions:
    """The remainder of a signed number, as Go and Java take it (with its sign), then without the sign.

    The same as the remainder of the absolute value, but for the smallest number of 32 bits.
    """
    absolute: Partitions = np.abs(hashes.view(np.int32).astype(np.int64))
    return absolute % count


@dataclass(frozen=True)
class Partitioner:
    """One way to choose a partition from a key's bytes."""

    name: str
    clients: str  # who partitions like this, as people call them
    hashes: Callable[[KeyMatrix], Hashes]
    to_partition: ToPartition


PARTITIONERS: tuple[Partitioner, ...] = (
    Partitioner(
        "murmur2",
        "Java client's default, Kafka Streams and Connect; librdkafka murmur2 and murmur2_random; KafkaJS 2;"
        " franz-go; kafka-python",
        murmur2,
        to_positive,
    ),
    Partitioner(
        "crc32",
        "librdkafka's default consistent_random and consistent (confluent-kafka for Python, Go, .NET);"
        " ruby-kafka; kafka-go CRC32Balancer",
        crc32,
        unsigned,
    ),
    Partitioner(
        "fnv1a",
        "Sarama's default NewHashPartitioner; librdkafka fnv1a; kafka-go Hash",
        fnv1a,
        absolute_remainder,
    ),
    Partitioner(
        "fnv1a-reference",
        "Sarama NewReferenceHashPartitioner; kafka-go ReferenceHash",
        fnv1a,
        to_positive,
    ),
    Partitioner("fnv1a-unsigned", "Sarama with WithHashUnsigned", fnv1a, unsigned),
    Partitioner("murmur2-kafkajs", "KafkaJS 1 and its LegacyPartitioner", murmur2_in_doubles, to_positive),
    Partitioner("murmur2-unsigned", "murmur2 without Java's toPositive", murmur2, unsigned),
    Partitioner("murmur2-absolute", "murmur2 with an absolute value", murmur2, absolute_remainder),
    Partitioner("crc32-positive", "CRC-32 with Java's toPositive", crc32, to_positive),
    Partitioner("crc32-absolute", "signed CRC-32 with an absolute value", crc32, absolute_remainder),
    Partitioner(
        "java-hashcode", "String.hashCode with toPositive; kafka-node", java_string_hash, to_positive
    ),
    Partitioner(
        "java-hashcode-absolute", "String.hashCode with Math.abs", java_string_hash, absolute_remainder
    ),
)
"""The likelier first: where two fit alike, the first one is named."""
