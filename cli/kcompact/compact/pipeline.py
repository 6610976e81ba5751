"""One compaction: read and check the dump, decide on its records, copy what stays and report the others."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from pyspark.sql import SparkSession

from kcompact.broker.log_names import LogName, said_of_logs
from kcompact.compact.context.beside import Beside
from kcompact.compact.offset_maps.decided_keys import decide_by_key
from kcompact.compact.offset_order import order_of_files
from kcompact.compact.output.compact_job import CompactJob
from kcompact.compact.output.stages import KeyFigures, write
from kcompact.compact.request import Compacted, Decided, Form, Request
from kcompact.compact.totals import CompactionOutcome, add_cleaning, outcome_of
from kcompact.dumps.dump import Dump
from kcompact.dumps.note_checks import files_left_out
from kcompact.engine.passes.index_pass import IndexPlan, plan_index
from kcompact.engine.shuffle import Send, send, send_in_process
from kcompact.engine.tasks import run_tasks
from kcompact.rules.cleaned_log import LogCleaning
from kcompact.rules.policy import Policy

DUMP_BYTES_PER_MERGE_TASK = 256 << 20  # each reads its share in as many passes as it takes
MOST_MERGE_TASKS = 512
LARGEST_SINGLE_TASK_BYTES = 64 << 20  # of a dump that cannot be cut: its task holds all keys


def form_for(beside: Beside, policies: Sequence[Policy]) -> Form:
    """The cheapest way to decide on records under these policies, with these facts beside the dump."""
    is_simple = beside.committed is None and beside.context.tells_rounds_alone
    return Form.KEYS if is_simple and _ask_one_round(policies) else Form.RECORDS


def _ask_one_round(policies: Sequence[Policy]) -> bool:
    """Whether all policies only compact, without segments or dirty ratio, and have the same minimum lag."""
    return len({policy.min_compaction_lag_ms for policy in policies}) == 1 and all(
        policy.cleanup_policy == {"compact"}
        and policy.segment_bytes is None
        and policy.segment_ms is None
        and not policy.respect_dirty_ratio
        for policy in policies
    )


def compact_dump(spark: SparkSession, dump: Dump, request: Request) -> Compacted:
    """Compact a dump under its policies; the parts of the output lie in ``request.folder`` afterwards.

    This is done in one task if one task can read the whole dump, else in stages of Spark.
    """
    plan = plan_index(dump, request.folder)
    if merge_tasks(dump, plan, 1) == 1 and not request.workplace.is_afar:
        (done,) = run_tasks(spark, 1, lambda _: compact_rows(send_in_process, dump, request, plan, 1))
        return done
    merging = merge_tasks(dump, plan, spark_parallelism(spark))
    return compact_rows(partial(send, spark), dump, request, plan, merging)


def compact_rows(send: Send, dump: Dump, request: Request, plan: IndexPlan, merging: int) -> Compacted:
    """Compact by key, in ``merging`` tasks, if possible; else by record. ``send`` runs the stages."""
    decided = None
    if request.form is Form.KEYS:
        decided = decide_by_key(send, dump, request, plan, merging)
    if decided is None:
        from kcompact.compact.whole_logs.decided_records import decide_by_record  # others start quicker

        decided = decide_by_record(send, dump, request)
    return compacted(dump, decided)


def compacted(dump: Dump, decided: Decided) -> Compacted:
    """Copy the survivors, write the reports, and put together the results of all tasks."""
    scan, outcome, figures = decided.scan, CompactionOutcome([], [], [], []), KeyFigures()
    ranks = order_of_files(scan.summaries, scan.file_ids) if scan.overtaken else {}
    # If there is such an order, files are joined in it, and none overtakes another any more.
    overtaken = set() if ranks else scan.overtaken
    if decided.stages is not None:
        job = _in_order(decided.job, ranks, scan.file_ids)
        written = write(decided.stages, job, scan.summaries)
        figures = written.figures
        if ranks:
            written.fragments.sort(key=lambda fragment: ranks[scan.file_ids[fragment.split_id]])
        outcome = outcome_of(scan.summaries, written.stretches, written.logs, written.fragments)
    for log in outcome.logs:
        add_cleaning(log, decided.cleanings[log.log_id])
    notes = [*scan.remarks, *decided.notes, *_notes_of(decided.cleanings, scan.names)]
    left_out = files_left_out(dump, scan.notes)
    return Compacted(
        outcome, figures.shared, notes, scan.plan, decided.cleanings, figures.known, overtaken, left_out
    )


def _in_order(job: CompactJob, ranks: Mapping[int, int], file_ids: Mapping[int, int]) -> CompactJob:
    """``job`` with the places of splits among its part files on a store, if it writes there.

    Splits come in the order of the ``ranks`` of their files, if there are any. ``file_ids``: by split.
    """
    parts = job.workplace.parts
    if parts is None or not (ranks or parts.folders):
        return job
    splits = sorted(file_ids, key=lambda split_id: (ranks.get(file_ids[split_id], 0), split_id))
    places = {split_id: place for place, split_id in enumerate(splits)}
    return replace(job, workplace=replace(job.workplace, parts=replace(parts, places=places)))


def _notes_of(cleanings: Mapping[int, LogCleaning], names: Mapping[int, LogName]) -> list[str]:
    """The notes on logs, by topic and partition. A text that several logs have becomes one note."""
    return said_of_logs((names[i], text) for i, log in cleanings.items() for text in log.notes)


def spark_parallelism(spark: SparkSession) -> int:
    """How many tasks run side by side; Connect does not tell, so two are assumed there."""
    context = getattr(spark, "_sc", None)
    return int(context.defaultParallelism) if context is not None else 2


def merge_tasks(dump: Dump, plan: IndexPlan, parallelism: int) -> int:
    """How many tasks share the keys: 1 if a single task can read the dump and decide on it."""
    if len(plan.tasks) == 1 and dump.data_bytes <= LARGEST_SINGLE_TASK_BYTES:
        return 1
    return min(max(parallelism, 2, dump.data_bytes // DUMP_BYTES_PER_MERGE_TASK), MOST_MERGE_TASKS)
