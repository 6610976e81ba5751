"""One compaction: choose the plain or the full form, run it, check what it met."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from pyspark.sql import SparkSession

from kcompact.compact.crowding import refuse_crowded_offsets
from kcompact.compact.full_form.full import clean_index, full_index, null_key_removals
from kcompact.compact.full_form.full_job import FullJob
from kcompact.compact.full_form.full_totals import add_cleaning
from kcompact.compact.full_form.gap_report import report_gaps
from kcompact.compact.full_form.log_contexts import Beside, log_contexts
from kcompact.compact.full_form.removed_report import report_removed_keys
from kcompact.compact.full_form.repeats import refuse_conflicts
from kcompact.compact.full_form.survivors import copy_survivors
from kcompact.compact.keys_across_partitions import SharedKeys
from kcompact.compact.plain import PlainScan, run_plain
from kcompact.compact.plain_copying import PlainJob
from kcompact.compact.request import Compacted, Form, Request, refuse_doubtful, refuse_null_keys
from kcompact.compact.round_form.one_round import compact_one_round, notes_of
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
from kcompact.dumps.note_checks import check_notes, files_left_out
from kcompact.engine.in_process import send_in_process
from kcompact.engine.passes.index_pass import IndexPlan, plan_index
from kcompact.engine.passes.summaries import log_names
from kcompact.engine.shuffle import Send, send
from kcompact.engine.tasks import run_tasks
from kcompact.rules.policy import Policy

DUMP_BYTES_PER_MERGE_TASK = 256 << 20  # each reads its share in as many passes as it takes
MOST_MERGE_TASKS = 512
LARGEST_SINGLE_TASK_BYTES = 64 << 20  # of a dump that cannot be cut: its task holds all keys


def form_for(beside: Beside, policies: Sequence[Policy], *, tells_rounds: bool) -> Form:
    """The cheapest form that can do what is asked. ``tells_rounds``: figures of rounds are wanted anyhow."""
    if not (beside.committed is None and beside.context.tells_rounds_alone and _ask_one_round(policies)):
        return Form.FULL
    is_plain = beside.state is None and beside.context.is_empty and all(map(_is_plain, policies))
    return Form.PLAIN if is_plain and not tells_rounds else Form.ONE_ROUND


def _ask_one_round(policies: Sequence[Policy]) -> bool:
    """Whether no policy asks for more than rounds that full maps end, and all have the same lag."""
    return len({policy.min_compaction_lag_ms for policy in policies}) == 1 and all(
        policy.cleanup_policy == {"compact"}
        and policy.segment_bytes is None
        and policy.segment_ms is None
        and not policy.respect_dirty_ratio
        for policy in policies
    )


def _is_plain(policy: Policy) -> bool:
    return (
        policy.min_compaction_lag_ms == 0
        and policy.log_cleaner_dedupe_buffer_size is None
        and policy.null_keys != "keep"
    )


def compact_dump(spark: SparkSession, dump: Dump, request: Request) -> Compacted:
    """Compact a dump under its policies; its parts lie in ``request.folder`` afterwards."""
    if request.form is Form.PLAIN:
        done = _compact_plain(spark, dump, request)
        # What it cannot tell one round could not either.
        return done or _in_stages(spark, dump, replace(request, form=Form.FULL))
    return _in_stages(spark, dump, request)


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
        remarks.extend(check_notes(dump, plan.splits, scan.notes))
        refuse_unmatched(dump.options, log_names(scan.summaries), logs_left_out(scan.notes.values()))
        refuse_crowded_offsets(scan.summaries)
        refuse_doubtful(dump, plan, scan.notes, request)
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


def _in_stages(spark: SparkSession, dump: Dump, request: Request) -> Compacted:
    """In one task where one reads the whole dump, else as stages of Spark."""
    plan = plan_index(dump, request.folder)
    if merge_tasks(dump, plan, 1) == 1 and not request.workplace.is_afar:
        (done,) = run_tasks(spark, 1, lambda _: compact_rows(send_in_process, dump, request, 1))
        return done
    merging = merge_tasks(dump, plan, spark_parallelism(spark))
    return compact_rows(partial(send, spark), dump, request, merging)


def compact_rows(send: Send, dump: Dump, request: Request, merging: int) -> Compacted:
    """Rounds in two passes where it can be, by so many merge tasks, else the full form.

    ``send``: where stages run.
    """
    done = compact_one_round(send, dump, request, merging) if request.form is Form.ONE_ROUND else None
    return done or compact_fully(send, dump, request)


def compact_fully(send: Send, dump: Dump, request: Request) -> Compacted:
    """The full form; ``send`` says where its stages run."""
    index = full_index(send, dump, request.folder)
    refuse_doubtful(dump, index.plan, index.notes, request)
    if not index.summaries:
        if request.beside.state is not None:
            request.beside.state.check_logs({})
        nothing = Compacted(Outcome([], [], [], []), SharedKeys(), index.remarks, index.plan)
        nothing.left_out = files_left_out(dump, index.plan.splits, index.notes)
        return nothing
    context, assumed = log_contexts(send, index, request.beside, request.folder)
    repeats = refuse_conflicts(send, index)
    cleaning = clean_index(index, context, request.policy_of)
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
    done.notes += notes_of(cleaning.logs, index.names)
    return done


def _sorted_note(dump: Dump, file_id: int) -> str:
    return f"{dump.files[file_id].path} is not in offset order: its output is, partition by partition"


def spark_parallelism(spark: SparkSession) -> int:
    """How many tasks run side by side; Connect does not tell, so two are assumed there."""
    context = getattr(spark, "_sc", None)
    return int(context.defaultParallelism) if context is not None else 2


def merge_tasks(dump: Dump, plan: IndexPlan, parallelism: int) -> int:
    """How many tasks share the keys of the plain form; 1 where it need not even be cut into jobs."""
    if len(plan.tasks) == 1 and dump.data_bytes <= LARGEST_SINGLE_TASK_BYTES:
        return 1
    return min(max(parallelism, 2, dump.data_bytes // DUMP_BYTES_PER_MERGE_TASK), MOST_MERGE_TASKS)
