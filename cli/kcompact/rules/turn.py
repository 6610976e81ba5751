"""Which logs a turn of the cleaner cleans before retention runs on all of them (R9, R52).

``CleanerThread.cleanFilthiestLog`` cleans the dirtiest log, then deletes old segments of all compacted logs
(``LogCleanerManager.deletableLogs``): those of a later turn lose them at the size that they still have.
"""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from kcompact.rules.ratio import DirtyRatio


@dataclass(frozen=True)
class Turn:
    """The logs (by log id) that are cleaned first, and those that could have been with equal right."""

    first: frozenset[int]
    tied: tuple[int, ...] = ()

    def is_later(self, log_id: int) -> bool:
        """Whether retention runs on a log before it is cleaned."""
        return bool(self.first) and log_id not in self.first


def turn_of(ratios: Mapping[int, DirtyRatio], names: Mapping[int, str], threads: int = 1) -> Turn:
    """The first turn over logs that are due. Each thread takes the dirtiest log that is left.

    A broker takes equally dirty ones in an order that nobody can know (R9); here it is that of their names.
    """
    in_order = sorted(ratios, key=lambda log_id: (-ratios[log_id].ratio, names[log_id]))
    first = frozenset(in_order[:threads])
    if len(first) == len(in_order) or not first:
        return Turn(first)
    last_ratio = ratios[in_order[threads - 1]].ratio
    tied = tuple(log_id for log_id in in_order if ratios[log_id].ratio == last_ratio)
    return Turn(first, tied if not first.issuperset(tied) else ())


def tie_note(turn: Turn, log_id: int, names: Mapping[int, str], deleted: AbstractSet[int]) -> tuple[str, ...]:
    """A note for a log that lost segments, or would have, only because of an order nobody can know.

    ``deleted`` are logs from which retention took something before they were cleaned.
    """
    if log_id not in turn.tied or deleted.isdisjoint(turn.tied):
        return ()
    others = ", ".join(sorted(names[other] for other in turn.tied if other != log_id))
    place = "first" if log_id in turn.first else "later, so that retention found it uncleaned"
    return (f"equally dirty as {others}: which a broker cleans first is not told; this one is taken {place}",)
