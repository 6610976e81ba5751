"""One compaction: choose the plain or the full form, run it, judge what it met."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from pyspark.sql import SparkSession

from kcompact.broker.log_names import LogName
from kcompact.compact.crowding import refuse_crowded_offsets
from kcompact.compact.full_form.full import clean_index, full_index, null_key_removals
from kcompact.compact.full_form.full_job import FullJob
from kcompact.compact.full_form.full_totals import add_cleaning
from kcompact.compact.full_form.gap_report import report_gaps
from kcompact.compact.full_form.given_logs import Beside, given_logs
from kcompact.compact.full_form.remembering import KnownByLog
from kcompact.compact.full_form.removed_report import report_removed_keys
from kcompact.compact.full_form.repeats import refuse_conflicts
from kcompact.compact.full_form.survivors import copy_survivors
from kcompact.compact.keys_across_partitions import SharedKeys
from kcompact.compact.plain import PlainScan, run_plain
from kcompact.compact.plain_copying import PlainJob, RenderGaps, RenderRemoved
from kcompact.compact.totals import (
    Outcome,
    overlapping,
    overtaken_files,
    plain_outcome,
    summarise_logs,
    unsorted_files,
)
from kcompact.dumps.dump import Dump
from kcompact.dumps.files.filters import logs_left_out, refuse_unmatched
from kcompact.dumps.judging import files_left_out, judge, refuse_doubts
from kcompact.dumps.output.workplace import Workplace
from kcompact.dumps.records.layout import SplitNotes
from kcompact.dumps.writers.converting import Copier
from kcompact.engine.in_process import send_in_process
from kcompact.engine.passes.index_pass import IndexPlan, plan_index
from kcompact.engine.passes.summaries import LogSummary, log_names
from kcompact.engine.shuffle import Send, send
from kcompact.engine.tasks import run_tasks
from kcompact.errors import InputError
from kcompact.rules.cleaned_log import LogCleaning
from kcompact.rules.policy import Policy

DUMP_BYTES_PER_MERGE_TASK = 256 << 20  # each reads its share in as many passes as it takes
MOST_MERGE_TASKS = 512
LARGEST_SINGLE_TASK_BYTES = 64 << 20  # of a dump that cannot be cut: its task holds all keys


@dataclass(frozen=True)
class Renderings:
    """How the workers write their parts of the report (report/ gives them; rules do not render)."""

    removed_keys: RenderRemoved
    gaps: RenderGaps


@dataclass(frozen=True)
class Request:
    """The work to do on a dump. ``copier`` None: nothing is copied (a dry run).

    ``plain``: nothing asks for more than the plain form. ``policy`` is that of no topic in particular.
    """

    policy: Policy
    policy_of: Callable[[str], Policy]
    beside: Beside
    folder: Path
    workplace: Workplace
    copier: Copier | None
    renderings: Renderings
    plain: bool = True


@dataclass
class Compacted:
    """The result: figures and pieces of reports, keys in several partitions, notes for the user."""

    outcome: Outcome
    shared_keys: SharedKeys
    notes: list[str]
    plan: IndexPlan
    cleanings: Mapping[int, LogCleaning] = field(default_factory=dict)  # by log id; the full form's
    known: KnownByLog = field(default_factory=dict)  # by log id; where there is a state
    overtaken: set[tuple[int, int]] = field(default_factory=set)  # see overtaken_files
    left_out: frozenset[int] = frozenset()  # see files_left_out


def is_plain(policy: Policy) -> bool:
    """Whether the plain form can express a policy: one closed log that was never cleaned."""
    return (
        policy.cleanup_policy == {"compact"}
        and policy.min_compaction_lag_ms == 0
        and policy.segment_bytes is None
        and policy.segment_ms is None
        and policy.log_cleaner_dedupe_buffer_size is None
        and policy.null_keys != "keep"
        and not policy.respect_dirty_ratio
    )


def compact_dump(spark: SparkSession, dump: Dump, request: Request) -> Compacted:
    """Compact a dump under its policies; its parts lie in ``request.folder`` afterwards."""
    if request.plain:
        done = _compact_plain(spark, dump, request)
        if done is not None:
            return done
    return _compact_full(spark, dump, request)


def _compact_plain(spark: SparkSession, dump: Dump, request: Request) -> Compacted | None:
    """None: the dump is out of order, or may hold an offset twice, which the plain form cannot tell."""
    plan = plan_index(dump, request.folder)
    job = PlainJob(
        plan,
        request.workplace,
        request.copier,
        request.renderings.removed_keys,
        request.renderings.gaps,
        drop_tombstones=request.policy.drop_tombstones,
    )
    remarks: list[str] = []
    file_ids = {split.split_id: split.file_id for split in plan.splits.values()}

    def is_in_order(scan: PlainScan) -> bool:
        remarks.extend(judge(dump, plan.splits, scan.notes))
        refuse_unmatched(dump.options, log_names(scan.summaries), logs_left_out(scan.notes.values()))
        refuse_crowded_offsets(scan.summaries)
        _refuse_doubts(dump, plan, scan.notes, request)
        null_keys = sum(part.null_keys for part in scan.summaries)
        refuse_null_keys(scan.summaries, request.policy, null_keys)
        return not overlapping(scan.summaries) and not unsorted_files(scan.summaries, file_ids)

    run = run_plain(spark, job, merge_tasks(dump, plan, spark_parallelism(spark)), is_in_order)
    if run is None:
        return None
    outcome = plain_outcome(run.scan.summaries, run.copied, run.fragments, request.renderings.gaps)
    done = Compacted(outcome, run.shared_keys, remarks, plan)
    done.overtaken = overtaken_files(run.scan.summaries, file_ids)
    done.left_out = files_left_out(dump, plan.splits, run.scan.notes)
    return done


def _compact_full(spark: SparkSession, dump: Dump, request: Request) -> Compacted:
    """In one task where one reads the whole dump, else as stages of Spark."""
    plan = plan_index(dump, request.folder)
    if merge_tasks(dump, plan, 1) == 1 and not request.workplace.is_afar:
        (done,) = run_tasks(spark, 1, lambda _: compact_rows(send_in_process, dump, request))
        return done
    return compact_rows(partial(send, spark), dump, request)


def compact_rows(send: Send, dump: Dump, request: Request) -> Compacted:
    """The full form; ``send`` says where its stages run."""
    index = full_index(send, dump, request.folder)
    _refuse_doubts(dump, index.plan, index.notes, request)
    if not index.summaries:
        if request.beside.state is not None:
            request.beside.state.check_logs({})
        nothing = Compacted(Outcome([], [], [], []), SharedKeys(), index.remarks, index.plan)
        nothing.left_out = files_left_out(dump, index.plan.splits, index.notes)
        return nothing
    given, assumed = given_logs(send, index, request.beside, request.folder)
    repeats = refuse_conflicts(send, index)
    cleaning = clean_index(index, given, request.policy_of)
    refuse_null_keys(index.summaries, request.policy, null_key_removals(cleaning.logs))
    job = FullJob(
        index.plan,
        request.workplace,
        request.copier,
        request.renderings.removed_keys,
        request.renderings.gaps,
        index.names,
        index.sorted_files,
        has_state=request.beside.state is not None,
    )
    logs = summarise_logs(index.summaries)
    for log_id, log in logs.items():
        add_cleaning(log, cleaning.logs[log_id])
    fragments = copy_survivors(cleaning, job)
    gaps = report_gaps(cleaning, job, logs)
    keys = report_removed_keys(cleaning, job, logs)
    outcome = Outcome(list(logs.values()), fragments, keys.pieces, gaps)
    remarks = [*index.remarks, *repeats, *assumed]
    done = Compacted(outcome, keys.shared, remarks, index.plan, cleaning.logs, keys.known)
    file_ids = {split.split_id: split.file_id for split in index.plan.splits.values()}
    done.overtaken = overtaken_files(index.summaries, file_ids)
    done.left_out = files_left_out(dump, index.plan.splits, index.notes)
    done.notes += [_sorted_note(dump, file_id) for file_id in sorted(index.sorted_files)]
    by_name = sorted((LogName(*index.names[i]), log) for i, log in cleaning.logs.items())
    done.notes += [f"{name}: {text}" for name, log in by_name for text in log.notes]
    return done


def _sorted_note(dump: Dump, file_id: int) -> str:
    return f"{dump.files[file_id].path} is not in offset order: its output is, partition by partition"


def _refuse_doubts(dump: Dump, plan: IndexPlan, notes: Mapping[int, SplitNotes], request: Request) -> None:
    """A record without a key and one with an empty key always end differently; tombstones rarely do."""
    reasons = {"key": "which records stay"}
    if request.policy.drop_tombstones:
        reasons["value"] = "--drop-tombstones"
    refuse_doubts(dump, plan.splits, notes, reasons)


def spark_parallelism(spark: SparkSession) -> int:
    """How many tasks run side by side; Connect does not tell, so two are assumed there."""
    context = getattr(spark, "_sc", None)
    return int(context.defaultParallelism) if context is not None else 2


def merge_tasks(dump: Dump, plan: IndexPlan, parallelism: int) -> int:
    """How many tasks share the keys of the plain form; 1 where it need not even be cut into jobs."""
    if len(plan.tasks) == 1 and dump.data_bytes <= LARGEST_SINGLE_TASK_BYTES:
        return 1
    return min(max(parallelism, 2, dump.data_bytes // DUMP_BYTES_PER_MERGE_TASK), MOST_MERGE_TASKS)


def refuse_null_keys(summaries: list[LogSummary], policy: Policy, removals: int) -> None:
    """Raise where records without key would be removed and the user has not said that they may (R20)."""
    found = [summary for summary in summaries if summary.null_keys]
    if policy.null_keys != "error" or not removals or not found:
        return
    first, records = found[0], sum(summary.null_keys for summary in found)
    place = f"{first.topic}-{first.partition} offset {', '.join(map(str, first.null_key_offsets))}"
    raise InputError(
        f"records without a key: {records:,}, of which {removals:,} would be removed;"
        f" the first are at {place}",
        hint="keep them with --null-keys keep, or lose them, deletes among them, with --null-keys drop, as a"
        " broker's cleaner would; if a field of the value is the key, name it with --key-field FIELD,"
        " and change events with --cdc",
    )
