"""Golden workloads once more, on the version at hand: it leaves what the golden broker (4.4.0) left.

Batches are sent as they lay on disk there, with all timestamps moved by the time that has passed since. Left
out is what needs a producer's own state, a small map, a checkpoint that was there before, or DeleteRecords.
"""

import os
import time
from collections import defaultdict
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import pytest
from confluent_kafka import Producer

from cleaning import HELD, Stage, create, delete, let_go, take_stage
from dump_files import kcat_offsets
from golden_cases import GoldenCase, Log, golden_cases
from kcompact.dumps.records.record import Record
from live_broker import CLIENT_SECONDS, VERSION, LiveBroker
from packed_batches import ListedBatch
from producing import must_arrive
from workloads import CODECS, SEGMENT_BYTES, Workload

pytestmark = pytest.mark.broker
LEFT_OUT = {
    *("w10-transactions", "w10b-markers", "w20-idempotent-producers"),
    "w23-threshold-one",  # holding the cleaner, as is done here before each round, is what it tries
    "w35-max-lag-rolls",  # takes configs that would not hold it
}
NEED_MORE = {"map", "checkpointGiven", "deleteRecordsBefore"}
ALL = [
    case
    for case in golden_cases()
    if case.name not in LEFT_OUT
    and not NEED_MORE & case.facts.keys()
    and not case.checkpoint(case.pairs[0][0])  # a first round is in no dump
]
CASES = ALL if "KCOMPACT_BROKER_VERSION" in os.environ else ALL[::6]
UNKNOWN_CONFIGS = {"message.timestamp.after.max.ms"} if VERSION.startswith("3.3.") else set()
_WHILE_CLEANED = {*HELD, "min.compaction.lag.ms", "delete.retention.ms", "retention.ms", "retention.bytes"}


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_a_golden_workload_leaves_what_it_left_on_the_golden_broker(
    case: GoldenCase, broker: LiveBroker, tmp_path: Path
) -> None:
    works = [work_of(case, topic) for topic in case.facts["topics"]]
    for work in works:
        create(broker, work)
    sender = Sender(case, broker.bootstrap)
    for number, (before, after) in enumerate(case.pairs):
        for work in works:
            for partition in range(work.partitions):
                sender.send_new(before, (work.topic, partition))
            assert places_in(take_stage(broker, work, tmp_path / f"{work.topic}-{before}")) == places(
                case, before, work
            )
            work.configs.update(configs_of(case, number, work.topic))
            let_go(broker, work)
            left = take_stage(broker, work, tmp_path / f"{work.topic}-{after}")
            assert places_in(left) == places(case, after, work)
            assert left.checkpoint == {
                log: offset for log, offset in case.checkpoint(after).items() if log[0] == work.topic
            }
    for work in works:
        delete(broker, work)


def work_of(case: GoldenCase, topic: str) -> Workload:
    """The topic as it was created; what the cleaner and retention ask about comes when they are let go."""
    facts = case.facts["topics"][topic]
    configs = {
        SEGMENT_BYTES if name == "internal.segment.bytes" else name: value
        for name, value in facts["configs"].items()
        if name not in _WHILE_CLEANED | UNKNOWN_CONFIGS
    }
    has_no_key = any(record.key is None for record in case.records(case.pairs[0][0]))
    created = {"retention.ms": "-1", **configs, **({"cleanup.policy": "delete"} if has_no_key else {})}
    return Workload(0, facts["partitions"], len(case.pairs), {}, created, "", (), topic)


def configs_of(case: GoldenCase, number: int, topic: str) -> dict[str, str]:
    """What the cleaner and retention were told in a pair of stages."""
    configs = case.configs(number, topic)
    return {
        "min.cleanable.dirty.ratio": "0.5",
        **{name: value for name, value in configs.items() if name in _WHILE_CLEANED},
    }


class Sender:
    """Sends a case's batches, each once, with timestamps moved to where they would be today."""

    def __init__(self, case: GoldenCase, bootstrap: str) -> None:
        self._case = case
        self._moved_ms = time.time_ns() // 1_000_000 - case.facts["stages"][case.pairs[0][0]]["takenAtMs"]
        self._end_offsets: dict[Log, int] = defaultdict(int)
        self._producers = {
            codec: Producer(
                {
                    "bootstrap.servers": bootstrap,
                    "compression.type": codec,
                    "linger.ms": 10_000,  # flush() sends what is there as one batch
                    "on_delivery": must_arrive,
                }
            )
            for codec in CODECS
        }

    def send_new(self, stage: str, log: Log) -> None:
        """Send what came to a log since the stage before."""
        for codec, records in batches_of(self._case, stage, log):
            if records[0].offset < self._end_offsets[log]:
                continue
            producer = self._producers[codec]
            for record in records:
                producer.produce(
                    record.topic,
                    key=record.key,
                    value=record.value,
                    partition=record.partition,
                    timestamp=record.timestamp_ms + self._moved_ms,
                    headers=list(record.headers),
                )
            assert producer.flush(CLIENT_SECONDS) == 0
            self._end_offsets[log] = records[-1].offset + 1


def batches_of(case: GoldenCase, stage: str, log: Log) -> Iterator[tuple[str, list[Record]]]:
    """The codec and the records of each batch of a log; what no file tells was one record each."""
    batches = (case.batches(stage) or {}).get(log, ())
    batch_at = {at: batch for batch in batches for at in range(batch.base_offset, batch.last_offset + 1)}
    of_log = (record for record in case.records(stage) if record[:2] == log)
    for batch, records in groupby(of_log, lambda record: batch_at.get(record.offset, record.offset)):
        yield batch.codec if isinstance(batch, ListedBatch) else "none", list(records)


def places(case: GoldenCase, stage: str, work: Workload) -> set[tuple[str, int, int]]:
    offsets = case.offsets(stage)
    return {(*log, offset) for log in offsets if log[0] == work.topic for offset in offsets[log]}


def places_in(stage: Stage) -> set[tuple[str, int, int]]:
    return set(kcat_offsets(stage.dump))
