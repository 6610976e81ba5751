"""Records counted by their fate: enough for the figures of every round, however large the log is."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kcompact.arrays import aggregated
from kcompact.cleaner.tracked import Tracked
from kcompact.rules.decisions import TALLY_COLUMNS, Plan, with_columns
from kcompact.rules.rewriting import Counts
from kcompact.rules.verdicts import Verdict

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
    """Figures of the records of one log that have a segment and a fate in common.

    Rounds count from 1; 0 stands for no round. Times and offsets of -1 are not known.
    """

    segment_base_offset: int
    rewritten_round: int  # the first round that rewrites them
    round: int  # the round in which they go
    verdict: int
    entry_round: int  # the round in whose map they are the first of their keys
    stamped: bool  # given a delete horizon when first rewritten
    in_range: bool  # below the first uncleanable offset
    tombstone: bool  # with a key
    records: int
    log_bytes: int
    stamped_log_bytes: int  # after stamping
    largest_timestamp_ms: int = -1
    first_offset: int = -1
    first_timestamp_ms: int = -1
    oldest_timestamp_ms: int | None = None  # of timestamps above 0; None: not known

    def is_left_after(self, number: int) -> bool:
        """Whether the records are still in the log after a round (0: before all rounds)."""
        return self.round == 0 or self.round > number

    def bytes_after(self, number: int) -> int:
        """Bytes of the records in the log after a round, 0 once they are gone."""
        if not self.is_left_after(number):
            return 0
        is_stamped = self.stamped and 0 < self.rewritten_round <= number
        return self.stamped_log_bytes if is_stamped else self.log_bytes

    def is_rewritten_in(self, number: int) -> bool:
        """Whether a round reads the records: it rewrites their segment, and no earlier round removed them."""
        return 0 < self.rewritten_round <= number and self.is_left_after(number - 1)


_SUMS = {
    "records": "sum",
    "log_bytes": "sum",
    "stamped_log_bytes": "sum",
    "largest_timestamp_ms": "max",
    "first_offset": "min",
    "first_timestamp_ms": "first",  # rows, and shares, come in the order of offsets
    "oldest_timestamp_ms": "min",
}


def tally(tracked: Tracked, plans: Mapping[int, Plan]) -> dict[int, list[Tally]]:
    """The tallies of each log, in one stage."""
    columns = list(TALLY_COLUMNS)
    return tallies_in(tracked.each(lambda rows: tally_rows(with_columns(rows, plans, columns))))


def tallies_in(shares: Iterable[pa.Table]) -> dict[int, list[Tally]]:
    """The tallies of each log, from the results of ``tally_rows`` for shares in the order of offsets."""
    by_log: dict[int, list[Tally]] = {}
    for row in summed(pa.concat_tables(shares)).to_pylist():
        log_id = row.pop("log_id")
        by_log.setdefault(log_id, []).append(Tally(**row))
    return by_log


def tally_rows(rows: pa.Table) -> pa.Table:
    """The tallies of rows that have the columns of TRACKED and TALLY_COLUMNS, as a table."""
    counted = {
        "tombstone": pc.and_(rows["is_tombstone"], rows["has_key"]),
        "records": pa.chunked_array([np.ones(rows.num_rows, np.int64)]),
        "log_bytes": rows["log_bytes"].cast(pa.int64()),
        "stamped_log_bytes": rows["stamped_log_bytes"],
        "largest_timestamp_ms": rows["timestamp_ms"],
        "first_offset": rows["offset"],
        "first_timestamp_ms": rows["timestamp_ms"],
        "oldest_timestamp_ms": pc.if_else(pc.greater(rows["timestamp_ms"], 0), rows["timestamp_ms"], None),
    }
    return summed(pa.table({name: rows[name] for name in _GROUPED_BY} | counted))


def summed(rows: pa.Table) -> pa.Table:
    """Rows of tallies with those of the same log, segment and fate summed up in one."""
    return aggregated(rows, [*_GROUPED_BY, "tombstone"], _SUMS)


def map_entries(tallies: Iterable[Tally], number: int) -> int:
    """How many keys the map of a round holds."""
    return sum(t.records for t in tallies if t.verdict != Verdict.REPEATED and t.entry_round == number)


def messages_of_round(tallies: Iterable[Tally], number: int) -> Counts:
    """The messages that a round reads and writes. Aborted data go unread, other records are read (R38)."""
    rewritten = [t for t in tallies if t.verdict != Verdict.REPEATED and t.is_rewritten_in(number)]
    removed: Counter[Verdict] = Counter()
    for t in rewritten:
        if t.round == number:
            removed[Verdict(t.verdict)] += t.records
    survivors = [t for t in rewritten if t.is_left_after(number)]
    return Counts(
        messages_read=sum(t.records for t in rewritten) - removed[Verdict.ABORTED],
        messages_written=sum(t.records for t in survivors),
        removed=removed,
        tombstones_kept=sum(t.records for t in survivors if t.tombstone),
        tombstones_stamped=sum(
            t.records for t in survivors if t.tombstone and t.stamped and t.rewritten_round == number
        ),
    )


def removed_in_all(tallies: Iterable[Tally], rounds: int) -> Counter[Verdict]:
    """How many records went in the first ``rounds`` rounds, by reason; repeated ones always count."""
    removed: Counter[Verdict] = Counter()
    for t in tallies:
        if t.verdict == Verdict.REPEATED or 0 < t.round <= rounds:
            removed[Verdict(t.verdict)] += t.records
    return removed
