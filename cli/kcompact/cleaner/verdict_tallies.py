"""Records counted by what happens to them: enough for every round's figures, whatever the log's size."""

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
    largest_timestamp_ms: int = -1  # likewise the next ones: not known
    first_offset: int = -1
    first_timestamp_ms: int = -1
    oldest_timestamp_ms: int | None = None  # above 0; None likewise

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
    """The tallies of each log, from what ``tally_rows`` says of several shares in the order of offsets."""
    by_log: dict[int, list[Tally]] = {}
    for row in summed(pa.concat_tables(shares)).to_pylist():
        log_id = row.pop("log_id")
        by_log.setdefault(log_id, []).append(Tally(**row))
    return by_log


def tally_rows(rows: pa.Table) -> pa.Table:
    """Tallies of rows of TRACKED's columns and TALLY_COLUMNS."""
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
    """One row for rows of tallies that share log, segment and fate."""
    return aggregated(rows, [*_GROUPED_BY, "tombstone"], _SUMS)


def map_entries(tallies: Iterable[Tally], number: int) -> int:
    """Keys in the map of a round."""
    return sum(t.records for t in tallies if t.verdict != Verdict.REPEATED and t.entry_round == number)


def messages_of_round(tallies: Iterable[Tally], number: int) -> Counts:
    """The messages of a round: batches of aborted data go unread, others are read record by record (R38)."""
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
    """Records that went in the first ``rounds`` rounds, by reason, and repeated ones."""
    removed: Counter[Verdict] = Counter()
    for t in tallies:
        if t.verdict == Verdict.REPEATED or 0 < t.round <= rounds:
            removed[Verdict(t.verdict)] += t.records
    return removed
