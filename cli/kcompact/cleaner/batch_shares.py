"""Batches of logs, share by share: each share's task has the batches of its offsets beside its records.

No process holds all batches unpacked. What a round leaves is not kept: a share plays the rounds before once
more, which is cheap beside carrying all batches to and fro.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from kcompact.arrays import Flags, Longs
from kcompact.broker.aborted import AbortedRange
from kcompact.broker.batches import NEVER_DUE_MS, NO_BATCHES, NONE, Batches, PackedBatches, behind_one_another
from kcompact.broker.delete_horizons import DeleteHorizon
from kcompact.cleaner.shares import Shares, slices_by_log
from kcompact.cleaner.tracked import Tracked, share_rows
from kcompact.engine.shuffle import Block
from kcompact.rules.files.segment_files import SegmentContent, all_batches, segment_contents
from kcompact.rules.lookups import Lookup, within
from kcompact.rules.rewriting import Counts, LogRows, LogStretch, Rewriting, log_rows
from kcompact.rules.transactions import OverlookedData, ProducerEnds, TransactionsSeen, producer_ends
from kcompact.rules.verdicts import Rounds, decide


class CarriedOver(NamedTuple):
    """All that the stretches of a log so far leave for the next one: transactions, a segment that goes on."""

    seen: tuple[TransactionsSeen, ...]  # of each round
    content: SegmentContent | None  # of the segment that it may go on with
    overlooked: OverlookedData | None  # where it is asked for


class Overfull(NamedTuple):
    """A batch of which the dump holds more records than its header counts."""

    base_offset: int
    record_count: int
    records_held: int


class Opening(NamedTuple):
    """How the known batches of a stretch fit its records, before any round."""

    unseen_records: int  # of batches that are no aborted data
    records_alone: int
    overfull: Overfull | None


class StretchFigures(NamedTuple):
    """A stretch of a log after some rounds, and the work of the last of them."""

    counts: Counts
    map_entries: int
    contents: list[SegmentContent]  # the last one may go on in the next stretch
    producers: ProducerEnds
    horizons: list[DeleteHorizon]
    last_whole_offset: int  # as ``LogRounds.stop`` asks; -1: none
    overlooked: list[AbortedRange]  # as ``LogRounds.overlooked`` asks
    opening: Opening


class Stop(NamedTuple):
    """A record that found the map full, and the start of its segment."""

    segment_base_offset: int
    offset: int


@dataclass(frozen=True)
class LogRounds:
    """The rounds of one log so far, as each of its stretches plays them. Picklable."""

    rewritings: tuple[Rewriting, ...]
    start_offset: int  # batches below are gone by now
    first_dirty_offset: int  # of the last one
    rounds: Rounds
    bases: Longs | None  # of the segments after the last one; None: each batch is its own
    interval_bytes: int  # ``index.interval.bytes``
    lookup: Lookup
    stop: Stop | None = None  # asked for: the end of the last batch before it in its segment
    overlooked: OverlookedData | None = None  # asked for: what the next round overlooks

    def before_all(self) -> CarriedOver:
        """Knowledge before the first stretch."""
        return CarriedOver(tuple(TransactionsSeen() for _ in self.rewritings), None, self.overlooked)

    def play(
        self, records: LogRows, packed: PackedBatches | None, before: CarriedOver
    ) -> tuple[StretchFigures, CarriedOver]:
        """The figures of one stretch, and what the next one needs to know."""
        known_batches = NO_BATCHES if packed is None else behind_one_another(*packed.parts())
        batches = all_batches(known_batches, records)
        stretch = LogStretch(batches, _is_aborted(batches, records, self.lookup), records)
        opening = _opening(known_batches, records, self.lookup)
        decision, counts = decide(records.rows, self.rounds), Counts()
        seen = []
        for rewriting, seen_before in zip(self.rewritings, before.seen, strict=True):
            seen.append(seen_before.copy())
            stretch, counts = rewriting.rewrite(stretch, decision, seen[-1])
        batches = stretch.batches.take(stretch.batches.base_offset >= self.start_offset)
        bases = batches.base_offset if self.bases is None else self.bases
        contents = segment_contents(batches, bases, self.interval_bytes, before.content)
        overlooked = None if before.overlooked is None else before.overlooked.copy()
        figures = StretchFigures(
            counts,
            self._map_entries(records),
            contents,
            producer_ends(batches),
            horizons_of(batches),
            self._last_whole_offset(batches),
            [] if overlooked is None else overlooked.meet(batches),
            opening,
        )
        return figures, CarriedOver(tuple(seen), contents[-1] if contents else None, overlooked)

    def _map_entries(self, records: LogRows) -> int:
        """Keys that the last round's map holds first from here (R13)."""
        if not self.rewritings:
            return 0
        rows, first, end = records.rows, self.first_dirty_offset, self.rewritings[-1].next_offset
        is_inside = (rows.offset >= first) & (rows.offset < end)
        return int((is_inside & records.is_mapped & (records.previous_offset < first)).sum())

    def _last_whole_offset(self, batches: Batches) -> int:
        if self.stop is None:
            return -1
        is_whole = (batches.base_offset >= self.stop.segment_base_offset) & (
            batches.last_offset < self.stop.offset
        )
        return int(batches.last_offset[is_whole].max(initial=-1))


def _opening(batches: Batches, records: LogRows, lookup: Lookup) -> Opening:
    """See ``Opening``."""
    owners = records.owners(batches)
    held = np.bincount(owners[owners >= 0], minlength=len(batches))
    is_data = ~batches.is_control & ~_is_aborted(batches, records, lookup)
    columns = (batches.base_offset, batches.record_count, held)
    overfull = [column[held > batches.record_count][:1].tolist() for column in columns]
    return Opening(
        int((batches.record_count - held)[is_data].sum()),
        int((owners < 0).sum()),
        next((Overfull(*row) for row in zip(*overfull, strict=True)), None),
    )


def _is_aborted(batches: Batches, records: LogRows, lookup: Lookup) -> Flags:
    """Which batches are data of aborted transactions, as far as markers, files or their records tell."""
    owners = records.owners(batches)
    run = np.searchsorted(lookup.aborted_first, batches.base_offset, side="right") - 1
    is_aborted = within(lookup.aborted_last, run, batches.base_offset)
    is_aborted[owners[records.rows.is_aborted & (owners >= 0)]] = True
    return is_aborted & ~batches.is_control


def horizons_of(batches: Batches) -> list[DeleteHorizon]:
    """Of batches behind one another that have the same horizon, the end of the last one (R27)."""
    stamped = batches.take(~np.isin(batches.delete_horizon_ms, (NONE, NEVER_DUE_MS)))
    horizons_ms = stamped.delete_horizon_ms
    is_last = np.append(horizons_ms[1:] != horizons_ms[:-1], True)[: len(stamped)]
    ends = (stamped.last_offset + 1)[is_last].tolist()
    return list(map(DeleteHorizon, ends, horizons_ms[is_last].tolist()))


Given = dict[int, dict[int, tuple[LogRounds, PackedBatches | None, CarriedOver]]]
"""By share and log: all that tasks need beside their records."""

Parts = dict[int, dict[int, PackedBatches | None]]
"""The batches by log and share; None: a stretch has none."""


def parts_of(shares: Shares, batches: Mapping[int, PackedBatches]) -> Parts:
    """The batches of some logs, each with the share that has the records from its base offset on."""
    return {
        log_id: {share: of_log.between(start, end) for share, start, end in shares.stretches(log_id)}
        for log_id, of_log in batches.items()
    }


Played = dict[int, tuple[StretchFigures, CarriedOver]]
"""By log."""


def play_on_shares(
    tracked: Tracked, parts: Parts, logs: Mapping[int, LogRounds]
) -> dict[int, list[StretchFigures]]:
    """The figures of all stretches of some logs, in order."""
    figures: dict[int, list[StretchFigures]] = {log_id: [] for log_id in logs}
    before = {log_id: of_log.before_all() for log_id, of_log in logs.items()}
    for wave in tracked.shares.waves():
        given = {
            share: {i: (logs[i], parts[i][share], before[i]) for i in logs if share in parts[i]}
            for share in wave
        }
        given = {share: of_share for share, of_share in given.items() if of_share}
        if not given:
            continue

        def work(share: int, blocks: list[Block], given: Given = given) -> Played:
            rows = share_rows(blocks)
            by_log = dict(slices_by_log(rows))
            return {
                i: of_log.play(log_rows(by_log.get(i, rows.slice(0, 0))), packed, before)
                for i, (of_log, packed, before) in given[share].items()
            }

        for played in tracked.shared.results(work, list(given)):
            for log_id, (of_stretch, after) in played.items():
                if before[log_id].content is not None:
                    figures[log_id][-1].contents.pop()  # it goes on here
                figures[log_id].append(of_stretch)
                before[log_id] = after
    return figures
