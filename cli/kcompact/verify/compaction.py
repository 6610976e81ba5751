"""Judge a pair of dumps: is AFTER a compaction of BEFORE?"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from kcompact.errors import InputError
from kcompact.verify.assumptions import assumptions
from kcompact.verify.bounds import Bounds, bounds_table
from kcompact.verify.checks import CHECKS
from kcompact.verify.cleaned_end import (
    LogFacts,
    Reading,
    cleaned_end,
    ends_table,
    first_dirty_offset,
    log_facts,
    reading_of,
    readings_table,
    with_settled,
)
from kcompact.verify.findings import count_findings, doubtful_from_offset, first_findings, found_rows
from kcompact.verify.history import with_history
from kcompact.verify.judge import judged_rows
from kcompact.verify.outcome import Finding, JudgedLog, Outcome
from kcompact.verify.pair import pair
from kcompact.verify.question import Question, kept
from kcompact.verify.removal import SUPERSEDED, needed_end_offset
from kcompact.verify.retained_bytes import retained_bytes
from kcompact.verify.settling import NONE_SETTLED, SettledLog

LOST = "lost"
"""What the removal of a record is called that has no reason."""

NO_FINDINGS: Mapping[str, int] = MappingProxyType({check.name: 0 for check in CHECKS})


def verify_compaction(
    spark: SparkSession,
    before: DataFrame,
    after: DataFrame,
    question: Question,
    settled: Mapping[int, SettledLog] = NONE_SETTLED,
    *,
    is_in_order: bool = False,
) -> Outcome:
    """Compare two indexes (INDEX_SCHEMA, ``pair.EXTRA``, ``file_id``). Raises InputError.

    BEFORE with one offset twice, with a difference, cannot be judged by. Rows of keys that are ``settled``
    are left out. ``is_in_order``: that AFTER's records are, is known.
    """
    dumps = None if is_in_order else (before, after)
    known = bounds_table(spark, question.logs, question.bounds)
    paired = pair(before, after, question.compared).join(F.broadcast(known), on="log_id", how="left")
    with kept(with_history(paired)) as rows:
        facts = _all_facts(log_facts(rows), settled, question)
        _require_one_truth(facts, question)
        readings = [reading_of(one) for one in facts]
        retained = retained_bytes(spark, rows, facts, question.bounds)
        judged = judged_rows(rows, readings_table(spark, facts, readings, retained))
        removed, doubtful_from = _summed(judged)
        logs = _judged_logs(question, facts, readings, _with_settled(removed, settled, facts, question))
        ends = {one.log_id: log.cleaned_end_offset for one, log in zip(facts, logs, strict=True)}
        if dumps is None and all(offset >= ends[log_id] for log_id, offset in doubtful_from.items()):
            return _outcome(question, facts, logs, NO_FINDINGS, ())  # without the plans that would find none
        with_ends = judged.join(F.broadcast(ends_table(spark, ends)), on="log_id", how="left")
        with kept(found_rows(with_ends, dumps, known, question)) as findings:
            counts = count_findings(findings)
            shown = first_findings(findings, counts, question)
    return _outcome(question, facts, logs, counts, shown)


def settled_compaction(question: Question, settled: Mapping[int, SettledLog]) -> Outcome:
    """The answer where all keys are settled: the rules need not be asked."""
    facts = _all_facts([], settled, question)
    readings = [reading_of(one) for one in facts]
    logs = _judged_logs(question, facts, readings, _with_settled({}, settled, facts, question))
    return _outcome(question, facts, logs, NO_FINDINGS, ())


def _outcome(
    question: Question,
    facts: list[LogFacts],
    logs: list[JudgedLog],
    counts: Mapping[str, int],
    shown: tuple[Finding, ...],
) -> Outcome:
    return Outcome(
        mode="compaction",
        before=question.before_name,
        after=question.after_name,
        now_ms=question.now_ms,
        counts=counts,
        severities={check.name: question.severity(check) for check in CHECKS},
        findings=shown,
        logs=tuple(logs),
        assumed=assumptions(question, facts, logs),
    )


def _all_facts(
    facts: list[LogFacts], settled: Mapping[int, SettledLog], question: Question
) -> list[LogFacts]:
    """In the order of topics and partitions."""
    together = with_settled(facts, settled, question.bounds)
    return sorted(together, key=lambda one: question.logs[one.log_id])


def _require_one_truth(facts: list[LogFacts], question: Question) -> None:
    for of_log in facts:
        if of_log.differing_offset is not None:
            topic, partition = question.logs[of_log.log_id]
            raise InputError(
                f"{', '.join(question.before_name)}: offset {of_log.differing_offset} of {topic}-{partition}"
                " stands there twice, with a difference",
                hint="do these files come from one topic of one cluster? give only what belongs together",
            )


@dataclass(frozen=True)
class Removed:
    """Records of a log that went for one reason, and the smallest cleaned end that lets all of them go."""

    records: int
    needed_end_offset: int | None


def _summed(judged: DataFrame) -> tuple[dict[int, dict[str, Removed]], dict[int, int]]:
    """What went, by log and reason; the cleaned end above which a log can have findings, by log."""
    is_gone = F.col("in_before") & ~F.col("in_after")
    why = F.when(is_gone, F.coalesce("reason", F.lit(LOST)))
    sums = judged.groupBy("log_id", why.alias("why")).agg(
        F.count("*").alias("records"),
        F.max(needed_end_offset()).alias("needed_end_offset"),
        F.min(doubtful_from_offset()).alias("doubtful_from_offset"),
    )
    removed: dict[int, dict[str, Removed]] = {}
    doubtful_from: dict[int, int] = {}
    for row in sums.collect():
        if row.why is not None:
            removed.setdefault(row.log_id, {})[row.why] = Removed(row.records, row.needed_end_offset)
        if row.doubtful_from_offset is not None:
            known = doubtful_from.get(row.log_id, row.doubtful_from_offset)
            doubtful_from[row.log_id] = min(known, row.doubtful_from_offset)
    return removed, doubtful_from


def _with_settled(
    removed: dict[int, dict[str, Removed]],
    settled: Mapping[int, SettledLog],
    facts: list[LogFacts],
    question: Question,
) -> dict[int, dict[str, Removed]]:
    """Add what went of settled keys: all of it because later records replace it."""
    for one in facts:
        log = settled.get(one.log_id)
        if log is None or not log.removed:
            continue
        bounds = question.bounds.get(one.log_id, Bounds())
        due = [bounds.is_due(row, one.first_kept_tombstone) for row in log.tombstones]
        ends = [row[0 if gone else 1] + 1 for row, gone in zip(log.tombstones, due, strict=True)]
        of_log = removed.setdefault(one.log_id, {})
        known = of_log.get(SUPERSEDED, Removed(0, None))
        ends += [end for end in (known.needed_end_offset, log.needed_end_offset) if end is not None]
        of_log[SUPERSEDED] = Removed(known.records + log.removed, max(ends, default=None))
    return removed


def _judged_logs(
    question: Question,
    facts: list[LogFacts],
    readings: list[Reading],
    removed: dict[int, dict[str, Removed]],
) -> list[JudgedLog]:
    return [
        _judged_log(question, one, reading, removed.get(one.log_id, {}))
        for one, reading in zip(facts, readings, strict=True)
    ]


def _judged_log(
    question: Question, facts: LogFacts, reading: Reading, removed: dict[str, Removed]
) -> JudgedLog:
    topic, partition = question.logs[facts.log_id]
    needed = [one.needed_end_offset for one in removed.values() if one.needed_end_offset is not None]
    return JudgedLog(
        topic=topic,
        partition=partition,
        records_before=facts.records_before,
        records_after=facts.records_after,
        removed={reason: removed[reason].records for reason in sorted(removed)},
        first_dirty_offset=first_dirty_offset(facts, reading),
        cleaned_end_offset=cleaned_end(facts, reading, max(needed, default=None)),
        cleaned_end_is_given=reading.is_end_given,
    )
