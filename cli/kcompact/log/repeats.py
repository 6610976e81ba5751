"""Offsets that stand in a dump twice: refused where the records differ, said where they are the same."""

from dataclasses import dataclass, replace

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from kcompact.broker.log_names import LogName
from kcompact.dumps.avro import BLOCK_SHIFT
from kcompact.dumps.judging import place_of
from kcompact.engine.indexing import IndexPlan, index_rows
from kcompact.errors import InputError
from kcompact.log.full import FullIndex
from kcompact.log.totals import overlapping

_FILES_NAMED = 5


@dataclass(frozen=True)
class Repeats:
    """Offsets of which the first copy lies in one split and the last in another, or in the same."""

    splits: tuple[int, int]
    offsets: int
    first: tuple[int, int]  # the smallest of (log_id, offset)
    differ: bool


def refuse_conflicts(spark: SparkSession, index: FullIndex) -> list[str]:
    """Raise InputError if an offset stands twice with different content; else say which files repeat others.

    A second look at the dump, taken only where the summaries leave room for repeats.
    """
    if not overlapping(index.summaries) and all(part.ascending for part in index.summaries):
        return []
    rows = _content_rows(spark, index.plan)
    found = _repeats(rows)
    conflicts = [repeats for repeats in found if repeats.differ]
    if conflicts:
        raise _conflict(rows, index, min(repeats.first for repeats in conflicts))
    return _notes(index.plan, found)


def _content_rows(spark: SparkSession, plan: IndexPlan) -> DataFrame:
    return index_rows(spark, replace(plan, extra=frozenset({"content_hash"})))


def _repeats(rows: DataFrame) -> list[Repeats]:
    offsets = (
        rows.groupBy("log_id", "offset")
        .agg(
            F.count("*").alias("copies"),
            (F.min("content_hash") != F.max("content_hash")).alias("differ"),
            F.min("split_id").alias("first_split"),
            F.max("split_id").alias("last_split"),
        )
        .where("copies > 1")
    )
    by_splits = offsets.groupBy("first_split", "last_split", "differ").agg(
        F.count("*").alias("offsets"), F.min(F.struct("log_id", "offset")).alias("first")
    )
    return [
        Repeats(
            (row["first_split"], row["last_split"]),
            row["offsets"],
            (row["first"]["log_id"], row["first"]["offset"]),
            row["differ"],
        )
        for row in by_splits.toArrow().to_pylist()
    ]


def _conflict(rows: DataFrame, index: FullIndex, where: tuple[int, int]) -> InputError:
    """The error for an offset of different records, with the places of two of them."""
    log_id, offset = where
    copies = rows.where((F.col("log_id") == log_id) & (F.col("offset") == offset))
    found = copies.select("split_id", "position", "content_hash").toArrow().to_pylist()
    found.sort(key=lambda row: (row["split_id"], row["position"]))
    other = next(row for row in found if row["content_hash"] != found[0]["content_hash"])
    places = [_place(index.plan, row["split_id"], row["position"]) for row in (found[0], other)]
    return InputError(
        f"{LogName(*index.names[log_id])} offset {offset}: two records with different content, at"
        f" {places[0]} and at {places[1]}",
        hint="one log holds an offset once: dumps of two clusters or of a recreated topic were mixed",
    )


def _place(plan: IndexPlan, split_id: int, position: int) -> str:
    split = plan.split(split_id)
    file = plan.file_of(split)
    if file.layout == "side_files":
        return f"{file.path}: record {position + 1:,}"
    return place_of(file, split.start + (position >> BLOCK_SHIFT) if file.layout == "avro" else position)


def _notes(plan: IndexPlan, found: list[Repeats]) -> list[str]:
    """One note for each pair of files."""
    totals: dict[tuple[str, str], int] = {}
    for repeats in found:
        first, last = (plan.file_of(plan.split(split)).path for split in repeats.splits)
        totals[first, last] = totals.get((first, last), 0) + repeats.offsets
    notes = [_note(*paths, offsets) for paths, offsets in sorted(totals.items())]
    more = len(notes) - _FILES_NAMED
    return notes[:_FILES_NAMED] + (
        [f"{more:,} more pairs of files repeat each other's records"] if more > 0 else []
    )


def _note(first: str, last: str, offsets: int) -> str:
    records = "1 record" if offsets == 1 else f"{offsets:,} records"
    if first == last:
        return f"{first} holds {records} more than once, with the same offset and content: counted once"
    return (
        f"{first} and {last} both hold {records}, with the same offsets and content: counted once;"
        " is one of them made from the other?"
    )
