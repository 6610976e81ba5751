"""Ten billion records in a terabyte, as plans and figures: no Spark, no byte of a dump."""

import json
import pickle
import tracemalloc
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pytest

from kcompact.broker.log_names import LogName
from kcompact.compact.offset_order import overlapping, unsorted_files
from kcompact.compact.output.csv_parts import render_gaps
from kcompact.compact.output.reporting import ReportedLog
from kcompact.compact.totals import CompactionOutcome, outcome_of
from kcompact.dumps.dump import Dump
from kcompact.dumps.files.origin import Origin
from kcompact.dumps.options import NOTHING_LEFT_OUT, ReadOptions
from kcompact.dumps.records.layout import DumpFile, SplitNotes
from kcompact.engine.passes.grouped_rows import location_of, record_bytes_of, split_of
from kcompact.engine.passes.index_pass import LARGEST_SPLIT_BYTES, TASK_SHIFT, IndexPlan, plan_index
from kcompact.engine.passes.summaries import LogSummary, SplitSummary, packed, unpacked
from kcompact.report.compact.compaction_report import CompactionReport, render_json
from kcompact.storage.object_reading import ObjectStamp

PARTITIONS, OBJECTS = 10, 100
OBJECT_BYTES = 10_000_000_000
RANGE_BYTES = 16 << 20  # where objects may be cut
FIRST_OFFSET = 3_000_000_000  # beyond 31 bits
SPLITS_OF_AN_OBJECT = -(-OBJECT_BYTES // (LARGEST_SPLIT_BYTES // RANGE_BYTES * RANGE_BYTES))
DRIVER_BYTES_PER_SPLIT = 4_000
MIB = 1 << 20


@dataclass(frozen=True)
class Size:
    """Every record is of equal size, and every tenth of a log stays: the last of each ten."""

    records: int

    @property
    def of_a_partition(self) -> int:
        return self.records // PARTITIONS

    def offsets(self, split_start: int, split_end: int, object_id: int) -> tuple[int, int]:
        """The offsets [start, end) of the records in a range of an object."""
        per_object = self.of_a_partition * PARTITIONS // OBJECTS
        before = FIRST_OFFSET + object_id // PARTITIONS * per_object
        return (
            before + split_start * per_object // OBJECT_BYTES,
            before + split_end * per_object // OBJECT_BYTES,
        )


TEN_BILLION = Size(10_000_000_000)


def ranges() -> tuple[tuple[int, int], ...]:
    """Where an object may be cut, anew for each: plans are not to be small because objects are alike."""
    return tuple(pairwise([*range(0, OBJECT_BYTES, RANGE_BYTES), OBJECT_BYTES]))


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> IndexPlan:
    files = tuple(
        DumpFile(n, f"s3://b/t/{n}", f"s3://b/t/{n}", OBJECT_BYTES, "json_lines", None, origin=origin)
        for n in range(OBJECTS)
        for origin in [Origin(((f"s3://b/t/{n}", ObjectStamp(OBJECT_BYTES, "e")),), ranges(), is_plain=True)]
    )
    dump = Dump(files, ReadOptions(), ExitStack(), {}, NOTHING_LEFT_OUT)
    return plan_index(dump, tmp_path_factory.mktemp("run"))


def test_every_byte_is_of_one_split_and_every_split_of_one_task(plan: IndexPlan) -> None:
    ends: dict[int, int] = {}
    for task in plan.tasks:
        for split in task:
            assert split.start == ends.get(split.file_id, 0)
            assert 0 < split.end - split.start <= LARGEST_SPLIT_BYTES
            ends[split.file_id] = split.end
    assert ends == dict.fromkeys(range(OBJECTS), OBJECT_BYTES)
    assert len(plan.splits) == SPLITS_OF_AN_OBJECT * OBJECTS == 3_800
    assert max(plan.splits) < 1 << 31
    assert all(plan.split(split_id) is split for split_id, split in plan.splits.items())


def test_the_location_of_a_record_holds_the_last_split_and_the_largest_record(plan: IndexPlan) -> None:
    last, largest = max(plan.splits), (1 << 31) - 1

    location = location_of(np.array([last]), np.array([largest]), np.array([1]))

    assert (split_of(location)[0], record_bytes_of(location)[0]) == (last, largest)
    assert last >> TASK_SHIFT == len(plan.tasks) - 1


def test_a_plan_is_small_on_its_way_to_tasks(plan: IndexPlan) -> None:
    assert len(pickle.dumps(plan)) < MIB


class OfOneLog(SplitSummary):
    """The summary of a split whose records are not there to be added up."""

    def __init__(self, log: LogSummary) -> None:
        super().__init__(log.split_id, SplitNotes(logs={log.partition: LogName("t", log.partition)}))
        self._log = log

    def logs(self) -> list[LogSummary]:
        """The log, whole."""
        return [self._log]


def scanned(plan: IndexPlan, size: Size) -> list[bytes]:
    """What the reading tasks send the driver."""
    sent = []
    for task in plan.tasks:
        splits = []
        for split in task:
            start, end = size.offsets(split.start, split.end, split.file_id)
            partition = split.file_id % PARTITIONS
            log = LogSummary(split.split_id, partition, "t", partition, end - start, split.end - split.start)
            log.first_offset, log.last_offset, log.runs = start, end - 1, np.array([[start, end]])
            splits.append(OfOneLog(log))
        sent.append(packed(splits, with_runs=False))
    return sent


def copied(plan: IndexPlan, size: Size) -> list[ReportedLog]:
    """What the copying tasks tell: of each ten offsets, from 0 on, the last one stays."""
    logs = []
    for number, task in enumerate(plan.tasks):
        for split in task:
            start, end = size.offsets(split.start, split.end, split.file_id)
            first, last, kept = -(start + 1) % 10 + start, (end - 10) // 10 * 10 + 9, end // 10 - start // 10
            logs.append(
                ReportedLog(
                    split.split_id,
                    split.file_id % PARTITIONS,
                    f"{number:06}",
                    *(first, kept, kept, kept * 100, 0, first, last),
                    *(first - start, last + 1 - start),
                    *(kept, (0, 0), max(kept - 1, 0), 9 * max(kept - 1, 0), 0, (0, 0)),
                )
            )
    return logs


def compacted(plan: IndexPlan, size: Size) -> tuple[CompactionOutcome, int]:
    """The figures of a run, and the most memory that the driver took for them beside what tasks sent."""
    sent, parts = scanned(plan, size), copied(plan, size)
    render_gaps([LogName("t", 0)], [1], np.array([[0, 1, 1]]))  # what it imports is no figure of a run
    tracemalloc.start()
    try:
        summaries, _ = unpacked(sent)
        file_ids = {split.split_id: split.file_id for split in plan.splits.values()}
        assert not overlapping(summaries)
        assert not unsorted_files(summaries, file_ids)
        outcome = outcome_of(summaries, summaries, parts, [])
        return outcome, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.slow
def test_the_figures_of_ten_billion_records_are_exact_and_take_memory_by_splits_alone(
    plan: IndexPlan,
) -> None:
    outcome, peak = compacted(plan, TEN_BILLION)

    each, end = TEN_BILLION.of_a_partition, FIRST_OFFSET + TEN_BILLION.of_a_partition
    assert sum(log.records for log in outcome.logs) == TEN_BILLION.records > 1 << 32
    assert sum(log.record_bytes for log in outcome.logs) == OBJECTS * OBJECT_BYTES
    for log in outcome.logs:
        assert (log.records, log.kept, log.removed_keys) == (each, each // 10, each // 10)
        assert (log.first_offset, log.last_offset) == (FIRST_OFFSET, end - 1)
        assert (log.first_kept_offset, log.last_kept_offset) == (FIRST_OFFSET + 9, end - 1)
        assert (log.gaps, log.gap_offsets, log.gap_offsets_missing_before) == (each // 10, each // 10 * 9, 0)
    assert last_log(outcome)["records"] == each
    assert peak < DRIVER_BYTES_PER_SPLIT * len(plan.splits)


def last_log(outcome: CompactionOutcome) -> dict[str, int]:
    """The last log as ``report.json`` says it."""
    report = CompactionReport(
        outcome.logs, inputs=[], outputs=[], policies={}, recognised=[], notes=[], warnings=[]
    )
    return json.loads(render_json(report))["logs"][-1]
