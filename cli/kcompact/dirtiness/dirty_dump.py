"""From a dump to one scan per log: the part of ``dirty-ratio`` that runs in Spark's tasks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pyspark.sql import SparkSession

from kcompact.broker.log_context import LogContext
from kcompact.broker.log_names import LogName
from kcompact.compact.context.beside import Beside
from kcompact.compact.context.log_contexts import log_contexts
from kcompact.compact.whole_logs.record_index import RecordIndex, index_records
from kcompact.compact.whole_logs.repeats import refuse_conflicts
from kcompact.dirtiness.dirtiness import ScannedLog, Setting, plan_scan
from kcompact.dirtiness.dirty_records import scan_logs
from kcompact.dumps.dump import Dump
from kcompact.engine.in_process import send_in_process
from kcompact.engine.passes.index_pass import plan_index
from kcompact.engine.shuffle import Send, send
from kcompact.engine.tasks import run_tasks
from kcompact.errors import InputError
from kcompact.rules.files.segment_files import with_segments_of_batches
from kcompact.rules.lookups import lookup_for
from kcompact.rules.policy import TopicPolicies


@dataclass(frozen=True)
class TopicSettings:
    """The policies to look at a dump's logs under; ``reroll`` as in ``Setting``."""

    policies: TopicPolicies
    reroll: bool = False

    def of(self, topic: str) -> Setting:
        """The setting of one topic."""
        return Setting(self.policies.of(topic), self.reroll)


@dataclass(frozen=True)
class ScanRequest:
    """The settings to scan a dump for, the configured ones first, and what is known beside it."""

    beside: Beside
    settings: Sequence[TopicSettings]
    folder: Path


def scan_dump(spark: SparkSession, dump: Dump, request: ScanRequest) -> tuple[list[ScannedLog], list[str]]:
    """Every log of the dump, by topic and partition, and notes. Raises InputError."""
    plan = plan_index(dump, request.folder)
    if len(plan.tasks) == 1:
        (result,) = run_tasks(spark, 1, lambda _: scan_rows(send_in_process, dump, request))
        return result
    return scan_rows(partial(send, spark), dump, request)


def scan_rows(send: Send, dump: Dump, request: ScanRequest) -> tuple[list[ScannedLog], list[str]]:
    """As ``scan_dump``; ``send`` says where its stages run."""
    index = index_records(send, dump, request.folder)
    repeats = refuse_conflicts(send, index)
    context, notes = log_contexts(send, index, request.beside, request.folder)
    return _scan(index, request.settings, _with_segments(index, context)), [
        *index.remarks,
        *repeats,
        *notes,
    ]


def _scan(
    index: RecordIndex, asked: Sequence[TopicSettings], contexts: Mapping[int, LogContext]
) -> list[ScannedLog]:
    names = {log_id: LogName(*name) for log_id, name in index.names.items()}
    settings = {i: [setting.of(log.topic) for setting in asked] for i, log in names.items()}
    plans = {log_id: plan_scan(contexts[log_id], settings[log_id]) for log_id in names}
    lookups = {i: lookup_for(contexts[i], settings[i][0].policy) for i in names}
    scans = scan_logs(index.keyed, index.shares, lookups, plans) if names else {}
    logs = [ScannedLog(log, settings[i], contexts[i], plans[i], scans[i]) for i, log in names.items()]
    for scanned_log in logs:
        _refuse_clash(scanned_log)
    return sorted(logs, key=lambda scanned_log: scanned_log.log)


def _with_segments(index: RecordIndex, contexts: Mapping[int, LogContext]) -> dict[int, LogContext]:
    """Segments known from batches alone count where the batches reach the dump's end."""
    ends = dict.fromkeys(contexts, 0)
    for part in index.summaries:
        ends[part.log_id] = max(ends[part.log_id], part.last_offset + 1)
    return {
        i: with_segments_of_batches(log)
        if log.batches is not None and log.batches.last_offset + 1 >= ends[i]
        else log
        for i, log in contexts.items()
    }


def _refuse_clash(log: ScannedLog) -> None:
    if log.scan.clashing_offset >= 0:
        raise InputError(
            f"{log.log}: offset {log.scan.clashing_offset} stands in the dump twice, with different keys",
            hint="are these exports of two clusters, or of a topic that was made anew?",
        )
