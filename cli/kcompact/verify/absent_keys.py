"""Evidence that keys are gone: per key and log what a dump still holds of them."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from kcompact.verify.check import Severity
from kcompact.verify.outcome import Finding, KeyEvidence, KeyVerdict, Outcome, Tally
from kcompact.verify.question import Log


@dataclass(frozen=True)
class AbsentQuestion:
    """Keys that should be gone from a dump; ``before_name`` are dumps that may tell where they were."""

    keys: tuple[bytes, ...]
    logs: dict[int, Log]
    before_name: tuple[str, ...]
    after_name: str
    now_ms: int = 0
    sha256: dict[str, str] = field(default_factory=dict)  # of the input files


def verify_absent(
    spark: SparkSession, before: DataFrame | None, after: DataFrame, question: AbsentQuestion
) -> Outcome:
    """Look every key up in all logs. Indexes have INDEX_SCHEMA and ``is_control``."""
    wanted = spark.createDataFrame([(bytearray(key),) for key in dict.fromkeys(question.keys)], "key binary")
    sides = [after.withColumn("in_after", F.lit(True))]
    if before is not None:
        sides.append(before.withColumn("in_after", F.lit(False)))
    found: dict[bytes, list[KeyEvidence]] = {}
    for row in _facts(sides, wanted).collect():
        of_log = _evidence(row, question.logs)
        found.setdefault(of_log.key, []).append(of_log)
    evidence = tuple(_in_order(question.keys, found))
    counts = Counter(str(one.verdict) for one in evidence)
    return Outcome(
        mode="absent-keys",
        before=question.before_name,
        after=question.after_name,
        now_ms=question.now_ms,
        checks=tuple(verdict.value for verdict in _WRONG),
        tallies=tuple(
            Tally(verdict.value, Severity.FINDING, counts[verdict.value])
            for verdict in _WRONG
            if counts[verdict.value]
        ),
        findings=tuple(_finding(one) for one in evidence if not one.verdict.is_gone),
        facts={verdict.value: counts[verdict.value] for verdict in KeyVerdict},
        evidence=evidence,
        sha256=question.sha256,
    )


_WRONG = (KeyVerdict.PRESENT, KeyVerdict.VALUE_LEFT)


def _facts(sides: list[DataFrame], wanted: DataFrame) -> DataFrame:
    columns = ("log_id", "offset", "key", "is_tombstone", "in_after")
    rows = [side.where("not is_control").select(*columns) for side in sides]
    together = rows[0] if len(rows) == 1 else rows[0].unionByName(rows[1])
    value, here = ~F.col("is_tombstone"), F.col("in_after")
    return (
        together.join(F.broadcast(wanted), on="key", how="inner")
        .groupBy("log_id", "key")
        .agg(
            F.max(F.when(value, F.col("offset"))).alias("last_value_offset"),
            F.max(F.when(~value, F.col("offset"))).alias("tombstone_offset"),
            F.count_if(here).alias("records"),
            F.max(F.when(here & value, F.col("offset"))).alias("value_left_offset"),
            F.max_by("is_tombstone", F.when(here, F.col("offset"))).alias("ends_deleted"),
        )
    )


def _evidence(row: Row, logs: dict[int, Log]) -> KeyEvidence:
    topic, partition = logs[row["log_id"]]
    if not row["records"]:
        verdict = KeyVerdict.ABSENT
    elif row["value_left_offset"] is None:
        verdict = KeyVerdict.TOMBSTONE_ONLY
    else:
        verdict = KeyVerdict.VALUE_LEFT if row["ends_deleted"] else KeyVerdict.PRESENT
    return KeyEvidence(
        key=bytes(row["key"]),
        topic=topic,
        partition=partition,
        last_value_offset=row["last_value_offset"],
        tombstone_offset=row["tombstone_offset"],
        value_left_offset=row["value_left_offset"],
        verdict=verdict,
    )


def _in_order(keys: Iterable[bytes], found: dict[bytes, list[KeyEvidence]]) -> Iterable[KeyEvidence]:
    for key in dict.fromkeys(keys):
        never = [KeyEvidence(key, KeyVerdict.ABSENT)]
        yield from sorted(found.get(key, never), key=lambda one: (one.topic or "", one.partition or 0))


def _finding(evidence: KeyEvidence) -> Finding:
    deleted = evidence.verdict is KeyVerdict.VALUE_LEFT
    return Finding(
        check=evidence.verdict.value,
        severity=Severity.FINDING,
        topic=evidence.topic or "",
        partition=evidence.partition or 0,
        offset=evidence.value_left_offset,
        key=evidence.key,
        expected="no value of this key",
        found="an older value, below its tombstone" if deleted else "a value that is the key's latest record",
    )
