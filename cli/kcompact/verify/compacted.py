"""Judge one dump: is it fully compacted, and what could still go?"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from kcompact.verify.bounds import bounds_table
from kcompact.verify.checks import CHECKS
from kcompact.verify.cleaned_end import LogFacts, Reading, ends_table, log_facts, readings_table, with_settled
from kcompact.verify.findings import count_findings, first_findings, found_rows
from kcompact.verify.history import with_history
from kcompact.verify.judge import is_last_record, judged_rows
from kcompact.verify.outcome import JudgedLog, Outcome
from kcompact.verify.pair import alone
from kcompact.verify.question import Question, kept
from kcompact.verify.settling import NONE_SETTLED, SettledLog


def verify_compacted(
    spark: SparkSession,
    after: DataFrame,
    question: Question,
    settled: Mapping[int, SettledLog] = NONE_SETTLED,
    *,
    is_in_order: bool = False,
) -> Outcome:
    """Whether nothing could go any more below the cleaned end; parameters as in ``verify_compaction``.

    The end is the checkpoint if there is one, else whatever bounds every round, else the end of the log.
    """
    question = replace(question, is_strict=True)
    dumps = None if is_in_order else (None, after)
    known = bounds_table(spark, question.logs, question.bounds)
    with kept(with_history(alone(after).join(F.broadcast(known), on="log_id", how="left"))) as rows:
        facts = with_settled(log_facts(rows), settled, question.bounds)
        facts.sort(key=lambda one: question.logs[one.log_id])
        ends = {one.log_id: _end(one) for one in facts}
        readings = [Reading(is_end_given=True, limit_offset=ends[one.log_id]) for one in facts]
        judged = judged_rows(rows, readings_table(spark, facts, readings))
        judged = judged.join(F.broadcast(ends_table(spark, ends)), on="log_id", how="left")
        with kept(found_rows(judged, dumps, known, question)) as findings:
            counts = count_findings(findings)
            shown = first_findings(findings, counts, question)
        assumed = tuple(_later(_left(judged)))
    return Outcome(
        mode="compacted",
        before=(),
        after=question.after_name,
        now_ms=question.now_ms,
        counts=counts,
        severities={check.name: question.severity(check) for check in CHECKS},
        findings=shown,
        logs=tuple(_judged_log(question, one, ends[one.log_id]) for one in facts),
        assumed=assumed,
    )


def _end(facts: LogFacts) -> int:
    """Up to where a log is to be compacted."""
    bounds = (facts.before_end_offset, facts.checkpoint_offset, facts.uncleanable_offset)
    return min(bound for bound in bounds if bound is not None)


def _left(judged: DataFrame) -> Row:
    """What may go later, though not now."""
    waits = F.col("next_offset") >= F.col("end_offset")
    deleted = is_last_record() & F.col("is_tombstone")
    row = judged.agg(F.count_if(waits).alias("waiting"), F.count_if(deleted).alias("tombstones")).first()
    return row if row is not None else Row(waiting=0, tombstones=0)


def _later(left: Row) -> Iterator[str]:
    if left.waiting:
        yield f"{left.waiting:,} records have a later one above the cleaned end: they may go in a later round"
    if left.tombstones:
        yield f"{left.tombstones:,} keys end with a tombstone: it goes when delete.retention.ms is over"


def _judged_log(question: Question, facts: LogFacts, end_offset: int) -> JudgedLog:
    topic, partition = question.logs[facts.log_id]
    return JudgedLog(
        topic=topic,
        partition=partition,
        records_before=facts.records_before,
        records_after=facts.records_after,
        removed={},
        first_dirty_offset=facts.before_first_offset or 0,
        cleaned_end_offset=end_offset,
        cleaned_end_is_given=True,
    )
