"""Who placed the keys? Recomputes every partitioner modulo every likely partition count, and compares.

A partitioner that explains all keys is the one in use. Two that explain all keys between them are the likely
cause of keys in several partitions: one after the other (the partition count or the producer changed), or
side by side (producers of different kinds). With too few keys to tell chance from cause nothing is claimed.
"""

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kcompact.arrays import Flags, Longs
from kcompact.inspect.placement.hashes import Hashes, KeyMatrix
from kcompact.inspect.placement.partitioners import PARTITIONERS, Partitioner

ENOUGH = 16.0
"""Natural logarithm of the odds against a fit by chance: some 3,000 candidates are tried."""

STRAYS = 0.01
"""Share of rows that may be placed otherwise (by hand, by a test) without spoiling a cause."""

LATE = 0.05
"""Share of rows of the old cause that may still come after the change (producers with old metadata)."""

_SCREENED_ROWS = 1_000
_BEST = 8
_USUAL = {*range(2, 129), 144, 160, 180, 192, 200, 240, 250, 256, 288, 300, 320, 360, 384, 400, 480, 500}
_LARGE_COUNTS = (512, 600, 640, 720, 750, 768, 800, 900, 960, 1000, 1024, 1200, 1500, 2000, 2048, 3000, 4096)


@dataclass(frozen=True)
class Sightings:
    """Where keys of one topic were seen: one row per key and partition, int64 arrays."""

    keys: Sequence[bytes]
    partitions: Longs
    first_offsets: Longs
    last_offsets: Longs


class Placement(NamedTuple):
    """A partitioner and a number of partitions. With one partition every partitioner is the same."""

    partitioner: Partitioner
    partitions: int


class Change(NamedTuple):
    """In one partition, the last offset that only the old placement explains, and the first of only the new.

    None: the partition has no such offset. After the number of partitions was doubled, the old partitions
    have offsets of the former kind only.
    """

    partition: int
    old_last_offset: int | None
    new_first_offset: int | None


@dataclass(frozen=True)
class Cause:
    """How the keys of a topic were placed.

    ``kind``: "one" placement explains the keys; "changed": the first one up to ``changes``, the second from
    there; "mixed": two side by side; "unknown"; or "too_few" keys to tell. ``explained`` and ``rows`` count
    sightings, ``only`` those that just this placement explains.
    """

    kind: str
    placements: tuple[Placement, ...] = ()
    explained: int = 0
    rows: int = 0
    only: tuple[int, ...] = ()
    changes: tuple[Change, ...] = ()


def find_cause(seen: Sightings) -> Cause:
    """The cause that explains the sightings, if there is one."""
    rows = len(seen.partitions)
    if not rows:
        return Cause("too_few")
    candidates = _Candidates(seen)
    if not candidates.may_tell(rows):
        return Cause("too_few", rows=rows)
    best = candidates.best()
    fits = candidates.fits(best[0])
    beyond_chance = candidates.evidence(best[0], fits) >= ENOUGH
    if fits.mean() >= 1 - STRAYS and beyond_chance and candidates.best_for(~fits) is None:
        return Cause("one", (best[0],), int(fits.sum()), rows, (int(fits.sum()),))
    pairs = [pair for place in best if (pair := candidates.partner(place)) is not None]
    if pairs:
        return _pair_cause(seen, candidates, max(pairs, key=candidates.explained))
    possible = rows * math.log(max(2, candidates.observed)) >= 4 * ENOUGH  # to tell two placements
    return Cause("unknown" if possible else "too_few", rows=rows)


class _Candidates:
    """All placements worth a look, and which sightings each of them explains."""

    def __init__(self, seen: Sightings) -> None:
        self._seen = seen
        self._matrix = KeyMatrix.of(seen.keys)
        self._hashes: dict[str, Hashes] = {}
        self.observed = int(seen.partitions.max(initial=0)) + 1
        counts = {*_USUAL, *range(self.observed, min(self.observed, 5000) + 3), 2 * self.observed}
        if self.observed > max(_USUAL) // 4:
            counts |= set(_LARGE_COUNTS)
        self._counts = np.array(sorted(counts))
        by_count = self._chance(self._counts)
        self._chances = np.append(np.tile(by_count, len(PARTITIONERS)), self._chance(np.array([1])))

    def fits(self, place: Placement) -> Flags:
        """Per sighting whether ``place`` puts the key where it was seen."""
        return self._fits(place, slice(None))

    def evidence(self, place: Placement, fits: Flags) -> float:
        """How much the fits say for ``place``: logarithm of the odds against as many by chance."""
        return float(_evidence(len(fits), np.array(fits.mean()), self._chance(np.array(place.partitions))))

    def may_tell(self, rows: int) -> bool:
        """Whether ``rows`` sightings can be evidence enough, if they all fit."""
        return rows * -math.log(self._chances.min()) >= ENOUGH

    def _chance(self, counts: Longs) -> NDArray[np.float64]:
        """The share of keys that would fit each partition count by chance, had something else placed them."""
        return 1.0 / np.where(counts > 1, counts, max(2, self.observed))

    def _place(self, number: int) -> Placement:
        """The placement of a number: each partitioner with all counts, the likelier ones first."""
        kind, count = divmod(number, len(self._counts))
        if kind == len(PARTITIONERS):
            return Placement(PARTITIONERS[0], 1)
        return Placement(PARTITIONERS[kind], int(self._counts[count]))

    def best(self) -> list[Placement]:
        """The placements that explain most, weighed by how unlikely that is by chance."""
        return self._best_among(np.arange(len(self._seen.partitions)), _BEST)

    def best_for(self, wanted: Flags, like: Placement | None = None) -> Placement | None:
        """The placement that explains (nearly) all of the wanted sightings beyond chance; None: none does.

        Of two that explain the same (modulo 2, signs do not matter), the one with ``like``'s partitioner.
        """
        where = np.flatnonzero(wanted)
        if not self.may_tell(len(where)):
            return None
        for place in self._best_among(where, _BEST, like):
            fits = self._fits(place, where)
            if fits.mean() >= 1 - LATE and self.evidence(place, fits) >= ENOUGH:
                return place
        return None

    def partner(self, place: Placement) -> tuple[Placement, Placement] | None:
        """``place`` and a second placement that explains nearly all other sightings; None: there is none."""
        other = self.best_for(~self.fits(place), like=place)
        if other is None:
            return None
        joint_fits = self.fits(place) | self.fits(other)
        return (place, other) if joint_fits.mean() >= 1 - STRAYS else None

    def explained(self, pair: tuple[Placement, Placement]) -> tuple[int, bool, int]:
        """The rank of a pair: sightings that it explains, whether it has one partitioner, its likelihood."""
        order = min(PARTITIONERS.index(place.partitioner) for place in pair)
        explained = int((self.fits(pair[0]) | self.fits(pair[1])).sum())
        return explained, pair[0].partitioner is pair[1].partitioner, -order

    def _best_among(self, where: Longs, most: int, like: Placement | None = None) -> list[Placement]:
        screened = where[:: max(1, len(where) // _SCREENED_ROWS)]
        scores = _evidence(len(screened), self._shares(screened), self._chances)
        # A stable sort: of equal scores, the likelier partitioner and the smaller count come first.
        unlike = [like is None or partitioner is not like.partitioner for partitioner in PARTITIONERS]
        unlikes = np.append(np.repeat(unlike, len(self._counts)), unlike[0])
        return [self._place(int(at)) for at in np.lexsort((unlikes, -scores))[:most]]

    def _shares(self, where: Longs) -> NDArray[np.float64]:
        """The share of these sightings that each placement explains."""
        if len(self._seen.partitions) > _SCREENED_ROWS:
            return self._explained(where).mean(axis=0)
        return self._all_explained[where].mean(axis=0)

    @cached_property
    def _all_explained(self) -> Flags:
        """``_explained`` of all sightings; only for few, as there often are in each of many topics."""
        return self._explained(np.arange(len(self._seen.partitions)))

    def _explained(self, where: Longs) -> Flags:
        """Per sighting (row) and placement (column) whether the placement explains the sighting."""
        partitions = self._seen.partitions[where][:, None]
        fits = [
            partitioner.to_partition(self._hashes_of(partitioner)[where][:, None], self._counts) == partitions
            for partitioner in PARTITIONERS
        ]
        return np.concatenate([*fits, partitions == 0], axis=1)

    def _fits(self, place: Placement, where: Longs | slice) -> Flags:
        placed = place.partitioner.to_partition(self._hashes_of(place.partitioner)[where], place.partitions)
        return placed == self._seen.partitions[where]

    def _hashes_of(self, partitioner: Partitioner) -> Hashes:
        if partitioner.name not in self._hashes:
            self._hashes[partitioner.name] = partitioner.hashes(self._matrix)
        return self._hashes[partitioner.name]


def _evidence(rows: int, shares: NDArray[np.float64], chances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Logarithms of the odds against such shares of fits by chance.

    (Chernoff's bound: rows times the divergence of the share that fits from the share that would.)
    """
    missed = 1 - shares
    with np.errstate(divide="ignore", invalid="ignore"):  # none fits, or all do
        lost = np.where(missed > 0, missed * np.log(missed / (1 - chances)), 0.0)
        divergence = shares * np.log(shares / chances) + lost
    return np.where(shares <= chances, 0.0, rows * divergence)


def _pair_cause(seen: Sightings, candidates: _Candidates, pair: tuple[Placement, Placement]) -> Cause:
    for old, new in itertools.permutations(pair):
        same = old.partitioner is new.partitioner or 1 in (old.partitions, new.partitions)
        if same and old.partitions > new.partitions:
            continue  # Kafka only ever adds partitions
        old_only = candidates.fits(old) & ~candidates.fits(new)
        new_only = candidates.fits(new) & ~candidates.fits(old)
        changes = [_change(seen, old_only, new_only, int(at)) for at in np.unique(seen.partitions)]
        if _is_in_turn(seen, old_only, changes, grown=same):
            known_changes = [change for change in changes if change[1:] != (None, None)]
            return _cause_of("changed", (old, new), candidates, known_changes)
    likelier, other = sorted(
        pair, key=lambda place: (PARTITIONERS.index(place.partitioner), place.partitions)
    )
    return _cause_of("mixed", (likelier, other), candidates, ())


def _change(seen: Sightings, old_only: Flags, new_only: Flags, partition: int) -> Change:
    rows = seen.partitions == partition
    old_last, new_first = seen.last_offsets[rows & old_only], seen.first_offsets[rows & new_only]
    start = int(new_first.min()) if len(new_first) else None
    before = old_last if start is None else old_last[old_last < start]
    return Change(partition, int(before.max()) if len(before) else None, start)


def _is_in_turn(seen: Sightings, old_only: Flags, changes: Sequence[Change], *, grown: bool) -> bool:
    """Whether the old placement ends where the new one begins, in all partitions that show both.

    If no partition shows both, it is enough that their number has ``grown``: every new key went to a
    partition that was not there before.
    """
    starts = {change.partition: change.new_first_offset for change in changes}
    rows = zip(seen.partitions[old_only].tolist(), seen.last_offsets[old_only].tolist(), strict=True)
    is_late = [last >= start for partition, last in rows if (start := starts[partition]) is not None]
    return sum(is_late) <= LATE * len(is_late) if is_late else grown


def _cause_of(
    kind: str,
    pair: tuple[Placement, Placement],
    candidates: _Candidates,
    changes: Iterable[Change],
) -> Cause:
    first, second = (candidates.fits(place) for place in pair)
    only = int((first & ~second).sum()), int((second & ~first).sum())
    return Cause(kind, pair, int((first | second).sum()), len(first), only, tuple(changes))
