"""The batches of logs, share by share: a share's task gets the batches of its offsets beside its records.

No process holds all batches unpacked. The batches that a round leaves are not kept: for the next round, each
share plays all rounds before it again, which is cheaper than sending all batches back and forth.
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
    """State that the stretches of a log played so far pass on to the next one."""

    seen: tuple[TransactionsSeen, ...]  # one per round
    content: SegmentContent | None  # of the last segment so far, which may go on in the next stretch
    overlooked: OverlookedData | None  # None: not asked for


class Overfull(NamedTuple):
    """A batch of which the dump holds more records than its header counts."""

    base_offset: int
    record_count: int
    records_held: int


class Opening(NamedTuple):
    """How the known batches of a stretch fit its records, before any round."""

    unseen_records: int  # records of data batches that are not aborted, which the dump lacks
    records_alone: int  # records of the dump that are in no known batch
    overfull: Overfull | None  # the first such batch


class StretchFigures(NamedTuple):
    """Figures of a stretch of a log after some rounds, and of the work of the last of these rounds."""

    counts: Counts  # of the last round
    map_entries: int  # of the last round
    contents: list[SegmentContent]  # the last one may go on in the next stretch
    producers: ProducerEnds
    horizons: list[DeleteHorizon]
    last_whole_offset: int  # where ``LogRounds.stop`` is given: see there; -1: none
    overlooked: list[AbortedRange]  # where ``LogRounds.overlooked`` is given: see there
    opening: Opening


class Stop(NamedTuple):
    """A record that found the map full, and the base offset of its segment."""

    segment_base_offset: int
    offset: int


@dataclass(frozen=True)
class LogRounds:
    """The rounds of one log so far, to be played on each of its stretches. Picklable."""

    rewritings: tuple[Rewriting, ...]
    start_offset: int  # retention has deleted the batches below
    first_dirty_offset: int  # of the last round
    rounds: Rounds
    bases: Longs | None  # of the segments after the last round; None: each batch is a segment
    interval_bytes: int  # ``index.interval.bytes``
    lookup: Lookup
    stop: Stop | None = None  # asks for the last offset of the last batch before it in its segment
    overlooked: OverlookedData | None = None  # asks for the data that the next round overlooks

    def before_all(self) -> CarriedOver:
        """The state with which the first stretch is played."""
        return CarriedOver(tuple(TransactionsSeen() for _ in self.rewritings), None, self.overlooked)

    def play(
        self, records: LogRows, packed: PackedBatches | None, before: CarriedOver
    ) -> tuple[StretchFigures, CarriedOver]:
        """The figures of one stretch, and the state with which the next one is played."""
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
        """How many keys the last round enters in its map for the first time in this stretch (R13)."""
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
    """The ``Opening`` of a stretch."""
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
    """The delete horizons of ``batches``: one for each run of stamped batches with the same horizon (R27).

    Its end is the end of the last batch of the run.
    """
    stamped = batches.take(~np.isin(batches.delete_horizon_ms, (NONE, NEVER_DUE_MS)))
    horizons_ms = stamped.delete_horizon_ms
    is_last = np.append(horizons_ms[1:] != horizons_ms[:-1], True)[: len(stamped)]
    ends = (stamped.last_offset + 1)[is_last].tolist()
    return list(map(DeleteHorizon, ends, horizons_ms[is_last].tolist()))


Given = dict[int, dict[int, tuple[LogRounds, PackedBatches | None, CarriedOver]]]
"""By share and log: what the task of a share needs beside its records to play the rounds."""

Parts = dict[int, dict[int, PackedBatches | None]]
"""The batches by log and share; None: the stretch has no batches."""


def parts_of(shares: Shares, batches: Mapping[int, PackedBatches]) -> Parts:
    """The batches of some logs by share. A batch goes to the share that holds its base offset."""
    return {
        log_id: {share: of_log.between(start, end) for share, start, end in shares.stretches(log_id)}
        for log_id, of_log in batches.items()
    }


Played = dict[int, tuple[StretchFigures, CarriedOver]]
"""The results of one share, by log."""


def play_on_shares(
    tracked: Tracked, parts: Parts, logs: Mapping[int, LogRounds]
) -> dict[int, list[StretchFigures]]:
    """Play the rounds of some logs, and return the figures of each log's stretches, in order."""
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
                    figures[log_id][-1].contents.pop()  # this stretch begins with it, and continues it
                figures[log_id].append(of_stretch)
                before[log_id] = after
    return figures
