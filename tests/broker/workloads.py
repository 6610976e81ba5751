"""Random workloads for a live broker: a seed decides configs, producers, keys, values, batches and rounds."""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from confluent_kafka import Producer

from live_broker import CLIENT_SECONDS

START_MS = 1_700_000_000_000
SEGMENT_MS = 600_000
RETENTION_MS = 86_400_000_000  # records of workloads with retention are either far older or far younger
SMALL_MAP = {  # the smallest buffer that a broker starts with, and 17 keys of it
    "log.cleaner.dedupe.buffer.size": "1048577",
    "log.cleaner.io.buffer.load.factor": "0.0004",
}
KEYS = ("plain", "unicode", "binary", "few", "long")


@dataclass(frozen=True)
class Workload:
    """What a seed stands for. One topic; every round adds data, then lets the cleaner go once."""

    seed: int
    partitions: int
    rounds: int
    configs: dict[str, str]  # while the cleaner is let go
    created: dict[str, str]  # from the topic's creation on
    keys: str
    producers: tuple[str, ...]
    topic: str = ""
    cleaner: Mapping[str, str] = field(default_factory=dict)  # the broker's own configs


def workload(seed: int) -> Workload:
    """The workload of a seed."""
    chance = random.Random(seed)
    created = {
        "segment.ms": str(SEGMENT_MS),
        "compression.type": chance.choice(["producer", "producer", "gzip", "lz4", "zstd", "uncompressed"]),
        "message.timestamp.type": chance.choice(["CreateTime"] * 4 + ["LogAppendTime"]),
        "retention.ms": "-1",
    }
    if chance.random() < 0.6:
        created["internal.segment.bytes"] = str(chance.choice([1200, 2500, 4000, 12_000]))
    configs = {
        "cleanup.policy": "compact",
        "min.cleanable.dirty.ratio": chance.choice(["0.0", "0.0", "0.01", "0.3", "0.5"]),
        "delete.retention.ms": chance.choice(["0", "86400000", "86400000", "9223372036854775807"]),
        "min.compaction.lag.ms": chance.choice(["0", "0", "0", "600000", "86400000"]),
    }
    if chance.random() < 0.2:
        configs["cleanup.policy"] = "compact,delete"
        configs["retention.ms"] = str(RETENTION_MS)
    elif chance.random() < 0.1:
        configs["cleanup.policy"] = "compact,delete"
        configs["retention.bytes"] = str(chance.choice([1500, 6000]))
        created["compression.type"] = (
            "uncompressed"  # else the bytes of what was written anew are an estimate
        )
    if chance.random() < 0.15:
        configs["max.compaction.lag.ms"] = str(chance.choice([86_400_001, 172_800_000]))
    kinds = ["plain", "idempotent", "transactional"]
    # Retention runs on all logs in the very turn in which the first of them is cleaned (R52): which one that
    # is no dump can tell, so a topic with retention has one partition.
    most_partitions = 1 if "delete" in configs["cleanup.policy"] else 3
    return Workload(
        seed,
        partitions=chance.randint(1, most_partitions),
        rounds=chance.randint(1, 3),
        configs=configs,
        created=created,
        keys=chance.choice(KEYS),
        producers=tuple(chance.sample(kinds, chance.randint(1, 2))),
        topic=f"w{seed}",
    )


def with_small_map(work: Workload) -> Workload:
    """The same for a cleaner of several rounds; without retention, which would run after each of them."""
    configs = {name: value for name, value in work.configs.items() if not name.startswith("retention")}
    return replace(work, cleaner=SMALL_MAP, configs={**configs, "cleanup.policy": "compact"})


def produce(work: Workload, round_number: int, bootstrap: str) -> None:
    """Produce the records of one round (from 0), in batches of varying size."""
    chance = random.Random(work.seed * 1000 + round_number)
    clock_ms = START_MS + round_number * 40 * SEGMENT_MS
    producers = [_producer(kind, work, bootstrap) for kind in work.producers]
    for _ in range(chance.randint(8, 30)):
        kind, producer = chance.choice(producers)
        if chance.random() < 0.25:
            clock_ms += SEGMENT_MS + chance.randint(1, 5000)
        transactional = kind == "transactional"
        if transactional:
            producer.begin_transaction()
        for _ in range(chance.choice([1, 1, 2, 5, 12])):
            clock_ms += chance.choice([0, 1, 400, -300])
            producer.produce(
                work.topic,
                key=_key(work.keys, chance),
                value=_value(chance, largest=segment_bytes(work) // 3),
                partition=chance.randrange(work.partitions),
                timestamp=clock_ms,
                headers=[("trace", chance.randbytes(4)), ("", None)] if chance.random() < 0.1 else None,
            )
            if chance.random() < 0.3:
                _flush(producer)
        if transactional:
            _end(producer, chance)
        _flush(producer)


def _flush(producer: Producer) -> None:
    waiting = producer.flush(CLIENT_SECONDS)
    if waiting:
        raise TimeoutError(f"{waiting} records did not reach the broker")


def _end(producer: Producer, chance: random.Random) -> None:
    _flush(producer)
    finish: Callable[[float], None] = (
        producer.abort_transaction if chance.random() < 0.35 else producer.commit_transaction
    )
    finish(CLIENT_SECONDS)


def _producer(kind: str, work: Workload, bootstrap: str) -> tuple[str, Producer]:
    # A batch must fit into a segment, or the broker refuses it.
    batch_bytes = segment_bytes(work) // 2
    config: dict[str, object] = {
        "bootstrap.servers": bootstrap,
        "linger.ms": 20,
        "batch.size": batch_bytes,
        "log_level": 0,
        "on_delivery": _must_arrive,
    }
    if kind == "idempotent":
        config["enable.idempotence"] = True
    if kind == "transactional":
        config["transactional.id"] = f"{work.topic}-tx"
    producer = Producer(config)
    if kind == "transactional":
        producer.init_transactions(CLIENT_SECONDS)
    return kind, producer


def _must_arrive(error: object, _: object) -> None:
    if error is not None:
        raise RuntimeError(f"not delivered: {error}")


def segment_bytes(work: Workload) -> int:
    """Of the topic; a megabyte where Kafka's default holds."""
    return int(work.created.get("internal.segment.bytes", "1000000"))


def _key(kind: str, chance: random.Random) -> bytes:
    number = min(int(chance.expovariate(1 / 6)), 60)
    if kind == "few":
        number %= 3
    shapes = {
        "plain": f"key-{number}".encode(),
        "few": f"k{number}".encode(),
        "unicode": f"clé-{number}-日本-\u202e".encode(),
        "binary": bytes([0xFF, 0x00, number, 0x22, 0x5C]),
        "long": f"{number:>300}".encode(),
    }
    return b"" if number == 0 else shapes[kind]


def _value(chance: random.Random, largest: int) -> bytes | None:
    shape = chance.random()
    if shape < 0.15:
        return None
    if shape < 0.2:
        return b""
    if shape < 0.3:
        return chance.randbytes(40)
    if shape < 0.32:
        return b"x" * min(3000, largest)
    return f'{{"v": {chance.randrange(10_000)}, "s": "{"y" * chance.randrange(30)}"}}'.encode()
