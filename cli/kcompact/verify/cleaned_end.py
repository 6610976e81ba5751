"""Up to where AFTER was cleaned: given by a checkpoint, or the smallest end that justifies every removal."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from kcompact.verify.bounds import Bounds
from kcompact.verify.settling import SettledLog


@dataclass(frozen=True)
class LogFacts:
    """One log, summed up before it is judged. Offsets are None where there is no such record."""

    log_id: int
    records_before: int
    records_after: int
    removed: int
    before_first_offset: int | None
    before_end_offset: int | None
    after_first_offset: int | None
    after_end_offset: int | None
    repeated_before: int  # records of BEFORE at an offset that another one holds with the same content
    differing_offset: int | None  # first offset that BEFORE holds twice, with a difference
    first_kept_tombstone: int | None  # of those without a known horizon
    unjustified_from: int  # removals that a round beginning at the checkpoint does not explain
    unjustified_up_to: int  # removals that rounds ending at the checkpoint do not explain
    checkpoint_offset: int | None
    checkpoint_is_end: bool | None
    uncleanable_offset: int | None


@dataclass(frozen=True)
class Reading:
    """How one log is judged: what its checkpoint means, and what no round can pass.

    ``is_end_given``: the checkpoint says where cleaning ended; otherwise it says where the last round began.
    ``limit_offset``: no record at or above it can have replaced another one; None: no limit.
    """

    is_end_given: bool
    limit_offset: int | None


def log_facts(rows: DataFrame) -> list[LogFacts]:
    """Sum up rows of ``with_history`` (with the columns of ``bounds_table``) into one value per log."""
    of_log = ("log_id", "checkpoint_offset", "checkpoint_is_end", "uncleanable_offset")
    sums = rows.groupBy(*of_log).agg(*_sums())
    return [_facts(row) for row in sums.collect()]


def with_settled(
    facts: Sequence[LogFacts], settled: Mapping[int, SettledLog], bounds: Mapping[int, Bounds]
) -> list[LogFacts]:
    """The facts of all records, given those of the rows that were left to be judged."""
    known = {one.log_id: one for one in facts}
    for log_id, log in settled.items():
        known[log_id] = _plus(known.get(log_id) or _nothing(log_id, bounds.get(log_id, Bounds())), log)
    return list(known.values())


def _plus(facts: LogFacts, log: SettledLog) -> LogFacts:
    """Offsets of ends are behind the last one."""
    return replace(
        facts,
        records_before=facts.records_before + log.records_before,
        records_after=facts.records_after + log.records_after,
        removed=facts.removed + log.removed,
        before_first_offset=_least(facts.before_first_offset, log.first_offset),
        before_end_offset=max(facts.before_end_offset or 0, log.last_offset + 1),
        after_first_offset=_least(facts.after_first_offset, log.after_first_offset),
        after_end_offset=max(facts.after_end_offset or 0, log.after_last_offset + 1),
        first_kept_tombstone=_least(facts.first_kept_tombstone, log.first_kept_tombstone),
    )


def _least(one: int | None, other: int | None) -> int | None:
    return min((offset for offset in (one, other) if offset is not None), default=None)


def _nothing(log_id: int, bounds: Bounds) -> LogFacts:
    """Of a log none of whose rows is left."""
    checkpoint = bounds.checkpoint_offset, bounds.checkpoint_is_end, bounds.cleaned_before_offset
    return LogFacts(log_id, 0, 0, 0, None, None, None, None, 0, None, None, 0, 0, *checkpoint)


def reading_of(facts: LogFacts) -> Reading:
    """Decide how a log is judged.

    A checkpoint file may have been copied before or after the cleaning: it is read in the way that explains
    more of the removals, and as ``compact`` reads it (where the round begins) if both do.
    """
    checkpoint, is_end = facts.checkpoint_offset, facts.checkpoint_is_end
    if is_end is None:
        is_end = facts.unjustified_up_to < facts.unjustified_from
    if checkpoint is None or not is_end:
        return Reading(is_end_given=False, limit_offset=facts.uncleanable_offset)
    limits = [checkpoint] + ([facts.uncleanable_offset] if facts.uncleanable_offset is not None else [])
    return Reading(is_end_given=True, limit_offset=min(limits))


def first_dirty_offset(facts: LogFacts, reading: Reading) -> int:
    """Where the cleaned section begins, as far as it is known."""
    first = facts.before_first_offset or 0
    return first if reading.is_end_given else max(first, facts.checkpoint_offset or 0)


def cleaned_end(facts: LogFacts, reading: Reading, needed_end_offset: int | None) -> int:
    """Up to where the log was cleaned (exclusive): as given, or the least that what is gone needs."""
    if reading.is_end_given and facts.checkpoint_offset is not None:
        return facts.checkpoint_offset
    return max(first_dirty_offset(facts, reading), needed_end_offset or 0)


def readings_table(
    spark: SparkSession,
    facts: list[LogFacts],
    readings: list[Reading],
    retained_bytes: Mapping[int, int] = MappingProxyType({}),
) -> DataFrame:
    """What the judgement of rows needs to know about their log; both lists in the same order.

    ``retained_bytes``: what retention can have left, where ``retention.bytes`` limits a log.
    """
    rows = [
        (
            of_log.log_id,
            reading.is_end_given,
            reading.limit_offset,
            of_log.before_end_offset,
            of_log.after_first_offset,
            of_log.first_kept_tombstone,
            retained_bytes.get(of_log.log_id),
        )
        for of_log, reading in zip(facts, readings, strict=True)
    ]
    return spark.createDataFrame(
        rows,
        "log_id long, end_is_given boolean, limit_offset long, before_end_offset long, "
        "after_first_offset long, first_kept_tombstone long, retained_bytes long",
    )


def ends_table(spark: SparkSession, ends: dict[int, int]) -> DataFrame:
    """``end_offset`` by log_id."""
    return spark.createDataFrame(list(ends.items()), "log_id long, end_offset long")


def _sums() -> list[Column]:
    before, after = F.col("in_before"), F.col("in_after")
    gone = before & ~after
    kept_tombstone = after & F.col("is_data") & F.col("is_tombstone") & F.col("delete_horizon_ms").isNull()
    return [
        _count(before).alias("records_before"),
        _count(after).alias("records_after"),
        _count(gone).alias("removed"),
        _lowest(before).alias("before_first_offset"),
        (_highest(before) + 1).alias("before_end_offset"),
        _lowest(after).alias("after_first_offset"),
        (_highest(after) + 1).alias("after_end_offset"),
        F.coalesce(F.sum(F.when(before, F.col("copies") - 1)), F.lit(0)).alias("repeated_before"),
        _lowest(F.col("copies_differ")).alias("differing_offset"),
        _lowest(kept_tombstone).alias("first_kept_tombstone"),
        _count(gone & _unexplained_from_checkpoint()).alias("unjustified_from"),
        _count(gone & _unexplained_up_to_checkpoint()).alias("unjustified_up_to"),
    ]


def _below_uncleanable(offset: str) -> Column:
    return F.col("uncleanable_offset").isNull() | (F.col(offset) < F.col("uncleanable_offset"))


def _unexplained_from_checkpoint() -> Column:
    """A value that nothing from the checkpoint on replaces; a tombstone may be gone because it was due."""
    replaced = F.col("dirty_offset").isNotNull() & _below_uncleanable("dirty_offset")
    return F.col("next_offset").isNotNull() & ~F.col("is_tombstone") & ~replaced


def _unexplained_up_to_checkpoint() -> Column:
    """A record at or above the checkpoint, or a value that nothing below it replaces."""
    end = F.col("checkpoint_offset")
    is_above = F.col("offset") >= end
    replaced_above = ~F.col("is_tombstone") & (F.col("next_offset") >= end)
    return F.col("checkpoint_offset").isNotNull() & ~F.col("is_control") & (is_above | replaced_above)


def _count(condition: Column) -> Column:
    return F.count(F.when(condition, F.lit(1)))


def _lowest(condition: Column) -> Column:
    return F.min(F.when(condition, F.col("offset")))


def _highest(condition: Column) -> Column:
    return F.max(F.when(condition, F.col("offset")))


def _facts(row: Row) -> LogFacts:
    return LogFacts(**row.asDict())
