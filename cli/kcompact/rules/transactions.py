"""Aborted data and the fate of transaction markers (R17, R31 to R36)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from kcompact.broker.aborted import AbortedRange
from kcompact.broker.batches import Batch


def aborted_ranges(batches: Iterable[Batch]) -> list[AbortedRange]:
    """Offsets of the data batches whose transaction ends in an abort marker, wherever that is (R31)."""
    undecided: dict[int, list[Batch]] = {}
    aborted: list[AbortedRange] = []
    for batch in batches:
        if batch.is_control:
            data = undecided.pop(batch.producer_id, []) if batch.marker else []
            if batch.marker == "ABORT":
                aborted += [AbortedRange(b.base_offset, b.last_offset) for b in data]
        elif batch.is_transactional:
            undecided.setdefault(batch.producer_id, []).append(batch)
    return sorted(aborted, key=lambda aborted_range: aborted_range.first_offset)


@dataclass(frozen=True)
class ProducerEnd:
    """A producer as the broker knows it: its last data offset (None: no data batch) and its epoch."""

    last_data_offset: int | None  # None: nothing but markers
    epoch: int

    def is_in(self, batch: Batch) -> bool:
        """Whether the batch keeps this knowledge alive (``Cleaner.isBatchLastRecordOfProducer``, R36)."""
        if self.last_data_offset is None:
            return batch.is_control and batch.producer_epoch == self.epoch
        return batch.last_offset == self.last_data_offset


def producer_ends(batches: Sequence[Batch], now_ms: int, expiration_ms: int) -> dict[int, ProducerEnd]:
    """The producers that the broker still knows, by producer id (``lastRecordsOfActiveProducers``, R36).

    Those idle for ``expiration_ms`` are forgotten, unless a transaction of theirs is open.
    """
    ends: dict[int, ProducerEnd] = {}
    newest_ms: dict[int, int] = {}
    in_transaction: set[int] = set()
    for batch in batches:
        if batch.producer_id < 0:
            continue
        before = ends.get(batch.producer_id, ProducerEnd(None, -1))
        data = before.last_data_offset if batch.is_control else batch.last_offset
        ends[batch.producer_id] = ProducerEnd(data, batch.producer_epoch)
        newest_ms[batch.producer_id] = batch.max_timestamp_ms
        (in_transaction.add if _opens(batch) else in_transaction.discard)(batch.producer_id)
    return {
        producer: end
        for producer, end in ends.items()
        if producer in in_transaction or now_ms - newest_ms[producer] < expiration_ms
    }


def _opens(batch: Batch) -> bool:
    return batch.is_transactional and not batch.is_control


@dataclass
class TransactionsSeen:
    """The transactions of each producer that one round has met; batches come in order (R32, R33)."""

    _aborted: set[int] = field(default_factory=set)
    _committed: set[int] = field(default_factory=set)

    def meet_data(self, batch: Batch, *, is_aborted: bool) -> None:
        """A data batch; it counts as met even if all its records go in this very round."""
        if batch.is_transactional:
            (self._aborted if is_aborted else self._committed).add(batch.producer_id)

    def marker_may_go(self, batch: Batch) -> bool:
        """Whether no batch of the marker's transaction was met, or the marker's record has gone (R33)."""
        if batch.record_count == 0:
            return True
        if batch.marker is None:
            return False
        producers = self._aborted if batch.marker == "ABORT" else self._committed
        was_met = batch.producer_id in producers
        producers.discard(batch.producer_id)
        return not was_met
