"""The golden experiments as Python values: dumps, batches, segments, configs and clocks of each stage."""

import base64
import csv
import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import orjson

from kcompact.broker.segment_lists import Segment
from kcompact.dumps.records.record import Record
from packed_batches import ListedBatch

GOLDEN = Path(__file__).parents[1] / "golden"

Log = tuple[str, int]


@dataclass(frozen=True)
class LoggedRound:
    """The figures that the broker logged when a round was over."""

    log: Log
    now_ms: int
    first_dirty_offset: int
    next_dirty_offset: int
    messages_read: int
    messages_written: int
    invalid_messages_read: int


@dataclass(frozen=True)
class StageLog:
    """One log at one stage."""

    log_start_offset: int
    log_end_offset: int
    last_stable_offset: int
    segments: tuple[Segment, ...]


@dataclass(frozen=True)
class GoldenCase:
    """One folder of golden data."""

    name: str
    pairs: tuple[tuple[str, str], ...]
    facts: dict[str, Any]

    @property
    def folder(self) -> Path:
        return GOLDEN / self.name

    @property
    def logs(self) -> list[Log]:
        topics = self.facts["topics"]
        return [(topic, p) for topic in topics for p in range(topics[topic]["partitions"])]

    def path(self, stage: str, suffix: str) -> Path:
        return self.folder / f"{stage}.{suffix}"

    def dump_path(self, stage: str, scratch: Path) -> Path:
        """The dump of a stage as a file; for ``w08b``, which has only offsets kept, made in ``scratch``."""
        path = self.path(stage, "jsonl")
        if path.exists():
            return path
        path = scratch / f"{self.name}.{stage}.jsonl"
        if not path.exists():
            kept = offsets_of_ranges(self.path(stage, "offsets"))
            path.write_bytes(w08b_dump(kept))
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        if digest != self.facts["sha256"][f"{stage}.jsonl"]:
            raise AssertionError(f"{path} is not the dump the broker had")
        return path

    def records(self, stage: str, *, read_committed: bool = False) -> list[Record]:
        return list(_records_in(self.path(stage, "read_committed.jsonl" if read_committed else "jsonl")))

    def offsets(self, stage: str) -> dict[Log, list[int]]:
        """Offsets of the data records of each log at a stage."""
        found: dict[Log, list[int]] = {log: [] for log in self.logs}
        ranges = self.path(stage, "offsets")
        if ranges.exists():
            return {self.logs[0]: sorted(offsets_of_ranges(ranges))}
        for record in self.records(stage):
            found[record.topic, record.partition].append(record.offset)
        return {log: sorted(offsets) for log, offsets in found.items()}

    def batches(self, stage: str) -> dict[Log, list[ListedBatch]] | None:
        """Batches of each log, None where the experiment kept none (one plain record per batch)."""
        path = self.path(stage, "batches")
        if not path.exists():
            return None
        found: dict[Log, list[ListedBatch]] = {log: [] for log in self.logs}
        for log, batch in _batches_in(path):
            found[log].append(batch)
        return found

    def stage_log(self, stage: str, log: Log) -> StageLog:
        told = self.facts["stages"][stage]["topics"][log[0]][str(log[1])]
        return StageLog(
            told["logStartOffset"],
            told["logEndOffset"],
            told["lastStableOffset"],
            tuple(_segment(segment) for segment in told["segments"]),
        )

    def checkpoint(self, stage: str) -> dict[Log, int]:
        """Entries of this experiment's logs at a stage."""
        return _entries(self.facts["stages"][stage]["checkpoint"])

    def checkpoint_before(self, pair_index: int) -> dict[Log, int]:
        """The checkpoint that a pair's rounds started from: one put there by hand, else the broker's own."""
        given = self.folder / "given.cleaner-offset-checkpoint"
        if pair_index == 0 and given.exists():
            return _entries(given.read_text().splitlines()[2:])
        return self.checkpoint(self.pairs[pair_index][0])

    def configs(self, pair_index: int, topic: str) -> dict[str, str]:
        """The topic's configs while the rounds of a pair ran, with the dirty ratio that was in effect."""
        after = self.pairs[pair_index][1]
        configs: dict[str, str] = dict(self.facts["stages"][after]["configs"][topic])
        for threshold in self.facts.get("thresholds", []):
            if threshold["stage"] == after:
                configs["min.cleanable.dirty.ratio"] = str(threshold["minCleanableDirtyRatio"])
        return configs

    def rounds(self, pair_index: int) -> list[LoggedRound]:
        """The rounds that the broker logged between the two stages of a pair, in their order."""
        stages = self.facts["stages"]
        before, after = (stages[stage]["takenAtMs"] for stage in self.pairs[pair_index])
        return [_round(r) for r in self.facts.get("rounds", []) if before <= r["startMs"] <= after]

    @cached_property
    def offset_map_limit(self) -> int | None:
        """The number of keys that the broker's offset map could hold; None where it was not made small."""
        return self.facts["map"]["limit"] if "map" in self.facts else None


def golden_cases() -> list[GoldenCase]:
    """All experiments of index.json."""
    return [
        GoldenCase(
            entry["case"],
            tuple((before, after) for before, after in entry["pairs"]),
            json.loads((GOLDEN / entry["case"] / "facts.json").read_text()),
        )
        for entry in json.loads((GOLDEN / "index.json").read_text())
    ]


@cache
def _records_in(path: Path) -> tuple[Record, ...]:
    """A stage's dump; many tests look at the same ones."""
    if path.exists():
        lines = path.read_bytes().splitlines()
    else:
        lines = w08b_dump(offsets_of_ranges(path.with_suffix(".offsets"))).splitlines()
    return tuple(parse_record(orjson.loads(line)) for line in lines)


@cache
def _batches_in(path: Path) -> tuple[tuple[Log, ListedBatch], ...]:
    with path.open(newline="") as lines:
        rows = csv.DictReader(lines, delimiter="\t")
        return tuple(((row["topic"], int(row["partition"])), _batch(row)) for row in rows)


def parse_record(line: dict[str, Any]) -> Record:
    """A line of kcat's -J, or of the base64 dumps of ``w11b``."""
    if "tstype" not in line:
        return _base64_record(line)
    return Record(
        line["topic"],
        line["partition"],
        line["offset"],
        line["ts"],
        _text(line["key"]),
        _text(line["payload"]),
        tuple(zip(line.get("headers", [])[::2], map(_text, line.get("headers", [])[1::2]), strict=True)),
        line["tstype"],
    )


def w08b_dump(offsets: set[int]) -> bytes:
    """The dump of ``w08b`` at ``offsets``: 84,000 records over 60,000 keys, a pause every 14,000 records."""
    start_ms, step_ms, pause_ms = 1_700_000_000_000, 10, 700_000
    lines = []
    for offset in sorted(offsets):
        time_ms = start_ms + step_ms * offset + pause_ms * (offset // 14_000)
        lines.append(
            f'{{"topic":"w08b","partition":0,"offset":{offset},"tstype":"create","ts":{time_ms},"broker":1,'
            f'"key":"{7919 * offset % 60_000:x}","payload":"{offset % 10}"}}\n'
        )
    return "".join(lines).encode()


def offsets_of_ranges(path: Path) -> set[int]:
    """The offsets that lines ``a-b`` (both inclusive) or ``a`` name."""
    offsets: set[int] = set()
    for first, last in _ranges(path):
        offsets.update(range(first, last + 1))
    return offsets


def _ranges(path: Path) -> Iterator[tuple[int, int]]:
    for word in path.read_text().replace(",", " ").split():
        first, _, last = word.partition("-")
        yield int(first), int(last or first)


def _entries(lines: list[str]) -> dict[Log, int]:
    entries = (line.rsplit(" ", 2) for line in lines)
    return {(topic, int(partition)): int(offset) for topic, partition, offset in entries}


def _text(value: str | None) -> bytes | None:
    return None if value is None else value.encode()


def _base64_record(line: dict[str, Any]) -> Record:
    def decode(value: str | None) -> bytes | None:
        return None if value is None else base64.b64decode(value)

    headers = tuple((header["key"], decode(header["value"])) for header in line["headers"])
    where = (line["topic"], line["partition"], line["offset"], line["timestamp"])
    return Record(*where, decode(line["key"]), decode(line["value"]), headers, "create")


def _segment(told: dict[str, int]) -> Segment:
    return Segment(told["baseOffset"], told["bytes"], told["mtimeMs"])


def _batch(row: dict[str, str]) -> ListedBatch:
    return ListedBatch(
        base_offset=int(row["baseOffset"]),
        last_offset=int(row["lastOffset"]),
        record_count=int(row["count"]),
        size_bytes=int(row["bytes"]),
        segment_base_offset=int(row["segment"]),
        codec=row["codec"],
        timestamp_type=row["timestampType"],
        max_timestamp_ms=int(row["maxTimestamp"]),
        producer_id=int(row["producerId"]),
        producer_epoch=int(row["producerEpoch"]),
        is_transactional=row["transactional"] == "1",
        is_control=row["control"] != "-",
        marker=row["control"] if row["control"] in ("COMMIT", "ABORT") else None,
        delete_horizon_ms=None if row["deleteHorizonMs"] == "-" else int(row["deleteHorizonMs"]),
    )


def _round(told: dict[str, Any]) -> LoggedRound:
    topic, _, partition = told["log"].rpartition("-")
    return LoggedRound(
        (topic, int(partition)),
        told.get("horizonNowMs", told["startMs"]),
        told["dirtyFrom"],
        told["dirtyTo"],
        told["messagesRead"],
        told["messagesWritten"],
        told.get("invalidMessagesRead", 0),
    )
