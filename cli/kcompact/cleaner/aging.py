"""A log's segments from round to round, computed from tallies: which records stay, which merge (R41, R42)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter

from kcompact.cleaner.verdict_tallies import Tally
from kcompact.rules.files.merging import group_segments
from kcompact.rules.files.segments import SegmentState, estimated_index_bytes
from kcompact.rules.policy import Policy
from kcompact.rules.rounds import RoundSpan
from kcompact.rules.verdicts import Verdict

Segments = tuple[SegmentState, ...]
Origins = Mapping[int, tuple[int, ...]]
"""Which of the original segments each one holds; both by base offset."""


@dataclass(frozen=True)
class Aging:
    """One log's segments and tallies; known sizes are trusted, tallies say which share of them is left."""

    known_bytes: Mapping[int, int]  # by base offset
    tallies: Mapping[int, Sequence[Tally]]  # by base offset
    policy: Policy
    first_uncleanable_offset: int

    def after_round(
        self, before: Segments, origins: Origins, span: RoundSpan, number: int
    ) -> tuple[Segments, dict[int, tuple[int, ...]]]:
        """Rewrite and merge the segments below the round's next."""
        rewritten = [state for state in before if state.base_offset < span.next_offset]
        groups = group_segments(rewritten, self.policy, self.first_uncleanable_offset)
        states = list(before[len(rewritten) :])
        after = {state.base_offset: origins.get(state.base_offset, ()) for state in states}
        merged: list[SegmentState] = []
        for group in groups:
            bases = tuple(base for state in group for base in origins.get(state.base_offset, ()))
            after[group[0].base_offset] = bases
            merged.append(self._merged(group, bases, number))
        return (*merged, *states), after

    def _merged(self, group: Sequence[SegmentState], origins: Sequence[int], number: int) -> SegmentState:
        """One segment of a group, with the first one's base and the last one's file time (R42)."""
        survivors = [t for base in origins for t in self.tallies.get(base, ()) if t.is_left_after(number)]
        size_bytes = sum(self._size_after(base, number) for base in origins)
        records = sum(t.records for t in survivors)
        first = min(survivors, key=attrgetter("first_offset"), default=None)
        offset_index, time_index = estimated_index_bytes(records, size_bytes, self.policy)
        return replace(
            group[0],
            size_bytes=size_bytes,
            largest_timestamp_ms=max((t.largest_timestamp_ms for t in survivors), default=-1),
            first_batch_timestamp_ms=first.first_timestamp_ms if first else -1,
            mtime_ms=group[-1].mtime_ms,
            offset_index_bytes=offset_index,
            time_index_bytes=time_index,
        )

    def _size_after(self, base_offset: int, number: int) -> int:
        of_segment = self.tallies.get(base_offset, ())
        size_bytes = self.known_bytes[base_offset]
        estimate = sum(t.log_bytes for t in of_segment)
        after = sum(t.bytes_after(number) for t in of_segment)
        # Compressed or shared batches make a known file smaller than its records alone would be.
        return after if estimate in (0, size_bytes) else round(size_bytes * after / estimate)


def aging_of(
    segments: Sequence[SegmentState], tallies: Iterable[Tally], policy: Policy, first_uncleanable_offset: int
) -> Aging:
    """The segments of one log before its rounds, and its tallies."""
    by_base: dict[int, list[Tally]] = {}
    for tally in tallies:
        if tally.verdict != Verdict.REPEATED:
            by_base.setdefault(tally.segment_base_offset, []).append(tally)
    sizes = {segment.base_offset: segment.size_bytes for segment in segments}
    return Aging(sizes, by_base, policy, first_uncleanable_offset)
