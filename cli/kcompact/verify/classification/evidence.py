"""Evidence in removals about the rounds that a log went through (R12, R16, R17, R21)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol, Self, TypeVar

from kcompact.verify.rows.key_rows import BEFORE_ALL, BEHIND_ALL

S = TypeVar("S", bound="Summable")


class Summable(Protocol):
    """Figures of some of a log's records."""

    def plus(self, other: Self) -> Self:
        """The figures of the records of both."""


def added_up(parts: Iterable[Mapping[int, S]]) -> dict[int, S]:
    """The figures of whole logs, by log id."""
    by_log: dict[int, S] = {}
    for part in parts:
        for log_id, figures in part.items():
            by_log[log_id] = by_log[log_id].plus(figures) if log_id in by_log else figures
    return by_log


@dataclass(frozen=True)
class Evidence:
    """Certain facts about one log's rounds; offsets are inclusive.

    Each round begins where the one before ended, so all rounds together mapped one range of offsets. This
    begins at ``first_dirty_at_most`` or before, and reaches at least to ``mapped_up_to``: a record that one
    in the range replaces cannot have stayed. Segments with offsets up to ``rewritten_up_to`` were rewritten.
    If rounds reached the first tombstone that stayed, they mapped ``mapped_if_it_was_reached`` as well.
    ``last_keyed_offset`` is that of the last record with a key that a round could have mapped.
    """

    first_dirty_at_most: int = BEHIND_ALL
    mapped_up_to: int = BEFORE_ALL
    rewritten_up_to: int = BEFORE_ALL
    mapped_if_it_was_reached: int = BEFORE_ALL
    last_keyed_offset: int = BEFORE_ALL

    def plus(self, other: "Evidence") -> "Evidence":
        """The figures of the records of both."""
        return Evidence(
            min(self.first_dirty_at_most, other.first_dirty_at_most),
            max(self.mapped_up_to, other.mapped_up_to),
            max(self.rewritten_up_to, other.rewritten_up_to),
            max(self.mapped_if_it_was_reached, other.mapped_if_it_was_reached),
            max(self.last_keyed_offset, other.last_keyed_offset),
        )

    def reaching(self, first_kept_tombstone: int) -> "Evidence":
        """The evidence once it is known at which offset the first tombstone that stayed is."""
        if first_kept_tombstone > self.mapped_up_to:
            return self
        return replace(self, mapped_up_to=max(self.mapped_up_to, self.mapped_if_it_was_reached))

    def ending_at(self, round_end_offset: int, *, is_map_roomy: bool = False) -> "Evidence":
        """The evidence with the end of a round (exclusive); unchanged if a full map may have ended it before.

        ``is_map_roomy``: the map is known not to get full.
        """
        may_be_full = not is_map_roomy and self.mapped_up_to < self.last_keyed_offset
        if self.mapped_up_to == BEFORE_ALL or may_be_full:
            return self
        return replace(self, mapped_up_to=max(self.mapped_up_to, round_end_offset - 1))
