"""Judge two dumps by the state they hold: the latest live value of every key, whatever the offsets."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import reduce

from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from kcompact.verify.check import Severity
from kcompact.verify.outcome import Finding, Outcome, Tally
from kcompact.verify.queries import kept
from kcompact.verify.question import Log

_A_LIVES = "a_offset is not null and not a_is_tombstone"
_B_LIVES = "b_offset is not null and not b_is_tombstone"


def _found_instead(row: Row) -> str:
    if row.b_offset is None:
        return "no record of this key in B"
    return f"the key deleted by the tombstone at {row.b_place}"


@dataclass(frozen=True)
class StateCheck:
    """One question about a key: a stable name, which rows it finds (SQL), and what it says about them."""

    name: str
    title: str
    finds: str
    expected: str
    found: str | Callable[[Row], str]

    def words(self, row: Row) -> tuple[str, str]:
        """The expected and the actual record of a row that this check found."""
        values = row.asDict()
        found = self.found.format_map(values) if isinstance(self.found, str) else self.found(row)
        return self.expected.format_map(values), found


STATE_CHECKS = (
    StateCheck(
        name="missing-key",
        title="A key that lives in A does not live in B.",
        finds=f"({_A_LIVES}) and not ({_B_LIVES})",
        expected="A's value, of {a_place}",
        found=_found_instead,
    ),
    StateCheck(
        name="stale-value",
        title="B's latest value of a key is one that A has replaced.",
        finds=f"{_A_LIVES} and {_B_LIVES} and a_value <> b_value and is_old_value",
        expected="A's value, of {a_place}",
        found="an older value of A's, at {b_place}",
    ),
    StateCheck(
        name="different-value",
        title="A key has different values in A and B.",
        finds=f"{_A_LIVES} and {_B_LIVES} and a_value <> b_value and not is_old_value",
        expected="A's value, of {a_place}",
        found="another value, at {b_place}",
    ),
    StateCheck(
        name="key-resurrected",
        title="A key that A deletes lives in B.",
        finds=f"{_B_LIVES} and a_is_tombstone",
        expected="the key deleted, by the tombstone at {a_place}",
        found="a value at {b_place}",
    ),
    StateCheck(
        name="unexpected-key",
        title="A key lives in B that A has no record of.",
        finds=f"{_B_LIVES} and a_offset is null",
        expected="no record of this key",
        found="a value at {b_place}",
    ),
)


@dataclass(frozen=True)
class StateQuestion:
    """Two dumps, called A and B. ``logs_a`` and ``logs_b`` are theirs by log_id."""

    logs_a: dict[int, Log]
    logs_b: dict[int, Log]
    names: tuple[tuple[str, ...], str]
    ignore_partitions: bool = False
    now_ms: int = 0
    max_findings: int = 100
    notes: list[str] = field(default_factory=list)

    def spaces(self, logs: dict[int, Log]) -> dict[int, str]:
        """Which logs are compared with each other: those of one space name.

        A restored or mirrored topic often has another name, so two dumps of one topic each are compared.
        """
        topics = [{topic for topic, _ in some.values()} for some in (self.logs_a, self.logs_b)]
        single = all(len(names) == 1 for names in topics)
        return {
            log_id: ("" if single else topic) + ("" if self.ignore_partitions else f"\0{partition}")
            for log_id, (topic, partition) in logs.items()
        }


def verify_state(spark: SparkSession, a: DataFrame, b: DataFrame, question: StateQuestion) -> Outcome:
    """Compare the latest live values of two indexes (INDEX_SCHEMA and ``key_rows.EXTRA``).

    Markers and records without a key hold no state. Headers and timestamps are not compared.
    """
    rows_a, rows_b = (
        _stateful(spark, rows, question.spaces(logs))
        for rows, logs in ((a, question.logs_a), (b, question.logs_b))
    )
    state_a, state_b = _latest(rows_a, "a"), _latest(rows_b, "b")
    both = state_a.join(state_b, on=["space", "key"], how="full")
    with kept(_with_old_values(both, rows_a)) as compared:
        counts, facts = _count(compared)
        shown = _first_findings(compared, counts, question)
    return Outcome(
        mode="state",
        before=question.names[0],
        after=question.names[1],
        now_ms=question.now_ms,
        checks=tuple(check.name for check in STATE_CHECKS),
        tallies=tuple(Tally(name, Severity.FINDING, count) for name, count in counts.items() if count),
        findings=shown,
        assumed=tuple(_said(question, facts)),
        facts=facts,
    )


def _stateful(spark: SparkSession, rows: DataFrame, spaces: dict[int, str]) -> DataFrame:
    names = spark.createDataFrame(list(spaces.items()), "log_id long, space string")
    data = rows.where("key is not null and not is_control")
    return data.join(F.broadcast(names), on="log_id", how="inner")


def _latest(rows: DataFrame, side: str) -> DataFrame:
    """The last record of each key, by offset; of several partitions the one whose last record is youngest."""
    last = F.max_by(F.struct("offset", "timestamp_ms", "is_tombstone", "value_hash"), "offset")
    of_log = rows.groupBy("space", "key", "log_id").agg(last.alias("last"))
    youngest = F.max_by(F.struct("last", "log_id"), F.struct("last.timestamp_ms", "last.offset", "log_id"))
    of_key = of_log.groupBy("space", "key").agg(youngest.alias("top"), F.count("*").alias("logs"))
    return of_key.select(
        "space",
        "key",
        F.col("top.log_id").alias(f"{side}_log_id"),
        F.col("top.last.offset").alias(f"{side}_offset"),
        F.col("top.last.is_tombstone").alias(f"{side}_is_tombstone"),
        F.col("top.last.value_hash").alias(f"{side}_value"),
        F.col("logs").alias(f"{side}_logs"),
    )


def _with_old_values(both: DataFrame, rows_a: DataFrame) -> DataFrame:
    """``is_old_value``: B's value is one that the key had in A."""
    old = rows_a.select("space", "key", F.col("value_hash").alias("b_value")).distinct()
    joined = both.join(old.withColumn("is_old", F.lit(True)), on=["space", "key", "b_value"], how="left")
    return joined.withColumn("is_old_value", F.coalesce("is_old", F.lit(False))).drop("is_old")


def _count(compared: DataFrame) -> tuple[dict[str, int], dict[str, int]]:
    def counted(condition: Column) -> Column:
        return F.count_if(F.coalesce(condition, F.lit(False)))

    facts = {
        "live_keys_a": F.expr(_A_LIVES),
        "live_keys_b": F.expr(_B_LIVES),
        "equal_keys": F.expr(f"{_A_LIVES} and {_B_LIVES} and a_value = b_value"),
        "keys_in_several_partitions": (F.col("a_logs") > 1) | (F.col("b_logs") > 1),
    }
    sums = [counted(F.expr(check.finds)).alias(check.name) for check in STATE_CHECKS]
    sums += [counted(condition).alias(name) for name, condition in facts.items()]
    row = compared.agg(*sums).collect()[0].asDict()
    return {check.name: row[check.name] for check in STATE_CHECKS}, {name: row[name] for name in facts}


def _first_findings(
    compared: DataFrame, counts: dict[str, int], question: StateQuestion
) -> tuple[Finding, ...]:
    present = [check for check in STATE_CHECKS if counts[check.name]]
    if not present or not question.max_findings:
        return ()
    order = [F.col("space"), F.coalesce("a_offset", "b_offset"), F.col("key")]
    firsts = [
        compared.where(check.finds)
        .withColumn("check", F.lit(check.name))
        .orderBy(*order)
        .limit(question.max_findings)
        for check in present
    ]
    by_name = {check.name: check for check in STATE_CHECKS}
    rows = reduce(DataFrame.union, firsts).collect()
    return tuple(_finding(by_name[row["check"]], row, question) for row in rows)


def _finding(check: StateCheck, row: Row, question: StateQuestion) -> Finding:
    places = {
        "a_place": _place(question.logs_a, row.a_log_id, row.a_offset),
        "b_place": _place(question.logs_b, row.b_log_id, row.b_offset),
    }
    expected, found = check.words(Row(**row.asDict(), **places))
    in_a = row.a_offset is not None
    topic, partition = question.logs_a[row.a_log_id] if in_a else question.logs_b[row.b_log_id]
    return Finding(
        check=check.name,
        severity=Severity.FINDING,
        topic=topic,
        partition=partition,
        offset=row.a_offset if in_a else row.b_offset,
        key=bytes(row.key),
        expected=expected,
        found=found,
    )


def _place(logs: dict[int, Log], log_id: int | None, offset: int | None) -> str | None:
    if log_id is None:
        return None
    topic, partition = logs[log_id]
    return f"{topic}-{partition}@{offset}"


def _said(question: StateQuestion, facts: dict[str, int]) -> list[str]:
    said = list(question.notes)
    topics = [sorted({topic for topic, _ in some.values()}) for some in (question.logs_a, question.logs_b)]
    if len(topics[0]) == len(topics[1]) == 1 and topics[0] != topics[1]:
        said.append(f"{topics[0][0]} in A is compared with {topics[1][0]} in B: each dump holds one topic")
    if facts["keys_in_several_partitions"]:
        said.append(
            f"{facts['keys_in_several_partitions']:,} keys stand in several partitions of one dump: of these"
            " the partition with the youngest record of the key counts"
        )
    return said
