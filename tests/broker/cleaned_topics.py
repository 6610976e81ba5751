"""Topics that a live broker cleaned, round by round: before and after each, with what tells why."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from cleaning import (
    Stage,
    create,
    delete,
    delete_records,
    expired_before_cleaning,
    let_go,
    read_checkpoint,
    relabelled,
    save_as_golden,
    take_stage,
)
from kcompact.digits import LONG_MAX
from live_broker import LiveBroker
from producing import produce
from workloads import Workload

FAILED_CASES = Path("build/broker-cases")


@dataclass(frozen=True)
class CleanedTopic:
    """A workload's topic before and after a round (from 0) that the cleaner did at ``now_ms``."""

    work: Workload
    number: int
    before: Stage
    after: Stage
    cleaned: list[str]  # logs in the order in which they were
    now_ms: int

    @property
    def is_cleaned_again(self) -> bool:
        """Whether what retention left of a log that had been cleaned was due once more."""
        return self.work.expires_in_turns and len(self.cleaned) > len(set(self.cleaned))

    @property
    def expired(self) -> set[str]:
        """The logs that retention cut off at their start."""
        starts = {partition: offsets.start for partition, offsets in self.before.offsets.items()}
        moved = (p for p, offsets in self.after.offsets.items() if offsets.start != starts[p])
        return {f"{self.work.topic}-{partition}" for partition in moved}

    def save(self) -> None:
        """Keep a case that went wrong."""
        folder = FAILED_CASES / f"seed-{self.work.seed}-round-{self.number}"
        save_as_golden(self.work, self.before, self.after, folder, self.now_ms)


def cleaned_topics(
    work: Workload, broker: LiveBroker, folder: Path, *, committed: bool = False
) -> Iterator[CleanedTopic]:
    """Each round of a workload; stages have read_committed dumps, too, if asked to."""
    create(broker, work)
    for number in range(work.rounds):
        produce(work, number, broker.bootstrap)
        if work.deletes_records:
            delete_records(broker, work, number)
        before = take_stage(broker, work, folder / f"before-{number}", committed=committed)
        earlier, earlier_bytes = len(broker.rounds), broker.log_path.stat().st_size
        now_ms = let_go(broker, work)
        after = take_stage(broker, work, folder / f"after-{number}", committed=committed)
        if work.expires_in_turns and expired_before_cleaning(broker, work.topic, earlier_bytes):
            break  # the change of configs met a turn half done: what it left follows from no dump
        if not before.dump.stat().st_size:  # all was deleted: kcompact refuses an empty file
            assert not after.dump.stat().st_size
            continue
        cleaned = [round_.log for round_ in broker.rounds[earlier:]]
        yield in_order(CleanedTopic(work, number, before, after, cleaned, now_ms))
    delete(broker, work)


def in_order(topic: CleanedTopic) -> CleanedTopic:
    """With partitions named in the order in which they were cleaned, where it matters to the others."""
    if not topic.work.expires_in_turns:
        return topic
    cleaned = [int(log.rpartition("-")[2]) for log in topic.cleaned]
    order = list(dict.fromkeys([*cleaned, *range(topic.work.partitions)]))
    name = topic.work.topic
    before, after = (relabelled(stage, name, order) for stage in (topic.before, topic.after))
    return replace(topic, before=before, after=after, cleaned=[f"{name}-{order.index(p)}" for p in cleaned])


def options(topic: CleanedTopic) -> list[str]:
    """What a user would have: configs, offsets."""
    work, stage = topic.work, topic.before
    properties = stage.folder / "topic.properties"
    # By their timestamps producers are days idle, but a broker forgets when it looks, every ten minutes.
    configs = {**work.created, **work.configs, **work.cleaner, "producer.id.expiration.ms": str(LONG_MAX)}
    properties.write_text("".join(f"{name}={value}\n" for name, value in configs.items()))
    arguments = [f"--topic-config={work.topic}={properties}"]
    for partition, offsets in stage.offsets.items():
        log = f"{work.topic}-{partition}"
        arguments += [
            f"--log-start-offset={log}={offsets.start}",
            f"--log-end-offset={log}={offsets.end}",
            f"--last-stable-offset={log}={offsets.stable}",
        ]
    return arguments


def files(folder: Path, now_ms: int) -> list[str]:
    """What a user would have beside it: segments, batches, clock."""
    return [f"--segments={folder / 'segments'}", f"--batches={folder / 'batches'}", f"--now={now_ms}"]


def known_checkpoint(folder: Path) -> list[str]:
    """The checkpoint as an option; a file without a line about the topic would be refused."""
    path = folder / "checkpoint"
    return [f"--checkpoint={path}"] if read_checkpoint(path) else []
