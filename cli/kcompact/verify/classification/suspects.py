"""Classified rows, some of which may be findings, with all that the words of findings need.

Here it is also found which records of BEFORE are at another offset in AFTER.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kcompact.arrays import Flags, Longs, flags_of
from kcompact.dumps.records.record_contents import CONTENT, content_words, key_numbers
from kcompact.rules.verdicts import NEVER, UNKNOWN_HORIZON_MS
from kcompact.verify.check import Row
from kcompact.verify.classification.classified_rows import ClassifiedRows
from kcompact.verify.classification.known_log import KnownLog
from kcompact.verify.classification.proof import is_cleaned, is_gone_for_later, outliving
from kcompact.verify.classification.remedies import Remedy, remedies_of
from kcompact.verify.question import Question
from kcompact.verify.rows.key_rows import BEFORE_ALL, BEHIND_ALL, NOTHING_KEPT, NOWHERE, KeyRows


class Suspects:
    """Columns beside ``classified``, whose known logs have their evidence and cleaned end.

    ``replaced_at`` is the number in ``taken_rows`` of BEFORE's record of another key at the place of a record
    that only AFTER holds; NOWHERE: BEFORE holds none there.
    """

    def __init__(self, classified: ClassifiedRows, taken_rows: pa.Table, question: Question) -> None:
        self.classified, self.taken_rows, self.question = classified, taken_rows, question
        self.rows = classified.rows
        self.end_offset = classified.of_log(lambda log: log.cleaned_end_offset)
        self.mapped_up_to = classified.of_log(lambda log: log.evidence.mapped_up_to)
        self.replaced_at = self._replaced_at()
        self.moves = find_moves(classified, question)

    @property
    def is_lost(self) -> Flags:
        """Whether a record is gone without a reason, and not at another place in AFTER."""
        return self.classified.is_lost & ~self.moves.is_moved_away

    @property
    def is_lost_last_record(self) -> Flags:
        """Whether a lost record is the last one of its key."""
        return self.is_lost & self.classified.is_last_record

    @property
    def is_lost_last_value(self) -> Flags:
        """As ``is_lost_last_record``, for keys that are not deleted in BEFORE."""
        return self.is_lost_last_record & ~self.rows.is_tombstone

    @property
    def is_kept(self) -> Flags:
        """Whether both dumps hold the record, without a certain difference."""
        return self.rows.in_before & self.rows.in_after & ~self.rows.is_changed

    @cached_property
    def certainly_superseded_at_offset(self) -> Longs:
        """The offset of a later record of the key that a round is proven to have mapped; NEVER: of none.

        The proof is the range that the log's rounds mapped, or a later record of the key that is gone: its
        replacement was in the map of a round, which rewrites all segments from the log's start on (R16, R21).
        """
        first_dirty = self.classified.of_log(lambda log: log.evidence.first_dirty_at_most)
        at = self.rows.mapped_superseding_offset(first_dirty)
        by_rounds = (first_dirty <= at) & (at <= self.mapped_up_to)
        gone_for_later = is_gone_for_later(self.classified, self._outliving[0])
        last_gone = self.rows.last_of_key(gone_for_later)
        by_key = (last_gone != NOWHERE) & (self.rows.offset < self.rows.offset[last_gone])
        at = np.where(by_rounds, at, np.where(by_key, self.classified.superseded_at_offset[last_gone], NEVER))
        return np.where(self.rows.is_data, at, NEVER)

    @cached_property
    def _outliving(self) -> tuple[Flags, Flags]:
        return outliving(self.classified)

    @property
    def is_replaced_for_certain(self) -> Flags:
        """Whether a later record of the key was mapped for certain, so that this one had to go."""
        return self.certainly_superseded_at_offset != NEVER

    @property
    def is_mapped_for_certain(self) -> Flags:
        """Whether the rounds are proven to have mapped offsets up to the record, or beyond."""
        return self.rows.offset <= self.mapped_up_to

    @cached_property
    def is_rewritten_for_certain(self) -> Flags:
        """Whether the record's segment, or a later one, is proven to have been rewritten (R16)."""
        return self.is_mapped_for_certain | (self.rows.offset < self.classified.of_log(_rewritten_end))

    @cached_property
    def is_out_of_turn_for_certain(self) -> Flags:
        """Whether a tombstone went by itself, but one that was due no later stayed.

        Rounds are proven to have gone through the log up to the one that stayed.
        """
        outlives, outlives_if_reached = self._outliving
        is_reached = self.classified.first_kept_tombstone <= self.mapped_up_to
        stays = outlives | (outlives_if_reached & is_reached)
        return self.classified.is_expired_alone & is_cleaned(self.classified) & stays

    @cached_property
    def remedies(self) -> Longs:
        """Which option could explain a loss or a change (``remedies``)."""
        rows = self.rows
        is_null_in_one = rows.is_doubted & (rows.is_tombstone != rows.after_is_tombstone)
        is_cut = rows.is_doubted & rows.differs.get("timestamp_ms", False)
        doubts = {Remedy.NULLS: is_null_in_one, Remedy.TIMES: is_cut, Remedy.DOUBTED: rows.is_doubted}
        remedies: Longs = np.select(list(doubts.values()), list(doubts), remedies_of(self.classified))
        return remedies

    def is_without_key(self, at: Longs) -> Flags:
        """Whether rows, and BEFORE's records of other keys at their places, have no key or an empty one."""
        rows = self.rows
        return (
            _is_nothing(rows.before, rows.before_at[at])
            & _is_nothing(rows.after, rows.after_at[at])
            & _is_nothing(self.taken_rows, self.replaced_at[at])
        )

    def row(self, at: int, *, is_certain: bool) -> Row:
        """The plain values of one row, for the words of a check.

        If AFTER's record is at the place of another key's record of BEFORE, the values are of the latter.
        """
        after_at, replaced_at = int(self.rows.after_at[at]), int(self.replaced_at[at])
        after = self.rows.after.slice(after_at, 1) if after_at != NOWHERE else None
        before = self.taken_rows.slice(replaced_at, 1) if replaced_at != NOWHERE else None
        row: dict[str, Any] = {
            name: _or_none(column[at], nothing) for name, (column, nothing) in self._columns.items()
        }
        key = row["key"] = self.rows.key(at)
        if before is not None:
            row |= {name: before[name][0].as_py() for name in ("key", "is_tombstone", "timestamp_ms")}
        return row | {
            "is_certain": is_certain,
            "after_timestamp_ms": None if after is None else after["timestamp_ms"][0].as_py(),
            "moved_from": self._moved_from(at),
            "changed": ", ".join(CONTENT[name] for name in self._changed(at, before, after)),
            "found_key": (key,) if key != row["key"] else None,
        }

    @cached_property
    def _columns(self) -> dict[str, tuple[np.ndarray, int | None]]:
        """The columns that the words of checks may name, each with the number that means "none"."""
        rows, classified = self.rows, self.classified
        last_after = rows.last_of_key(rows.in_after)
        return {
            "offset": (rows.offset, None),
            "is_tombstone": (rows.is_tombstone, None),
            "after_is_tombstone": (rows.after_is_tombstone, None),
            "timestamp_ms": (rows.timestamp_ms, None),
            "delete_horizon_ms": (rows.delete_horizon_ms, UNKNOWN_HORIZON_MS),
            "next_offset": (rows.next_offset, NEVER),
            "replaced_at_offset": (classified.replaced_at_offset, NEVER),
            "certainly_superseded_at_offset": (self.certainly_superseded_at_offset, NEVER),
            "kept_offset": (rows.kept_offset, NOTHING_KEPT),
            "last_after_offset": (np.where(last_after == NOWHERE, NOWHERE, rows.offset[last_after]), NOWHERE),
            "kept_is_tombstone": (rows.kept_is_tombstone, None),
            "is_lost": (classified.is_lost, None),
            "limit_offset": (classified.limit_offset, BEHIND_ALL),
            "first_kept_tombstone": (classified.first_kept_tombstone, BEHIND_ALL),
            "before_end_offset": (classified.of_log(lambda log: log.facts.before_end_offset), 0),
            "stamps_come_first": (classified.of_log(lambda log: log.bounds.stamps_come_first), None),
            "aborts_unknown": (classified.of_log(lambda log: log.bounds.aborts_unknown), None),
            "now_ms": (classified.of_log(lambda log: log.bounds.policy.now_ms), None),
        }

    def _moved_from(self, at: int) -> str:
        if not self.moves.has_come[at]:
            return ""
        return f"{self.question.logs[int(self.moves.from_log_id[at])]}@{self.moves.from_offset[at]}"

    def _changed(self, at: int, before: pa.Table | None, after: pa.Table | None) -> list[str]:
        """The columns of CONTENT that differ; ``before``: BEFORE's record of another key at this place."""
        if before is None or after is None:
            return [name for name, differs in self.rows.differs.items() if differs[at]]
        differs = [
            name
            for name in self.rows.differs
            if (content_words(before, name) != content_words(after, name)).any()
        ]
        return ["key", *differs] if before["key"][0] != after["key"][0] else differs

    def _replaced_at(self) -> Longs:
        numbers = np.full(len(self.rows), NOWHERE)
        arrivals = np.flatnonzero(~self.rows.in_before)
        if not self.taken_rows.num_rows or not len(arrivals):
            return numbers
        place = pa.table(
            {"log_id": self.rows.log_id[arrivals], "offset": self.rows.offset[arrivals], "row": arrivals}
        )
        taken = self.taken_rows.select(["log_id", "offset"])
        taken = taken.append_column("at", pa.array(np.arange(taken.num_rows)))
        joined = place.join(taken, ["log_id", "offset"], join_type="inner")
        numbers[joined["row"].to_numpy()] = joined["at"].to_numpy()
        return numbers


def _is_nothing(records: pa.Table, at: Longs) -> Flags:
    """Whether the key of each record is null or empty; true as well where there is no record (NOWHERE)."""
    keys = records["key"].take(pa.array(at, mask=at == NOWHERE))
    return flags_of(pc.fill_null(pc.equal(pc.binary_length(keys), 0), fill_value=True))


def _rewritten_end(log: KnownLog) -> int:
    """Where the last segment that was rewritten for certain ends (exclusive), as far as it is known."""
    offset = log.evidence.rewritten_up_to
    if offset == BEFORE_ALL:
        return BEFORE_ALL
    return next((base for base, _ in log.bounds.segments if base > offset), offset + 1)


def _or_none(value: np.generic, nothing: int | None) -> int | None:
    number: int = value.item()
    return None if number == nothing else number


@dataclass(frozen=True)
class Moves:
    """Columns beside ``KeyRows``; ``from_log_id`` and ``from_offset`` mean nothing unless ``has_come``."""

    has_come: Flags
    from_log_id: Longs
    from_offset: Longs
    is_moved_away: Flags


def find_moves(classified: ClassifiedRows, question: Question) -> Moves:
    """Pair records that AFTER lacks at their place with equal ones that it has elsewhere in the topic.

    Records are equal if the parts that are compared are. Several equal ones are paired in their order.
    """
    rows = classified.rows
    arrivals = np.flatnonzero(rows.in_after & classified.arrived)
    departures = np.flatnonzero(rows.in_before & (rows.is_changed | classified.is_taken | classified.is_lost))
    moves = Moves(
        np.zeros(len(rows), np.bool_),
        np.zeros(len(rows), np.int64),
        np.zeros(len(rows), np.int64),
        np.zeros(len(rows), np.bool_),
    )
    if not len(arrivals) or not len(departures):
        return moves
    codes = _contents(rows, arrivals, departures, question)
    number = rows.per_log(question.log_numbers, len(question.logs))
    came = _ranked(codes[: len(arrivals)], number[arrivals], rows.offset[arrivals], len(codes))
    went = _ranked(codes[len(arrivals) :], number[departures], rows.offset[departures], len(codes))
    _, to, origin = np.intersect1d(came, went, assume_unique=True, return_indices=True)
    moves.has_come[arrivals[to]] = True
    moves.from_log_id[arrivals[to]] = rows.log_id[departures[origin]]
    moves.from_offset[arrivals[to]] = rows.offset[departures[origin]]
    moves.is_moved_away[departures[origin]] = True
    return moves


def _ranked(codes: Longs, log_number: Longs, offset: Longs, most: int) -> Longs:
    """A number below ``most`` squared for each content and its rank among equal ones, by log and offset."""
    order = np.lexsort((offset, log_number, codes))
    ordered = codes[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=-1))
    rank = np.arange(len(ordered)) - np.repeat(starts, np.diff(np.append(starts, len(ordered))))
    numbers = np.empty(len(codes), np.int64)
    numbers[order] = ordered * most + rank
    return numbers


def _contents(rows: KeyRows, arrivals: Longs, departures: Longs, question: Question) -> Longs:
    """A number for the content of each record of AFTER in ``arrivals``, then of BEFORE in ``departures``."""
    tables = [
        rows.after.take(pa.array(rows.after_at[arrivals])),
        rows.before.take(pa.array(rows.before_at[departures])),
    ]
    both = pa.concat_tables(tables)
    number_of = {topic: number for number, (topic, _) in enumerate(question.logs.values())}
    topics = {log_id: number_of[topic] for log_id, (topic, _) in question.logs.items()}
    topic = rows.per_log(topics, NOWHERE)[np.concatenate((arrivals, departures))]
    words = [content_words(both, name) for name in rows.differs]
    parts = np.concatenate([topic[:, None], key_numbers(both["key"])[:, None], *words], axis=1)
    codes: Longs = np.unique(parts, axis=0, return_inverse=True)[1].reshape(-1)
    return codes
