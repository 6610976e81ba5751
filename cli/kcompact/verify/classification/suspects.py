"""Classified rows of which some may be findings, with all that their words need."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from kcompact.rules.verdicts import UNKNOWN_HORIZON_MS
from kcompact.verify.classification.classified_rows import ClassifiedRows
from kcompact.verify.classification.evidence import Evidence
from kcompact.verify.classification.moves import Moves, find_moves
from kcompact.verify.classification.proof import is_cleaned, outliving
from kcompact.verify.classification.remedies import remedies_of
from kcompact.verify.question import Question
from kcompact.verify.rows.key_history import NEVER, NOTHING_KEPT
from kcompact.verify.rows.key_rows import (
    BEFORE_ALL,
    BEHIND_ALL,
    CONTENT,
    NOWHERE,
    Flags,
    Longs,
    content_words,
)


@dataclass(frozen=True)
class SuspectRow:
    """One row in plain values; None where there is no such record, or nothing is known."""

    offset: int
    is_tombstone: bool
    after_is_tombstone: bool
    timestamp_ms: int
    after_timestamp_ms: int
    delete_horizon_ms: int | None
    next_offset: int | None
    superseding_offset: int | None
    superseded_at_offset: int | None
    kept_offset: int | None
    kept_is_tombstone: bool
    is_end_given: bool
    limit_offset: int | None
    first_kept_tombstone: int | None
    before_end_offset: int | None
    stamps_come_first: bool
    is_lost: bool
    certainly_superseded_at_offset: int | None
    is_certain: bool
    moved_from: str
    changed: str
    key: bytes | None
    found_key: tuple[bytes | None] | None


class Suspects:
    """Columns beside ``classified``; ``end_offset`` is the cleaned end of each record's log.

    ``replaced_at`` is the number in ``taken_rows`` of BEFORE's record of another key at the place of a record
    that only AFTER holds; NOWHERE: BEFORE holds none there.
    """

    def __init__(
        self,
        classified: ClassifiedRows,
        ends: Mapping[int, int],
        taken_rows: pa.Table,
        question: Question,
        evidence: Mapping[int, Evidence] | None = None,
    ) -> None:
        self.classified, self.question, self.evidence = classified, question, evidence or {}
        self.rows, self.history = classified.rows, classified.history
        self.taken_rows = taken_rows
        self.end_offset = self.rows.per_log(ends, 0)
        self.replaced_at = self._replaced_at()
        self.moves: Moves = find_moves(classified, question)

    @property
    def is_lost(self) -> Flags:
        """Missing without a reason, and not found elsewhere."""
        return self.classified.is_lost & ~self.moves.is_moved_away

    @property
    def is_lost_last_record(self) -> Flags:
        """The last record of its key is missing, and it is known that it should not be."""
        return self.is_lost & self.classified.is_last_record

    @property
    def is_kept(self) -> Flags:
        """Both dumps hold the record, and it is the same."""
        return self.rows.in_before & self.rows.in_after & ~self.rows.is_changed

    @cached_property
    def certainly_superseded_at_offset(self) -> Longs:
        """The key's first later record that a round is proven to have mapped, NEVER: there is none."""
        first_dirty = self._proven("first_dirty_at_most", BEHIND_ALL)
        at = self.history.superseding_offset(self.rows, first_dirty)
        mapped = (first_dirty <= at) & (at <= self._proven("mapped_up_to", BEFORE_ALL))
        return np.where(self.rows.is_data & mapped, at, NEVER)

    @property
    def is_replaced_for_certain(self) -> Flags:
        """A later record of the key was mapped, so that this one had to go."""
        return self.certainly_superseded_at_offset != NEVER

    @cached_property
    def is_mapped_for_certain(self) -> Flags:
        """The rounds are proven to have gone beyond the record."""
        return self.rows.offset <= self._proven("mapped_up_to", BEFORE_ALL)

    @cached_property
    def is_rewritten_for_certain(self) -> Flags:
        """The record's segment is proven to have been rewritten (R16): so are all up to one that was."""
        ends = {
            i: _segment_end(self.question, i, proof.rewritten_up_to) for i, proof in self.evidence.items()
        }
        return self.is_mapped_for_certain | (self.rows.offset < self.rows.per_log(ends, BEFORE_ALL))

    @cached_property
    def is_out_of_turn_for_certain(self) -> Flags:
        """A tombstone went by itself, and one that was due no later stayed in what rounds went through."""
        classified, bounds = self.classified, self.question.bounds
        outlives, outlives_if_reached = outliving(classified, bounds)
        is_reached = classified.of_log("first_kept_tombstone") <= self._proven("mapped_up_to", BEFORE_ALL)
        stays = outlives | (outlives_if_reached & is_reached)
        return classified.is_expired_alone & is_cleaned(classified, bounds) & stays

    @cached_property
    def keeps_keyless(self) -> Flags:
        """Whether records without a key were to stay: kcompact can do so, a broker cannot."""
        keeps = {i: int(bounds.policy.null_keys == "keep") for i, bounds in self.question.bounds.items()}
        return self.rows.per_log(keeps, 0) > 0

    @cached_property
    def remedies(self) -> Longs:
        """Which option could explain a loss (``remedies``)."""
        return remedies_of(self.classified)

    def _proven(self, name: str, nothing: int) -> Longs:
        return self.rows.per_log({i: getattr(proof, name) for i, proof in self.evidence.items()}, nothing)

    def row(self, at: int, *, is_certain: bool = True) -> SuspectRow:
        """One row."""
        rows, classified, history = self.rows, self.classified, self.history
        replaced = int(self.replaced_at[at])
        own_key = rows.key(at)
        key = own_key if replaced == NOWHERE else self.taken_rows["key"][replaced].as_py()
        after_at = int(rows.after_at[at])
        in_after = after_at != NOWHERE
        is_taken = replaced != NOWHERE
        return SuspectRow(
            offset=int(rows.offset[at]),
            is_tombstone=self.taken_rows["is_tombstone"][replaced].as_py()
            if is_taken
            else bool(rows.is_tombstone[at]),
            after_is_tombstone=bool(rows.after_is_tombstone[at]),
            timestamp_ms=self.taken_rows["timestamp_ms"][replaced].as_py()
            if is_taken
            else int(rows.timestamp_ms[at]),
            after_timestamp_ms=rows.after["timestamp_ms"][after_at].as_py() if in_after else -1,
            delete_horizon_ms=_or_none(rows.delete_horizon_ms[at], UNKNOWN_HORIZON_MS),
            next_offset=_or_none(history.next_offset[at], NEVER),
            superseding_offset=_or_none(classified.superseding_offset[at], NEVER),
            superseded_at_offset=_or_none(classified.superseded_at_offset[at], NEVER),
            kept_offset=_or_none(history.kept_offset[at], NOTHING_KEPT),
            kept_is_tombstone=bool(history.kept_is_tombstone[at]),
            is_end_given=bool(classified.is_end_given[at]),
            limit_offset=_or_none(classified.limit_offset[at], BEHIND_ALL),
            first_kept_tombstone=_or_none(classified.of_log("first_kept_tombstone")[at], BEHIND_ALL),
            before_end_offset=_or_none(classified.of_log("before_end_offset")[at], 0),
            stamps_come_first=bool(classified.of_log("stamps_come_first")[at]),
            is_lost=bool(classified.is_lost[at]),
            certainly_superseded_at_offset=_or_none(self.certainly_superseded_at_offset[at], NEVER),
            is_certain=is_certain,
            moved_from=self._moved_from(at),
            changed=self._changed(at, replaced),
            key=key,
            found_key=(own_key,) if is_taken and key != own_key else None,
        )

    def _moved_from(self, at: int) -> str:
        if not self.moves.has_come[at]:
            return ""
        topic, partition = self.question.logs[int(self.moves.from_log_id[at])]
        return f"{topic}-{partition}@{self.moves.from_offset[at]}"

    def _changed(self, at: int, replaced: int) -> str:
        """The words for the parts that differ."""
        if replaced == NOWHERE:
            return ", ".join(CONTENT[name] for name, differs in self.rows.differs.items() if differs[at])
        before_row = self.taken_rows.slice(replaced, 1)
        after_row = self.rows.after.slice(int(self.rows.after_at[at]), 1)
        parts = [
            name
            for name in self.rows.differs
            if (content_words(before_row, name) != content_words(after_row, name)).any()
        ]
        if before_row["key"][0] != after_row["key"][0]:
            parts.insert(0, "key")
        return ", ".join(CONTENT[name] for name in parts)

    def _replaced_at(self) -> Longs:
        numbers = np.full(len(self.rows), NOWHERE)
        arrivals = np.flatnonzero(~self.rows.in_before)
        if not self.taken_rows.num_rows or not len(arrivals):
            return numbers
        place = pa.table(
            {"log_id": self.rows.log_id[arrivals], "offset": self.rows.offset[arrivals], "row": arrivals}
        )
        by_place = self.taken_rows.select(["log_id", "offset"]).append_column(
            "at", pa.array(np.arange(self.taken_rows.num_rows))
        )
        joined = place.join(by_place, ["log_id", "offset"], join_type="inner")
        numbers[joined["row"].to_numpy()] = joined["at"].to_numpy()
        return numbers


def _segment_end(question: Question, log_id: int, offset: int) -> int:
    """Where the segment of an offset ends (exclusive), as far as it is known."""
    segments = question.bounds[log_id].segments if log_id in question.bounds else ()
    return next(
        (base for base, _ in segments if base > offset), offset + 1 if offset != BEFORE_ALL else offset
    )


def _or_none(value: np.int64, nothing: int) -> int | None:
    return None if value == nothing else int(value)
