"""One round of a live broker's cleaner, with all that a user could have about it before and after."""

import json
import random
import re
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewTopic

from dump_files import kcat_line
from kcompact.dumps.records.record import Record
from live_broker import CLIENT_SECONDS, LiveBroker
from log_files import batch_lines, segment_lines
from workloads import Workload

HELD = {  # no ratio is above 1, and no record is old enough: nothing is due
    "cleanup.policy": "compact",
    "min.cleanable.dirty.ratio": "1.0",
    "max.compaction.lag.ms": "9223372036854775807",
}
IDLE_TURNS = 4  # of the cleaner in which nothing changes
MOST_CHANGES = 100


@dataclass(frozen=True)
class LogOffsets:
    """Where a log starts and ends, and up to where its transactions are decided."""

    start: int
    end: int
    stable: int


@dataclass(frozen=True)
class Stage:
    """A topic at one moment, in a folder: ``dump.jsonl``, ``segments``, ``batches``, ``checkpoint``.

    Some have a read_committed dump, too: ``committed.jsonl``.
    """

    folder: Path
    offsets: dict[int, LogOffsets]

    @property
    def dump(self) -> Path:
        return self.folder / "dump.jsonl"

    @property
    def checkpoint(self) -> dict[tuple[str, int], int]:
        return read_checkpoint(self.folder / "checkpoint")


def read_checkpoint(path: Path) -> dict[tuple[str, int], int]:
    """The offset of each log in a checkpoint file, read without the code under test."""
    entries = [line.split() for line in path.read_text().splitlines()[2:]]
    return {(topic, int(partition)): int(offset) for topic, partition, offset in entries}


def create(broker: LiveBroker, work: Workload) -> None:
    # With its lag: where that changes, too, a turn under way may take one config as it was, another as it is.
    lag = {name: value for name, value in work.configs.items() if name == "min.compaction.lag.ms"}
    topic = NewTopic(work.topic, work.partitions, 1, config={**HELD, **lag, **work.created})
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    for future in admin.create_topics([topic]).values():
        future.result(CLIENT_SECONDS)


def alter(broker: LiveBroker, topic: str, configs: dict[str, str]) -> None:
    entries = [
        ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
        for name, value in configs.items()
    ]
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic, incremental_configs=entries)
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    for future in admin.incremental_alter_configs([resource]).values():
        future.result(CLIENT_SECONDS)


def delete_records(broker: LiveBroker, work: Workload, round_number: int) -> None:
    """Move a log's start, as a user can where the policy is not compaction alone; segments below it go."""
    chance = random.Random(work.seed * 1000 + round_number)
    partition = chance.randrange(work.partitions)
    offsets = _offsets(broker, work.topic, partition)
    last = max(offsets.start, offsets.stable - 1)  # an empty dump would be refused
    start = TopicPartition(work.topic, partition, chance.randint(offsets.start, last))
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    _change(broker, work, {"cleanup.policy": "compact,delete"})
    for future in admin.delete_records([start]).values():
        future.result(CLIENT_SECONDS)
    _change(broker, work, HELD)


def delete(broker: LiveBroker, work: Workload) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    for future in admin.delete_topics([work.topic]).values():
        future.result(CLIENT_SECONDS)


def take_stage(broker: LiveBroker, work: Workload, folder: Path, *, committed: bool = False) -> Stage:
    """Dump the topic, as read_committed too if asked to, and copy what lies beside it."""
    folder.mkdir(parents=True)
    offsets = {partition: _offsets(broker, work.topic, partition) for partition in range(work.partitions)}
    (folder / "dump.jsonl").write_bytes(_dump(broker, work.topic))
    if committed:
        records = consume(broker, work.topic, "read_committed")
        (folder / "committed.jsonl").write_bytes(b"".join(map(kcat_line, records)))
    lines = segment_lines(broker.data, work.topic, work.partitions)
    (folder / "segments").write_text("".join(line + "\n" for line in lines))
    table = batch_lines(broker.data, work.topic, work.partitions)
    (folder / "batches").write_text("".join(line + "\n" for line in table))
    entries = [line for line in broker.checkpoint().splitlines()[2:] if line.split()[0] == work.topic]
    (folder / "checkpoint").write_text("\n".join(["0", str(len(entries)), *entries]) + "\n")
    return Stage(folder, offsets)


def let_go(broker: LiveBroker, work: Workload) -> int:
    """Let the cleaner clean the topic once, then retention, then hold both; the clock (ms) at the start.

    Several logs are given to both at once: retention runs on all of them in the turn that cleans the first.
    A single one is not: a turn that has just looked for work in vain would expire records first.
    """
    released_ms = time.time_ns() // 1_000_000
    retention = {name: value for name, value in work.configs.items() if name.startswith("retention")}
    if work.expires_in_turns:
        _change(broker, work, work.configs)
    else:
        _change(broker, work, {k: v for k, v in work.configs.items() if k not in retention})
        if retention:  # holding the cleaner, for which what retention leaves may be due at once
            _change(broker, work, {**HELD, "cleanup.policy": work.configs["cleanup.policy"], **retention})
    _change(broker, work, {**HELD, "retention.ms": "-1", "retention.bytes": "-1"})
    return released_ms


def expired_before_cleaning(broker: LiveBroker, topic: str, earlier_bytes: int) -> bool:
    """Whether, since so many bytes of the broker's log, a turn under way expired segments uncleaned."""
    text = broker.log_path.read_bytes()[earlier_bytes:].decode(errors="replace")
    expired = re.search(rf"partition={topic}-\d+, .*Deleting segments? .*due to", text)
    began = re.search(rf"Beginning cleaning of log {topic}-", text)
    return expired is not None and (began is None or expired.start() < began.start())


def relabelled(stage: Stage, topic: str, order: list[int]) -> Stage:
    """The stage with its partitions numbered in the order in which the broker cleaned them.

    Which of equally dirty logs it takes first no dump can tell (R9); kcompact takes them by name.
    """
    numbers = {str(old): str(new) for new, old in enumerate(order)}
    folder = stage.folder.with_name(f"{stage.folder.name}-in-order")
    folder.mkdir()
    for name in ("segments", "batches", "checkpoint"):
        text = (stage.folder / name).read_text()
        renamed = re.sub(
            rf"^({topic}\s)(\d+)(?=\s)", lambda m: m[1] + numbers[m[2]], text, flags=re.MULTILINE
        )
        (folder / name).write_text(renamed)
    dump = stage.dump.read_bytes()
    pattern = rb'^(\{"topic":"[^"]*","partition":)(\d+)'
    (folder / "dump.jsonl").write_bytes(
        re.sub(pattern, lambda m: m[1] + numbers[m[2].decode()].encode(), dump, flags=re.MULTILINE)
    )
    return Stage(folder, {int(numbers[str(old)]): offsets for old, offsets in stage.offsets.items()})


def _change(broker: LiveBroker, work: Workload, configs: dict[str, str]) -> None:
    """Change configs and wait until they are in force and the cleaner has nothing to do any more.

    However slow the machine is, the broker's own log tells: of the change, and of every turn of the cleaner.
    """
    broker.look()
    earlier = broker.reconfigured[work.topic]
    alter(broker, work.topic, configs)
    broker.wait_for(f"{work.topic}'s configs", lambda: broker.reconfigured[work.topic] > earlier)
    for _ in range(MOST_CHANGES):
        before = _picture(broker, work)
        _wait_for_turns(broker, work)
        if _picture(broker, work) == before:
            return
    raise TimeoutError(f"{work.topic}: the cleaner finds no end")


def _wait_for_turns(broker: LiveBroker, work: Workload) -> None:
    logs = [f"{work.topic}-{partition}" for partition in range(work.partitions)]
    wanted = {log: broker.considered[log] + IDLE_TURNS for log in logs}
    broker.wait_for("the cleaner's turns", lambda: all(broker.considered[log] >= wanted[log] for log in logs))


def _picture(broker: LiveBroker, work: Workload) -> object:
    """What changes while the cleaner or retention is at work."""
    folders = [broker.data / f"{work.topic}-{partition}" for partition in range(work.partitions)]
    files = [(path.name, _size(path)) for folder in folders for path in sorted(folder.glob("*.log"))]
    return files, broker.checkpoint(), len(broker.rounds)


def _size(path: Path) -> int | None:
    """None for a segment that the broker removed since it was listed."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return None


def _offsets(broker: LiveBroker, topic: str, partition: int) -> LogOffsets:
    marks = []
    for level in ("read_uncommitted", "read_committed"):
        consumer = Consumer(
            {"bootstrap.servers": broker.bootstrap, "group.id": "offsets", "isolation.level": level}
        )
        marks.append(consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=CLIENT_SECONDS))
        consumer.close()
    return LogOffsets(marks[0][0], marks[0][1], marks[1][1])


def _dump(broker: LiveBroker, topic: str) -> bytes:
    """As a user would: with kcat where it is installed, else with a client."""
    kcat = shutil.which("kcat")
    if kcat is None:
        return b"".join(kcat_line(record) for record in consume(broker, topic))
    options = ["-C", "-J", "-u", "-q", "-e", "-o", "beginning", "-X", "isolation.level=read_uncommitted"]
    done = subprocess.run(
        [kcat, "-b", broker.bootstrap, "-t", topic, *options],
        capture_output=True,
        check=True,
        timeout=CLIENT_SECONDS,
    )
    return done.stdout


def consume(broker: LiveBroker, topic: str, level: str = "read_uncommitted") -> list[Record]:
    """All records of a topic, partition by partition."""
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap,
            "group.id": "dump",
            "isolation.level": level,
            "enable.partition.eof": True,
            "auto.offset.reset": "earliest",
        }
    )
    partitions = consumer.list_topics(topic, CLIENT_SECONDS).topics[topic].partitions
    consumer.assign([TopicPartition(topic, partition, 0) for partition in partitions])
    records, open_partitions = [], set(partitions)
    while open_partitions:
        message = consumer.poll(CLIENT_SECONDS)
        if message is None:
            raise TimeoutError(f"no end of {topic}")
        if message.error():
            open_partitions.discard(message.partition())
            continue
        headers = tuple((name, value) for name, value in message.headers() or [])
        kind, timestamp_ms = message.timestamp()
        del kind
        place = (message.topic(), message.partition(), message.offset())
        records.append(Record(*place, timestamp_ms, message.key(), message.value(), headers))
    consumer.close()
    return sorted(records, key=lambda record: record[:3])


def save_as_golden(work: Workload, before: Stage, after: Stage, folder: Path, now_ms: int) -> None:
    """Keep a case that went wrong, with all that is needed to look into it."""
    for name, stage in (("before", before), ("after", after)):
        for path in filter(Path.is_file, stage.folder.iterdir()):
            target = folder / f"{name}.{path.name}"
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
    facts = {"seed": work.seed, "configs": {**work.created, **work.configs}, "nowMs": now_ms}
    (folder / "facts.json").write_text(json.dumps(facts, indent=1) + "\n")
