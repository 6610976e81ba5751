"""Random workloads for a live broker: a seed decides configs, rounds, and who produces what kind of keys."""

import os
import random
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from live_broker import VERSION

FIRST_SEED, SEEDS = map(int, os.environ.get("KCOMPACT_BROKER_SEEDS", "1:20").split(":"))
HAS_A_LEAST_SIZE = not VERSION.startswith(("3.", "4.0."))  # 4.1 and later want a megabyte of segment.bytes
SEGMENT_BYTES = "internal.segment.bytes" if HAS_A_LEAST_SIZE else "segment.bytes"
SEGMENT_MS = 600_000
DAY_MS = 86_400_000
SMALL_MAP = {  # the smallest buffer that a broker starts with, and 17 keys of it
    "log.cleaner.dedupe.buffer.size": "1048577",
    "log.cleaner.io.buffer.load.factor": "0.0004",
}
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
KEYS = ("plain", "unicode", "binary", "few", "long")
PRODUCERS = ("plain", "idempotent", "transactional", "transactional-2")


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
    codec: str = "none"  # of the producers
    deletes_records: bool = False  # from the front of a log, before each cleaning
    started_ms: int = field(default_factory=lambda: time.time_ns() // 1_000_000)

    @property
    def begins_as_delete(self) -> bool:
        """Whether the first round is produced before compaction is turned on: without keys, too."""
        return self.created.get("cleanup.policy") == "delete"

    @property
    def expires_in_turns(self) -> bool:
        """Whether retention runs on several logs, as soon as the first of them is cleaned (R52)."""
        return self.partitions > 1 and "delete" in self.configs["cleanup.policy"]

    @property
    def segment_bytes(self) -> int:
        """Of the topic; a megabyte where Kafka's default holds."""
        return int(self.created.get(SEGMENT_BYTES, "1000000"))


def workload(seed: int) -> Workload:
    """The workload of a seed."""
    chance = random.Random(seed)
    created, configs = _created(chance), _configs(chance)
    if "retention.bytes" in configs:
        created["compression.type"] = "uncompressed"  # else what was written anew takes an estimate of bytes
    partitions = chance.randint(1, 3)
    if partitions > 1 and "delete" in configs["cleanup.policy"]:
        # Else what retention leaves of a clean section can make a log due that was not.
        configs["min.cleanable.dirty.ratio"] = "0.0"
    return Workload(
        seed,
        partitions=partitions,
        rounds=chance.randint(1, 3),
        configs=configs,
        created=created,
        keys=chance.choice(KEYS),
        producers=tuple(chance.sample(PRODUCERS, chance.randint(1, 3))),
        topic=f"w{seed}",
        codec=chance.choice(CODECS),
        deletes_records="cleanup.policy" not in created and chance.random() < 0.15,
    )


def with_small_map(work: Workload) -> Workload:
    """The same for a cleaner of several rounds; without retention, which would run after each of them."""
    configs = {name: value for name, value in work.configs.items() if not name.startswith("retention")}
    return replace(work, cleaner=SMALL_MAP, configs={**configs, "cleanup.policy": "compact"})


def over_nights(work: Workload) -> Workload:
    """The same over three rounds, without lags and retention: these follow the timestamps of markers, too."""
    kept = {name: work.configs[name] for name in ("min.cleanable.dirty.ratio", "delete.retention.ms")}
    return replace(work, rounds=3, configs={**kept, "cleanup.policy": "compact"})


def _created(chance: random.Random) -> dict[str, str]:
    created = {
        "segment.ms": str(SEGMENT_MS),
        "compression.type": chance.choice(["producer", "producer", "gzip", "snappy", "lz4", "zstd"]),
        "message.timestamp.type": chance.choice(["CreateTime"] * 4 + ["LogAppendTime"]),
        "retention.ms": "-1",
    }
    if chance.random() < 0.6:
        created[SEGMENT_BYTES] = str(chance.choice([1200, 2500, 4000, 12_000]))
    if chance.random() < 0.15:
        created["cleanup.policy"] = "delete"
    if chance.random() < 0.3:  # of fewer bytes a broker itself fails: what it merges overfills an index
        created["segment.index.bytes"] = str(chance.choice([300, 600, 1200]))
        created["index.interval.bytes"] = str(chance.choice([0, 1, 150, 400, 1000]))
    return created


def _configs(chance: random.Random) -> dict[str, str]:
    """Lags and retention are whole days; ``producing`` keeps records some hours away from each."""
    lag_days = chance.choice([0, 0, 0, 1, 2])
    configs = {
        "cleanup.policy": "compact",
        "min.cleanable.dirty.ratio": chance.choice(["0.0", "0.0", "0.01", "0.3", "0.5"]),
        "delete.retention.ms": chance.choice(["0", "86400000", "86400000", "9223372036854775807"]),
        "min.compaction.lag.ms": str(lag_days * DAY_MS),
    }
    if chance.random() < 0.15:
        configs["max.compaction.lag.ms"] = str((lag_days + chance.choice([1, 2])) * DAY_MS)
    what_goes = chance.random()
    if what_goes < 0.2:
        configs["retention.ms"] = str(chance.choice([1, 2, 3, 4, 1000]) * DAY_MS)
    elif what_goes < 0.3:
        configs["retention.bytes"] = str(chance.choice([1500, 6000]))
    if what_goes < 0.3:
        configs["cleanup.policy"] = "compact,delete"
    return configs
