"""From judged rows to findings: counted in full, shown up to a limit in the order of logs and offsets."""

from functools import reduce

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F

from kcompact.verify.changed_record import CHECK as CHANGED
from kcompact.verify.check import Check
from kcompact.verify.checks import CHECKS, ROW_CHECKS
from kcompact.verify.moved_offset import with_moves
from kcompact.verify.outcome import Finding
from kcompact.verify.question import Question
from kcompact.verify.reordered_records import CHECK as REORDERED
from kcompact.verify.reordered_records import reordered


def found_rows(
    judged: DataFrame,
    dumps: tuple[DataFrame | None, DataFrame] | None,
    known: DataFrame,
    question: Question,
) -> DataFrame:
    """One row per finding: a judged row (or a record out of order) and the ``check`` that found it.

    ``dumps`` are the index rows of BEFORE (None: AFTER stands alone) and AFTER; None where AFTER is known
    to be in order. ``known`` is the bounds_table.
    """
    if dumps is None:
        return _row_findings(judged, question.compared)
    out_of_order = reordered(*dumps).withColumn("check", F.lit(REORDERED.name))
    numbers = F.broadcast(known.select("log_id", "log_number"))
    return _row_findings(judged, question.compared).unionByName(
        out_of_order.join(numbers, on="log_id", how="left"), allowMissingColumns=True
    )


def doubtful_from_offset() -> Column:
    """A judged row can be a finding if its log's cleaned end is above this offset; null: it cannot be one.

    What the end does not excuse is doubtful from -1 on.
    """
    arrived = F.col("in_after") & (~F.col("in_before") | F.col("changed").isNotNull())
    anyhow = arrived | F.col("is_lost") | (F.col("after_copies") > 1)
    replaced = F.when(F.col("offset") < F.col("kept_offset"), F.col("superseded_at_offset"))
    dropped = F.when(F.col("key").isNull() | F.col("aborted"), F.col("offset"))
    return F.when(anyhow, F.lit(-1)).otherwise(F.when(F.col("in_after"), F.least(replaced, dropped)))


def _row_findings(judged: DataFrame, compared: frozenset[str]) -> DataFrame:
    suspects = with_moves(judged.where(doubtful_from_offset() < F.col("end_offset")), compared)
    names = F.array_compact(F.array(*[F.when(check.finds(), F.lit(check.name)) for check in ROW_CHECKS]))
    return suspects.withColumn("check", F.explode(names))


def count_findings(findings: DataFrame) -> dict[str, int]:
    """How often each check found something; every check is there."""
    counted = {row["check"]: row["count"] for row in findings.groupBy("check").count().collect()}
    return {check.name: counted.get(check.name, 0) for check in CHECKS}


def first_findings(findings: DataFrame, counts: dict[str, int], question: Question) -> tuple[Finding, ...]:
    """The first ``max_findings`` of each check."""
    present = [check for check in CHECKS if counts[check.name]]
    if not present or not question.max_findings:
        return ()
    firsts = [
        findings.where(F.col("check") == check.name)
        .orderBy("log_number", "offset")
        .limit(question.max_findings)
        for check in present
    ]
    rows = reduce(DataFrame.union, firsts).collect()
    by_name = {check.name: check for check in CHECKS}
    rank = {check.name: number for number, check in enumerate(CHECKS)}
    rows.sort(key=lambda row: (rank[row["check"]], row["log_number"], row["offset"]))
    return tuple(_finding(by_name[row["check"]], row, question) for row in rows)


def _finding(check: Check, row: Row, question: Question) -> Finding:
    topic, partition = question.logs[row["log_id"]]
    moved_from = question.logs.get(row["moved_from_log_id"])
    expected, found = check.words(
        Row(**row.asDict(), moved_from_log=moved_from and f"{moved_from[0]}-{moved_from[1]}")
    )
    return Finding(
        check=check.name,
        severity=question.severity(check),
        topic=topic,
        partition=partition,
        offset=row["offset"],
        key=_key(row),
        expected=expected,
        found=found,
        found_key=_found_key(row) if check is CHANGED else None,
    )


def _found_key(row: Row) -> tuple[bytes | None] | None:
    """The other key, where a record has become one of another key."""
    if row["key"] == row["after_key"]:
        return None
    return (None if row["after_key"] is None else bytes(row["after_key"]),)


def _key(row: Row) -> bytes | None:
    key = row["key"] if row["key"] is not None else row["after_key"]
    return None if key is None else bytes(key)
