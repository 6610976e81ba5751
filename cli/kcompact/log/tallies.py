"""Records counted by what happens to them: enough to tell every round's figures, whatever the log's size."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from kcompact.log.decisions import Plan, with_tally_columns
from kcompact.log.verdicts import Verdict

_GROUPED_BY = (
    "log_id",
    "segment_base_offset",
    "rewritten_round",
    "round",
    "verdict",
    "entry_round",
    "stamped",
    "in_range",
)


@dataclass(frozen=True)
class Tally:
    """Records of one log that share a segment and a fate; rounds count from 1, 0 is none."""

    segment_base_offset: int
    rewritten_round: int  # the first that rewrites them
    round: int  # in which they go
    verdict: int
    entry_round: int  # in whose map they open an entry
    stamped: bool  # when first rewritten
    in_range: bool  # below the first uncleanable offset
    tombstone: bool  # with a key
    records: int
    log_bytes: int
    stamped_log_bytes: int
    largest_timestamp_ms: int
    first_offset: int
    first_timestamp_ms: int

    def is_left_after(self, number: int) -> bool:
        """Still in the log after a round (0: before all rounds)."""
        return self.round == 0 or self.round > number

    def bytes_after(self, number: int) -> int:
        """Bytes in the log after a round, 0 once they are gone."""
        if not self.is_left_after(number):
            return 0
        is_stamped = self.stamped and 0 < self.rewritten_round <= number
        return self.stamped_log_bytes if is_stamped else self.log_bytes

    def is_rewritten_in(self, number: int) -> bool:
        """Read by a round's rewriting: in a segment below its next, and not gone before."""
        return 0 < self.rewritten_round <= number and self.is_left_after(number - 1)


def tally(tracked: DataFrame, plans: Mapping[int, Plan]) -> dict[int, list[Tally]]:
    """The tallies of each log: one Spark job."""
    tombstone = F.col("is_tombstone") & F.col("has_key")
    rows = (
        with_tally_columns(tracked, plans)
        .withColumn("tombstone", tombstone)
        .groupBy(*_GROUPED_BY, "tombstone")
        .agg(
            F.count("*").alias("records"),
            F.sum(F.col("log_bytes").cast("long")).alias("log_bytes"),
            F.sum("stamped_log_bytes").alias("stamped_log_bytes"),
            F.max("timestamp_ms").alias("largest_timestamp_ms"),
            F.min("offset").alias("first_offset"),
            F.min_by("timestamp_ms", "offset").alias("first_timestamp_ms"),
        )
        .toArrow()
        .to_pylist()
    )
    found: dict[int, list[Tally]] = {}
    for row in rows:
        log_id = row.pop("log_id")
        found.setdefault(log_id, []).append(Tally(**row))
    return found


@dataclass(frozen=True)
class Messages:
    """What a round's rewriting read and wrote, record by record."""

    read: int
    written: int
    removed: Counter[Verdict]
    map_entries: int
    tombstones_kept: int
    tombstones_stamped: int


def messages_of_round(tallies: Iterable[Tally], number: int) -> Messages:
    """R38's counting: aborted batches go unread, all else is looked at record by record."""
    found = [t for t in tallies if t.verdict != Verdict.REPEATED]
    rewritten = [t for t in found if t.is_rewritten_in(number)]
    removed: Counter[Verdict] = Counter()
    for one in rewritten:
        if one.round == number:
            removed[Verdict(one.verdict)] += one.records
    left = [t for t in rewritten if t.is_left_after(number)]
    return Messages(
        read=sum(t.records for t in rewritten) - removed[Verdict.ABORTED],
        written=sum(t.records for t in left),
        removed=removed,
        map_entries=sum(t.records for t in found if t.entry_round == number),
        tombstones_kept=sum(t.records for t in left if t.tombstone),
        tombstones_stamped=sum(
            t.records for t in left if t.tombstone and t.stamped and t.rewritten_round == number
        ),
    )


def removed_in_all(tallies: Iterable[Tally], rounds: int) -> Counter[Verdict]:
    """Records that went in the first ``rounds`` rounds, by reason, and repeated ones."""
    removed: Counter[Verdict] = Counter()
    for one in tallies:
        if one.verdict == Verdict.REPEATED or 0 < one.round <= rounds:
            removed[Verdict(one.verdict)] += one.records
    return removed
