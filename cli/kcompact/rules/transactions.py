"""Transactions: aborted data, data that a round takes for aborted, and when markers go (R17, R31 to R36)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from kcompact.arrays import Flags
from kcompact.broker.aborted import AbortedRange
from kcompact.broker.batches import ABORT, NONE, Batches


class TransactionData(NamedTuple):
    """Offsets of transactional data batches, ascending. Neighbouring batches of a producer form one range."""

    aborted: list[AbortedRange]  # an abort marker ends their transaction, wherever it lies (R31)
    undecided: list[AbortedRange]  # no marker has ended their transaction so far (R5)


def transaction_data(parts: Iterable[Batches]) -> TransactionData:
    """The transactional data that no commit marker ends. ``parts`` are all batches of a log in their order.

    A marker ends the open transaction of its producer even if their epochs differ: a coordinator that fences
    a producer raises the epoch before it aborts. A marker without data before it belongs to a transaction
    whose data were cleaned away.
    """
    undecided: dict[int, list[AbortedRange]] = {}
    aborted: list[AbortedRange] = []
    for part in parts:
        some = part.take(part.is_control | part.is_transactional)
        columns = (
            some.producer_id,
            some.is_control,
            some.marker,
            some.base_offset,
            some.last_offset,
        )
        for producer, is_control, marker, first, last in zip(*map(np.ndarray.tolist, columns), strict=True):
            if not is_control:
                _extend(undecided.setdefault(producer, []), first, last)
            elif marker != NONE:
                data = undecided.pop(producer, [])
                aborted += data if marker == ABORT else []
    return TransactionData(_ascending(aborted), _ascending(chain.from_iterable(undecided.values())))


def aborted_ranges(parts: Iterable[Batches]) -> list[AbortedRange]:
    """Offsets of aborted data, ascending (see ``TransactionData``). ``parts`` are all batches of a log."""
    return transaction_data(parts).aborted


def _ascending(ranges: Iterable[AbortedRange]) -> list[AbortedRange]:
    return sorted(ranges, key=attrgetter("first_offset"))


def _extend(ranges: list[AbortedRange], first_offset: int, last_offset: int) -> None:
    if ranges and ranges[-1].last_offset + 1 == first_offset:
        first_offset = ranges.pop().first_offset
    ranges.append(AbortedRange(first_offset, last_offset))


class MapStart(NamedTuple):
    """The offset at which a round begins to fill its map, with the base of its segment and the log start."""

    segment_base_offset: int
    first_dirty_offset: int
    log_start_offset: int


@dataclass
class OverlookedData:
    """Finds the committed data that a round takes for aborted while it fills its map (R31).

    The round is told of all aborted transactions of the segment in which it begins, but it reads only from
    the last entry of the offset index at or below its start (``LocalLog.collectAbortedTransactions``,
    ``Cleaner.buildOffsetMapForSegment``). If the marker of such a transaction lies before that entry, the
    round takes its producer for aborting until it meets another abort marker of the producer. The round is
    not told of transactions whose marker lies below the log start (``TransactionIndex.collectAbortedTxns``).
    A rewritten segment lists a transaction only while it holds data of it; from then on the marker has a
    delete horizon.

    Batches have to be handed to ``meet`` in their order.
    """

    start: MapStart
    interval_bytes: int  # ``index.interval.bytes``
    _since_entry_bytes: int = 0
    _listed: set[int] = field(default_factory=set)  # producers of listed transactions whose marker was met
    _aborting: set[int] = field(default_factory=set)  # producers that the round takes for aborting

    def copy(self) -> "OverlookedData":
        """A copy, from which another round can continue."""
        return replace(self, _listed=set(self._listed), _aborting=set(self._aborting))

    def meet(self, batches: Batches) -> list[AbortedRange]:
        """The offsets of the next ``batches``, from the round's start on, that it takes for aborted."""
        some = batches.take(batches.base_offset >= self.start.segment_base_offset)
        first_dirty_offset, ranges = self.start.first_dirty_offset, list[AbortedRange]()
        is_data = some.is_transactional & ~some.is_control
        is_listed = (some.delete_horizon_ms == NONE) & (some.base_offset >= self.start.log_start_offset)
        columns = (some.base_offset, some.last_offset, some.size_bytes, some.producer_id, some.marker)
        for base, last, size_bytes, producer, marker, data, listed in zip(
            *map(np.ndarray.tolist, (*columns, is_data, is_listed)), strict=True
        ):
            if last <= first_dirty_offset:
                self._append(size_bytes)
            if marker == ABORT:
                self._aborting.discard(producer)
                self._listed |= {producer} if listed else set()
            elif data and last >= first_dirty_offset and producer in self._aborting:
                _extend(ranges, max(base, first_dirty_offset), last)
        return ranges

    def _append(self, size_bytes: int) -> None:
        """Count a batch of the segment before the start. It may make an index entry (see ``IndexFill``)."""
        if self._since_entry_bytes > self.interval_bytes:
            self._since_entry_bytes, self._aborting = 0, set(self._listed)
        self._since_entry_bytes += size_bytes


def perhaps_overlooked(parts: Iterable[Batches]) -> list[AbortedRange]:
    """Offsets of all data that some round may take for aborted (see ``OverlookedData``).

    These are all transactional data after a listed abort marker of their producer, since it is not known
    where the round begins. ``parts`` are all batches of a log in their order.
    """
    listed: set[int] = set()
    ranges: list[AbortedRange] = []
    for part in parts:
        listed_here = (part.marker == ABORT) & (part.delete_horizon_ms == NONE)
        some = part.take(listed_here | (part.is_transactional & ~part.is_control))
        columns = (some.producer_id, some.is_control, some.base_offset, some.last_offset)
        for producer, is_control, first, last in zip(*map(np.ndarray.tolist, columns), strict=True):
            if is_control:
                listed.add(producer)
            elif producer in listed:
                _extend(ranges, first, last)
    return ranges


@dataclass(frozen=True)
class ProducerEnd:
    """The last batches of one producer in a stretch of a log."""

    last_data_offset: int | None  # None: no data batch
    epoch: int
    newest_ms: int  # largest timestamp of its last batch
    in_transaction: bool  # its last batch is data of a transaction that is still open


ProducerEnds = dict[int, ProducerEnd]
"""By producer id."""


def producer_ends(batches: Batches) -> ProducerEnds:
    """The last batches of each producer in a stretch of a log."""
    known = batches.take(batches.producer_id >= 0)
    data = known.take(~known.is_control)
    last_data = dict(zip(data.producer_id.tolist(), data.last_offset.tolist(), strict=True))
    producers, from_end = np.unique(known.producer_id[::-1], return_index=True)
    last = known.take(len(known) - 1 - from_end)
    in_transaction = last.is_transactional & ~last.is_control
    columns = (producers, last.producer_epoch, last.max_timestamp_ms, in_transaction)
    return {
        producer: ProducerEnd(last_data.get(producer), epoch, newest_ms, is_open)
        for producer, epoch, newest_ms, is_open in zip(*map(np.ndarray.tolist, columns), strict=True)
    }


def later_ends(before: ProducerEnds, after: ProducerEnds) -> ProducerEnds:
    """The last batches of each producer in two stretches; ``after`` comes directly after ``before``."""
    ends = before | after
    for producer, end in after.items():
        if end.last_data_offset is None and producer in before:
            ends[producer] = replace(end, last_data_offset=before[producer].last_data_offset)
    return ends


def active_producers(ends: ProducerEnds, now_ms: int, expiration_ms: int) -> ProducerEnds:
    """The producers that the broker still knows (``UnifiedLog.lastRecordsOfActiveProducers``, R36).

    It forgets a producer that has been idle for ``expiration_ms``, unless one of its transactions is open.
    """
    return {
        producer: end
        for producer, end in ends.items()
        if end.in_transaction or now_ms - end.newest_ms < expiration_ms
    }


def last_of_producers(batches: Batches, ends: Mapping[int, ProducerEnd]) -> Flags:
    """Which batches a round keeps, at least empty, as the last ones of their producers in ``ends`` (R36).

    See ``Cleaner.isBatchLastRecordOfProducer``.
    """
    is_last = np.zeros(len(batches), np.bool_)
    for at in np.flatnonzero(np.isin(batches.producer_id, list(ends))).tolist():
        end = ends[int(batches.producer_id[at])]
        if end.last_data_offset is None:
            is_last[at] = batches.is_control[at] and batches.producer_epoch[at] == end.epoch
        else:
            is_last[at] = batches.last_offset[at] == end.last_data_offset
    return is_last


@dataclass
class TransactionsSeen:
    """The transactions whose data one round has met. Batches have to be met in their order (R32, R33)."""

    _aborted: set[int] = field(default_factory=set)  # producers whose aborted data were met
    _committed: set[int] = field(default_factory=set)  # producers whose committed data were met

    def copy(self) -> "TransactionsSeen":
        """A copy, from which another round can continue."""
        return TransactionsSeen(set(self._aborted), set(self._committed))

    def meet(self, batches: Batches, is_aborted: Flags) -> Flags:
        """Which of the next ``batches`` are markers that may go, as no data of theirs was met (R33).

        A data batch counts as met even if all its records go in this very round. An empty control batch,
        whose marker has gone before, may always go.
        """
        may_go = np.zeros(len(batches), np.bool_)
        at = np.flatnonzero(batches.is_control | batches.is_transactional)
        some = batches.take(at)
        columns = (
            some.producer_id,
            some.is_control,
            some.marker,
            some.record_count,
            is_aborted[at],
            at,
        )
        for producer, is_control, marker, records, aborted, place in zip(
            *map(np.ndarray.tolist, columns), strict=True
        ):
            if not is_control:
                (self._aborted if aborted else self._committed).add(producer)
            elif records == 0:
                may_go[place] = True
            elif marker != NONE:
                producers = self._aborted if marker == ABORT else self._committed
                may_go[place] = producer not in producers
                producers.discard(producer)
        return may_go
