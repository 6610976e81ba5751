"""From a dump to one scan per log: the part of ``dirty-ratio`` that runs in Spark's tasks."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from pyspark.sql import SparkSession

from kcompact.broker.given import Given, GivenLog
from kcompact.broker.log_names import LogName
from kcompact.broker.segment_lists import Segment
from kcompact.broker.state_of_dump import StateOfDump
from kcompact.compact.full import FullIndex, full_index
from kcompact.compact.going_on import goes_on
from kcompact.compact.read_committed import told_by_read_committed
from kcompact.compact.repeats import refuse_conflicts
from kcompact.dirtiness.dirtiness import ScannedLog, Setting, plan_scan
from kcompact.dirtiness.dirty_records import scan_logs
from kcompact.dumps.dump import Dump
from kcompact.engine.in_process import send_in_process
from kcompact.engine.passes.index_pass import plan_index
from kcompact.engine.shuffle import Send, send
from kcompact.engine.tasks import run_tasks
from kcompact.errors import InputError
from kcompact.rules.lookups import lookup_for

SettingsOf = Callable[[str], Sequence[Setting]]
"""The settings to look at a topic's logs under, the configured one first."""


@dataclass(frozen=True)
class ScanRequest:
    """The settings to scan a dump for. ``committed`` is a read_committed dump of the same topics.

    ``state``: what a state folder knows of the dump; None: none was given.
    """

    given: Given
    settings_of: SettingsOf
    state: StateOfDump | None
    folder: Path
    committed: Dump | None = None


def scan_dump(spark: SparkSession, dump: Dump, request: ScanRequest) -> tuple[list[ScannedLog], list[str]]:
    """Every log of the dump, by topic and partition, and notes. Raises InputError."""
    plan = plan_index(dump, request.folder)
    if len(plan.tasks) == 1:
        (found,) = run_tasks(spark, 1, lambda _: scan_rows(send_in_process, dump, request))
        return found
    return scan_rows(partial(send, spark), dump, request)


def scan_rows(send: Send, dump: Dump, request: ScanRequest) -> tuple[list[ScannedLog], list[str]]:
    """As ``scan_dump``; ``send`` says where its stages run."""
    index = full_index(send, dump, request.folder)
    repeats = refuse_conflicts(send, index)
    given, notes = _given(send, index, request)
    return _scan(index, request.settings_of, given), [*index.remarks, *repeats, *notes]


def _scan(index: FullIndex, settings_of: SettingsOf, given: Mapping[int, GivenLog]) -> list[ScannedLog]:
    names = {log_id: LogName(*name) for log_id, name in index.names.items()}
    settings = {log_id: settings_of(log.topic) for log_id, log in names.items()}
    plans = {log_id: plan_scan(given[log_id], settings[log_id]) for log_id in names}
    lookups = {i: lookup_for(given[i], settings[i][0].policy) for i in names}
    scans = scan_logs(index.keyed, index.shares, lookups, plans) if names else {}
    logs = [ScannedLog(log, settings[i], given[i], plans[i], scans[i]) for i, log in names.items()]
    for one in logs:
        _refuse_clash(one)
    return sorted(logs, key=lambda one: one.log)


def _given(send: Send, index: FullIndex, request: ScanRequest) -> tuple[Mapping[int, GivenLog], list[str]]:
    """The knowledge about each log, by log_id, and notes on the assumptions in it."""
    names = {log_id: LogName(*name) for log_id, name in index.names.items()}
    by_name = request.given.for_logs(names.values())
    ends = dict.fromkeys(names, 0)
    for part in index.summaries:
        ends[part.log_id] = max(ends[part.log_id], part.last_offset + 1)
    given: Mapping[int, GivenLog] = {
        i: segments_from_batches(by_name[log], ends[i]) for i, log in names.items()
    }
    silences = request.given.silences(names.values())
    if request.state is not None:
        given, told = goes_on(request.state, index, given)
        silences += told
    if request.committed is None:
        return given, silences
    committed = full_index(send, request.committed, request.folder)
    known, notes = told_by_read_committed(given, index.summaries, committed.summaries)
    return known, [*silences, *notes]


def segments_from_batches(given: GivenLog, end_offset: int) -> GivenLog:
    """Segments that only the batches tell, if they reach the dump's end: as many bytes as their batches."""
    batches = given.batches or ()
    if given.segments is not None or not batches or batches[-1].last_offset + 1 < end_offset:
        return given
    sizes: dict[int, int] = {}
    for batch in batches:
        if batch.segment_base_offset is None:
            return given
        sizes[batch.segment_base_offset] = sizes.get(batch.segment_base_offset, 0) + batch.size_bytes
    return replace(given, segments=tuple(Segment(base, size) for base, size in sorted(sizes.items())))


def _refuse_clash(one: ScannedLog) -> None:
    if one.scan.clashing_offset >= 0:
        raise InputError(
            f"{one.log}: offset {one.scan.clashing_offset} stands in the dump twice, with different keys",
            hint="are these exports of two clusters, or of a topic that was made anew?",
        )
