"""Every record of a few keys in the order of time: which supersede which, which stay, and what comes next."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

from kcompact.broker.log_names import LogName
from kcompact.dumps.dump import Dump
from kcompact.dumps.note_checks import look_over, notes_by_file
from kcompact.dumps.records.record import log_id_of
from kcompact.engine.passes.index_pass import IndexPlan, TaskReader, plan_index
from kcompact.engine.passes.summaries import packed, unpacked
from kcompact.engine.tasks import run_tasks
from kcompact.errors import InputError
from kcompact.inspect.placement.hashes import KeyMatrix
from kcompact.inspect.placement.partitioners import PARTITIONERS
from kcompact.printable import printable_key

SCHEMA_VERSION = 1
MOST_RECORDS_OF_A_TASK = 200_000  # for all keys together: the driver collects them
_COLUMNS = ("log_id", "key", "offset", "timestamp_ms", "is_tombstone", "record_bytes")
_PARTITIONERS = PARTITIONERS[:2]  # of the Java client and of librdkafka, the two that nearly all use


@dataclass(frozen=True)
class KeyRecord:
    """One record; ``superseded_by_offset`` is the next offset of its key in the same log."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    is_tombstone: bool
    record_bytes: int
    superseded_by_offset: int | None = None

    @property
    def place(self) -> tuple[str, int, int]:
        """Topic, partition and offset; a dump of overlapping exports holds records of one place twice."""
        return self.topic, self.partition, self.offset

    @property
    def fate(self) -> str:
        """The record's fate, in words, with the rule's name."""
        if self.superseded_by_offset is not None:
            return f"goes: superseded at {self.superseded_by_offset} (Cleaner.shouldRetainRecord)"
        if self.is_tombstone:
            return (
                "stays for now: the next round sets its horizon (MemoryRecords.filterTo), a round after"
                " delete.retention.ms removes it"
            )
        return "stays: the latest of its key here (Cleaner.shouldRetainRecord)"


@dataclass(frozen=True)
class KeyHistory:
    """A key, its records by time (offset where there is none), and where partitioners would put it."""

    key: bytes
    records: tuple[KeyRecord, ...]
    belongs_to: Mapping[str, Mapping[str, int]]  # topic -> partitioner -> partition

    @property
    def remarks(self) -> list[str]:
        """Oddities of the key's records, in words."""
        if not self.records:
            return ["no record of this key is in the dump"]
        latest = [record for record in self.records if record.superseded_by_offset is None]
        texts = []
        for topic in self.belongs_to:
            ends = {record.partition: record.is_tombstone for record in latest if record.topic == topic}
            if len(ends) > 1:
                logs = ", ".join(f"{topic}-{partition}" for partition in sorted(ends))
                texts.append(f"it is in {logs}: each partition keeps its own latest record")
            if len({*ends.values()}) > 1:
                texts.append(f"it is deleted in one partition of {topic} and alive in another")
        return texts


def key_histories(spark: SparkSession, dump: Dump, folder: Path, keys: Sequence[bytes]) -> list[KeyHistory]:
    """The history of each key, in one pass. Raises InputError for records that cannot be read."""
    plan = plan_index(dump, folder)
    parts = run_tasks(spark, len(plan.tasks), lambda task: _records_of(TaskReader(plan, task), keys))
    names = _names(dump, plan, [summaries for *_, summaries in parts])
    records: dict[bytes, list[KeyRecord]] = {key: [] for key in keys}
    counts = dict.fromkeys(keys, 0)
    for rows, of_task, _ in parts:
        for key, count in of_task.items():
            counts[key] += count
        for row in rows:
            log = names[row.pop("log_id")]
            records[row.pop("key")].append(KeyRecord(log.topic, log.partition, **row))
    _refuse_too_many(records, counts)
    partitions = _partition_counts(names.values())
    return [_history(key, records[key], partitions) for key in keys]


def key_at(spark: SparkSession, dump: Dump, folder: Path, log: LogName, offset: int) -> bytes:
    """The key of one record. Raises InputError if it is not there, or has none."""
    plan = plan_index(dump, folder)
    parts = run_tasks(spark, len(plan.tasks), lambda task: _keys_at(TaskReader(plan, task), log, offset))
    keys = [key for part, _ in parts for key in part]
    _names(dump, plan, [summaries for _, summaries in parts])
    if not keys:
        raise InputError(
            f"{log}: no record at offset {offset}", hint="kcompact inspect lists each log's offsets"
        )
    if keys[0] is None:
        raise InputError(f"{log}: the record at offset {offset} has no key", hint="a broker drops it")
    return bytes(keys[0])


def _names(dump: Dump, plan: IndexPlan, packed_summaries: Iterable[bytes]) -> dict[int, LogName]:
    summaries, notes = unpacked(packed_summaries)
    look_over(dump, notes_by_file(dump, plan.splits.values(), notes))
    return {summary.log_id: summary.log for summary in summaries}


def _records_of(
    reader: TaskReader, keys: Sequence[bytes]
) -> tuple[list[dict[str, Any]], dict[bytes, int], bytes]:
    """A task's first records with one of the keys, the count of records of each key, and summaries."""
    key_array = pa.array(keys, pa.binary())
    rows: list[dict[str, Any]] = []
    counts: dict[bytes, int] = {}
    for batch in reader.rows():
        matches = batch.select(_COLUMNS).filter(pc.is_in(batch["key"], key_array))
        for entry in pc.value_counts(matches["key"]).to_pylist():
            counts[entry["values"]] = counts.get(entry["values"], 0) + entry["counts"]
        rows += matches.slice(0, max(0, MOST_RECORDS_OF_A_TASK - len(rows))).to_pylist()
    return rows, counts, _without_runs(reader)


def _keys_at(reader: TaskReader, log: LogName, offset: int) -> tuple[list[bytes | None], bytes]:
    """The keys of the records at one place, and summaries."""
    log_id = log_id_of(log.topic, log.partition)
    keys: list[bytes | None] = []
    for batch in reader.rows():
        at = pc.and_(pc.equal(batch["log_id"], log_id), pc.equal(batch["offset"], offset))
        keys += batch.filter(at)["key"].to_pylist()
    return keys, _without_runs(reader)


def _without_runs(reader: TaskReader) -> bytes:
    return packed(reader.summaries.values(), with_runs=False)


def _partition_counts(names: Iterable[LogName]) -> dict[str, int]:
    """By topic, the smallest number of partitions that it can have, as far as the dump shows."""
    counts: dict[str, int] = {}
    for log in names:
        counts[log.topic] = max(counts.get(log.topic, 0), log.partition + 1)
    return counts


def _refuse_too_many(records: Mapping[bytes, list[KeyRecord]], counts: Mapping[bytes, int]) -> None:
    """Raise InputError if a key has more records than were sent: a partial history cannot show which stay."""
    for key, count in counts.items():
        if count > len(records[key]):
            raise InputError(
                f"key {printable_key(key)} has {count:,} records, more than a history can show",
                hint="ask for fewer at once with --topic and --partitions",
            )


def _history(key: bytes, records: list[KeyRecord], partitions: Mapping[str, int]) -> KeyHistory:
    places = sorted({record.place for record in records})
    superseded = {earlier: later[-1] for earlier, later in pairwise(places) if earlier[:-1] == later[:-1]}
    by_time = [replace(record, superseded_by_offset=superseded.get(record.place)) for record in records]
    by_time.sort(key=lambda record: (record.timestamp_ms, record.place))
    topics = sorted({record.topic for record in records})
    belongs = {topic: _placed(key, partitions[topic]) for topic in topics}
    return KeyHistory(key, tuple(by_time), belongs)


def _placed(key: bytes, partitions: int) -> dict[str, int]:
    matrix = KeyMatrix.of([key])
    return {
        partitioner.name: int(partitioner.to_partition(partitioner.hashes(matrix), partitions)[0])
        for partitioner in _PARTITIONERS
    }
