"""Every record of a few keys, in time: which supersedes which, what stays, and what becomes of it next."""

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
from kcompact.dumps.note_checks import look_over
from kcompact.dumps.records.record import log_id_of
from kcompact.engine.passes.index_pass import IndexPlan, TaskReader, plan_index
from kcompact.engine.passes.summaries import packed, unpacked
from kcompact.engine.tasks import run_tasks
from kcompact.errors import InputError
from kcompact.inspect.placement.hashes import KeyMatrix
from kcompact.inspect.placement.partitioners import PARTITIONERS
from kcompact.printable import printable_key

SCHEMA_VERSION = 1
MOST_RECORDS_OF_A_TASK = 200_000  # of all keys asked for: they are collected on the driver
_COLUMNS = ("log_id", "key", "offset", "timestamp_ms", "is_tombstone", "record_bytes")
_PARTITIONERS = PARTITIONERS[:2]  # of the Java client and of librdkafka, the two that nearly all use


@dataclass(frozen=True)
class KeyRecord:
    """One record; ``superseded_by_offset`` is that of the next one of its key in the same log."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    is_tombstone: bool
    record_bytes: int
    superseded_by_offset: int | None = None

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
        """Oddities of the record, in words."""
        if not self.records:
            return ["no record of this key is in the dump"]
        latest = [one for one in self.records if one.superseded_by_offset is None]
        logs = sorted({f"{one.topic}-{one.partition}" for one in latest})
        found = []
        if len({one.partition for one in latest}) > 1:
            found.append(f"it stands in {', '.join(logs)}: each partition keeps its own latest record")
        if len({one.is_tombstone for one in latest}) > 1:
            found.append("it is deleted in one partition and alive in another")
        return found


def key_histories(spark: SparkSession, dump: Dump, folder: Path, keys: Sequence[bytes]) -> list[KeyHistory]:
    """The history of each key, in one pass. Raises InputError for records that cannot be read."""
    plan = plan_index(dump, folder)
    parts = run_tasks(spark, len(plan.tasks), lambda task: _records_of(TaskReader(plan, task), keys))
    names = _names(dump, plan, [summaries for *_, summaries in parts])
    found: dict[bytes, list[KeyRecord]] = {key: [] for key in keys}
    counts = dict.fromkeys(keys, 0)
    for rows, of_task, _ in parts:
        for key, count in of_task.items():
            counts[key] += count
        for row in rows:
            log = names[row.pop("log_id")]
            found[row.pop("key")].append(KeyRecord(log.topic, log.partition, **row))
    _refuse_too_many(found, counts)
    partitions = _partition_counts(names.values())
    return [_history(key, found[key], partitions) for key in keys]


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
    look_over(dump, plan.splits, notes)
    return {one.log_id: LogName(one.topic, one.partition) for one in summaries}


def _records_of(
    reader: TaskReader, keys: Sequence[bytes]
) -> tuple[list[dict[str, Any]], dict[bytes, int], bytes]:
    """A task's records with one of the keys (the first ones), how many each key has, and summaries."""
    wanted = pa.array(keys, pa.binary())
    rows: list[dict[str, Any]] = []
    counts: dict[bytes, int] = {}
    for batch in reader.rows():
        mine = batch.select(_COLUMNS).filter(pc.is_in(batch["key"], wanted))
        for one in pc.value_counts(mine["key"]).to_pylist():
            counts[one["values"]] = counts.get(one["values"], 0) + one["counts"]
        rows += mine.slice(0, max(0, MOST_RECORDS_OF_A_TASK - len(rows))).to_pylist()
    return rows, counts, _without_runs(reader)


def _keys_at(reader: TaskReader, log: LogName, offset: int) -> tuple[list[bytes | None], bytes]:
    """The keys of the records at one place, and summaries."""
    log_id = log_id_of(log.topic, log.partition)
    found: list[bytes | None] = []
    for batch in reader.rows():
        at = pc.and_(pc.equal(batch["log_id"], log_id), pc.equal(batch["offset"], offset))
        found += batch.filter(at)["key"].to_pylist()
    return found, _without_runs(reader)


def _without_runs(reader: TaskReader) -> bytes:
    return packed(reader.summaries.values(), with_runs=False)


def _partition_counts(names: Iterable[LogName]) -> dict[str, int]:
    """As many partitions as the dump shows that there are, by topic."""
    counts: dict[str, int] = {}
    for log in names:
        counts[log.topic] = max(counts.get(log.topic, 0), log.partition + 1)
    return counts


def _refuse_too_many(found: Mapping[bytes, list[KeyRecord]], counts: Mapping[bytes, int]) -> None:
    """Of half a history nobody could say what stays."""
    for key, count in counts.items():
        if count > len(found[key]):
            raise InputError(
                f"key {printable_key(key)} has {count:,} records, more than a history is made of",
                hint="ask for fewer at once with --topic and --partitions",
            )


def _history(key: bytes, records: list[KeyRecord], partitions: Mapping[str, int]) -> KeyHistory:
    by_log = sorted(records, key=lambda one: (one.topic, one.partition, one.offset))
    superseded = {
        earlier: later.offset
        for earlier, later in pairwise(by_log)
        if (earlier.topic, earlier.partition) == (later.topic, later.partition)
    }
    told = [replace(one, superseded_by_offset=superseded.get(one)) for one in by_log]
    told.sort(key=lambda one: (one.timestamp_ms, one.topic, one.partition, one.offset))
    topics = sorted({one.topic for one in records})
    belongs = {topic: _placed(key, partitions[topic]) for topic in topics}
    return KeyHistory(key, tuple(told), belongs)


def _placed(key: bytes, partitions: int) -> dict[str, int]:
    matrix = KeyMatrix.of([key])
    return {one.name: int(one.to_partition(one.hashes(matrix), partitions)[0]) for one in _PARTITIONERS}
