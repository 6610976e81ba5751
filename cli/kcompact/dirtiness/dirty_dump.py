"""From a dump to one scan per log: the part of ``dirty-ratio`` that runs in Spark's tasks.

First the records of each key are brought together, which shows what each supersedes. Then each log is scanned
once.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

from kcompact.broker.log_context import LogContext
from kcompact.cleaner.shares import Shares
from kcompact.cleaner.tracked import track
from kcompact.compact.context.beside import Beside
from kcompact.compact.context.log_contexts import log_contexts
from kcompact.compact.whole_logs.record_index import RecordIndex, index_records
from kcompact.compact.whole_logs.repeats import refuse_conflicts
from kcompact.dirtiness.dirtiness import ScannedLog, Setting, Values, plan_scan
from kcompact.dirtiness.dirty_scan import SUPERSEDED, LogScan, LogScanner, ScanPlan
from kcompact.dumps.dump import Dump
from kcompact.engine.passes.index_pass import plan_index
from kcompact.engine.passes.summaries import merged
from kcompact.engine.shuffle import Send, Stage, send, send_in_process
from kcompact.engine.tasks import run_tasks
from kcompact.rules.files.segment_files import with_segments_of_batches
from kcompact.rules.files.segment_roller import with_rolled_segments
from kcompact.rules.links import NO_OFFSET, KeyOrder
from kcompact.rules.lookups import Lookup, lookup_for
from kcompact.rules.policy import TopicPolicies
from kcompact.rules.rewriting import log_rows
from kcompact.rules.verdicts import UNKNOWN_HORIZON_MS


@dataclass(frozen=True)
class TopicSettings:
    """The policies to assess a dump's logs under; ``reroll`` and ``values`` as in ``Setting``."""

    policies: TopicPolicies
    reroll: bool = False
    values: Values = ()

    def of(self, topic: str) -> Setting:
        """The setting of one topic."""
        return Setting(self.policies.of(topic), self.reroll, self.values)


def scan_dump(
    spark: SparkSession, dump: Dump, beside: Beside, settings: Sequence[TopicSettings], folder: Path
) -> tuple[list[ScannedLog], list[str]]:
    """The scans of all logs of the dump, in the order of topics and partitions, and notes. Raises InputError.

    ``settings`` are those that the scans must suffice for, the configured ones first.
    """
    plan = plan_index(dump, folder)
    if len(plan.tasks) == 1:
        (result,) = run_tasks(spark, 1, lambda _: _scan(send_in_process, dump, beside, settings, folder))
        return result
    return _scan(partial(send, spark), dump, beside, settings, folder)


def _scan(
    send: Send, dump: Dump, beside: Beside, settings: Sequence[TopicSettings], folder: Path
) -> tuple[list[ScannedLog], list[str]]:
    """As ``scan_dump``; ``send`` says where its stages run."""
    index = index_records(send, dump, folder)
    repeats = refuse_conflicts(send, index)
    contexts, notes = log_contexts(send, index, beside, folder)
    logs = _scanned_logs(index, settings, _with_segments(index, contexts, settings[0]))
    return logs, [*index.remarks, *repeats, *notes]


def _scanned_logs(
    index: RecordIndex, asked: Sequence[TopicSettings], contexts: Mapping[int, LogContext]
) -> list[ScannedLog]:
    names = index.names
    settings = {i: [setting.of(log.topic) for setting in asked] for i, log in names.items()}
    plans = {log_id: plan_scan(contexts[log_id], settings[log_id]) for log_id in names}
    lookups = {i: lookup_for(contexts[i], settings[i][0].policy) for i in names}
    scans = scan_logs(index.keyed, index.shares, lookups, plans) if names else {}
    logs = [ScannedLog(log, settings[i], contexts[i], plans[i], scans[i]) for i, log in names.items()]
    return sorted(logs, key=lambda scanned_log: scanned_log.log)


def _with_segments(
    index: RecordIndex, contexts: Mapping[int, LogContext], configured: TopicSettings
) -> dict[int, LogContext]:
    """The contexts, with the segments of their batches, named or rolled, where these reach the dump's end."""
    known = {}
    for log_id, whole in merged(index.summaries).items():
        log, policy = contexts[log_id], configured.of(index.names[log_id].topic).policy
        if log.batches is not None and log.batches.last_offset >= whole.last_offset:
            log = with_rolled_segments(with_segments_of_batches(log), policy, whole.first_offset)
        known[log_id] = log
    return known


def scan_logs(
    keyed: Stage, shares: Shares, lookups: Mapping[int, Lookup], plans: Mapping[int, ScanPlan]
) -> dict[int, LogScan]:
    """Scans by log id; records that the dump holds several times at one offset count once.

    ``keyed`` is what ``tracked.send_index`` sent.
    """
    tracked = track(keyed, shares, lookups, lambda rows: with_superseded(rows, plans.values()))
    scanners = {log_id: LogScanner(plan) for log_id, plan in plans.items()}
    return {log_id: scanner.finish() for log_id, scanner in tracked.in_turn(scanners, _feed).items()}


def with_superseded(rows: pa.Table, plans: Collection[ScanPlan]) -> pa.Table:
    """Add columns ``superseded_NAME``: the amounts by which each record lowers the totals (SUPERSEDED).

    A record of the dirty section supersedes the one of its key before it in that section. The first one
    supersedes all that the clean section still holds of the key (there, nothing supersedes duplicates).
    """
    keys = KeyOrder.of(rows)
    mapped = keys.is_mapped & ~keys.is_repeated
    is_dirty = keys.offset >= keys.first_dirty_offset
    takes = mapped & is_dirty & (keys.previous_offset != NO_OFFSET)
    from_clean = keys.previous_offset < keys.first_dirty_offset
    starts = np.flatnonzero(~keys.follows)
    for name, values in _superseded_amounts(rows, plans).items():
        ordered = values[keys.order]
        before = np.zeros_like(ordered)
        before[1:] = ordered[:-1]
        clean = np.where(~is_dirty & ~keys.is_repeated, ordered, 0)
        of_group = np.add.reduceat(clean, starts)[keys.group] if len(starts) else clean
        amounts = np.where(takes, np.where(from_clean, of_group, before), 0)
        rows = rows.append_column(f"superseded_{name}", pa.array(keys.unsorted(amounts), pa.int64()))
    return rows


def _superseded_amounts(rows: pa.Table, plans: Collection[ScanPlan]) -> dict[str, np.ndarray]:
    """By name of SUPERSEDED, the amount (int64) that each row counts for when it is superseded."""
    now_ms = next((plan.now_ms for plan in plans), 0)
    is_tombstone = rows["is_tombstone"].to_numpy()
    log_bytes = rows["log_bytes"].to_numpy().astype(np.int64)
    horizon_ms = rows["delete_horizon_ms"].to_numpy()
    is_stamped = is_tombstone & (horizon_ms != UNKNOWN_HORIZON_MS)
    is_due = is_stamped & (horizon_ms <= now_ms)
    values = (
        log_bytes,
        np.ones(rows.num_rows, np.int64),
        is_tombstone.astype(np.int64),
        is_stamped.astype(np.int64),
        is_due.astype(np.int64),
        np.where(is_due, log_bytes, 0),
    )
    return dict(zip(SUPERSEDED, values, strict=True))


def _feed(scanner: LogScanner, rows: pa.Table) -> LogScanner:
    counts = pc.invert(rows["is_repeated"])
    superseded = {name: rows[f"superseded_{name}"].filter(counts).to_numpy() for name in SUPERSEDED}
    scanner.feed(log_rows(rows), superseded)
    return scanner
