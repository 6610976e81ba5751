"""One round over the known batches of a log: which go, which shrink, which are stamped (R17 to R39)."""

from collections import Counter
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute
from numpy.typing import NDArray

from kcompact.arrays import Flags, Longs, flags_of
from kcompact.broker.batches import NEVER_DUE_MS, NONE, Batches, behind_one_another
from kcompact.rules.decisions import rows_of
from kcompact.rules.sizes import BATCH_HEADER_BYTES, bytes_in_batch, recompressed_bytes, varint_bytes
from kcompact.rules.transactions import ProducerEnds, TransactionsSeen, last_of_producers
from kcompact.rules.verdicts import Decision, Rows, Verdict


@dataclass(frozen=True)
class LogRows:
    """Records of a log in the order of offsets, without repeated ones."""

    rows: Rows
    timestamp_ms: Longs
    log_bytes: Longs
    is_mapped: Flags
    previous_offset: Longs

    def owners(self, batches: Batches) -> Longs:
        """The position in ``batches`` of the batch that holds each record, or -1 where none does."""
        at = np.searchsorted(batches.base_offset, self.rows.offset, side="right") - 1
        if not len(batches):
            return at
        return np.where(self.rows.offset <= batches.last_offset[np.maximum(at, 0)], at, -1)


def log_rows(table: pa.Table) -> LogRows:
    """The records of a table of one log, which is ascending by offset. Repeated records are left out."""
    batches = table.filter(pa.compute.invert(table["is_repeated"])).combine_chunks().to_batches()
    batch = batches[0] if batches else pa.RecordBatch.from_pylist([], table.schema)
    return LogRows(
        rows_of(batch),
        batch.column("timestamp_ms").to_numpy(),
        batch.column("log_bytes").to_numpy().astype(np.int64),
        flags_of(batch.column("is_mapped")),
        batch.column("previous_offset").to_numpy(),
    )


@dataclass
class Counts:
    """The messages that the rewriting of one round read, wrote and removed. Markers count as messages."""

    messages_read: int = 0
    messages_written: int = 0
    removed: Counter[Verdict] = field(default_factory=Counter)
    tombstones_kept: int = 0
    tombstones_stamped: int = 0
    markers_gone: list[int] = field(default_factory=list)  # offsets
    batches_recompressed: int = 0  # compressed batches that were encoded again: their new size is an estimate

    def add(self, other: "Counts") -> None:
        """Add the counts of another stretch of the log."""
        self.messages_read += other.messages_read
        self.messages_written += other.messages_written
        self.removed.update(other.removed)
        self.tombstones_kept += other.tombstones_kept
        self.tombstones_stamped += other.tombstones_stamped
        self.markers_gone += other.markers_gone
        self.batches_recompressed += other.batches_recompressed


@dataclass(frozen=True)
class LogStretch:
    """A stretch of a log: its batches, which of these are data of aborted transactions, and its records."""

    batches: Batches
    is_aborted: Flags
    records: LogRows

    def part(self, at: Longs | Flags | slice) -> "LogStretch":
        """The stretch with only the batches at these positions, and all of its records."""
        return LogStretch(self.batches.take(at), self.is_aborted[at], self.records)


@dataclass(frozen=True)
class Rewriting:
    """The rewriting of one round, applied to each stretch of a log in turn. Picklable."""

    number: int  # from 1
    start_offset: int  # retention has deleted the segments below
    next_offset: int
    rewritten_end_offset: int
    now_ms: int
    delete_horizon_ms: int | None
    producers: ProducerEnds  # of producers that the broker still knows

    def rewrite(
        self, stretch: LogStretch, decision: Decision, seen: TransactionsSeen
    ) -> tuple[LogStretch, Counts]:
        """The stretch after the round, and the counts of the round.

        ``decision`` decides on the stretch's records for all rounds up to this one, or for more. ``seen``
        holds the transactions that the round met in the stretches before; those that it meets here are added.
        """
        bases = stretch.batches.base_offset
        first, end = np.searchsorted(bases, [self.start_offset, self.rewritten_end_offset]).tolist()
        old, behind = stretch.part(slice(first, end)), stretch.part(slice(end, None))
        counts = Counts()
        is_last = last_of_producers(old.batches, self.producers)
        may_go = seen.meet(old.batches, old.is_aborted)
        batches, stays = self._data(old, decision, is_last, counts)
        batches, markers_stay = self._markers(batches, may_go, is_last, counts)
        new = replace(old, batches=batches).part(stays | markers_stay)
        return (
            LogStretch(
                behind_one_another(new.batches, behind.batches),
                np.concatenate([new.is_aborted, behind.is_aborted]),
                stretch.records,
            ),
            counts,
        )

    def _data(
        self, old: LogStretch, decision: Decision, is_last: Flags, counts: Counts
    ) -> tuple[Batches, Flags]:
        """All batches, with the data batches rewritten, and which of the data batches stay."""
        batches, records = old.batches, _records_in(old, decision, self.number)
        present, kept = records.counted(records.is_present), records.counted(records.is_kept)
        counts.removed.update(records.removed(self.number))
        is_read = ~batches.is_control & (~old.is_aborted | is_last)
        unseen = np.maximum(0, batches.record_count - present)
        left = kept + np.where(old.is_aborted | (batches.last_offset < self.next_offset), 0, unseen)
        counts.messages_read += int((present + unseen)[is_read].sum())
        counts.messages_written += int(left[is_read].sum())
        stamps, tombstones = records.stamped, records.tombstones & is_read[records.owner]
        counts.tombstones_kept += int(tombstones.sum())
        counts.tombstones_stamped += int((tombstones & stamps).sum())
        is_stamped = records.counted(stamps) > 0
        is_encoded = is_read & (kept > 0) & (is_stamped | (left != batches.record_count))
        horizon_ms = NONE if self.delete_horizon_ms is None else self.delete_horizon_ms
        changed = replace(
            batches,
            record_count=np.where(is_encoded, left, batches.record_count),
            delete_horizon_ms=np.where(is_encoded & is_stamped, horizon_ms, batches.delete_horizon_ms),
        )
        changed = records.encoded(changed, is_encoded)
        counts.batches_recompressed += int((is_encoded & batches.is_compressed).sum())
        is_emptied = is_read & (left == 0)
        return _emptied(changed, is_emptied & is_last), is_read & (~is_emptied | is_last)

    def _markers(
        self, batches: Batches, may_go: Flags, is_last: Flags, counts: Counts
    ) -> tuple[Batches, Flags]:
        """All batches, with the control batches rewritten, and which of these stay (R33 to R36)."""
        is_control, has_horizon = batches.is_control, batches.delete_horizon_ms != NONE
        goes = is_control & may_go & has_horizon & (batches.delete_horizon_ms <= self.now_ms)
        counts.markers_gone += batches.base_offset[goes].tolist()
        is_read = is_control & (~goes | is_last)
        is_emptied = is_control & (goes | (batches.record_count == 0))
        counts.messages_read += int(batches.record_count[is_read].sum())
        counts.removed[Verdict.EXPIRED_MARKER] += int(batches.record_count[is_emptied].sum())
        is_written = is_control & ~is_emptied
        counts.messages_written += int(batches.record_count[is_written].sum())
        batches = _emptied(batches, is_emptied & is_last)
        stays = is_written | (is_emptied & is_last)
        is_stamped = is_written & may_go & ~has_horizon
        horizon_ms, more = NEVER_DUE_MS, np.zeros(len(batches), np.int64)
        if self.delete_horizon_ms is not None:
            horizon_ms = self.delete_horizon_ms
            more = varint_bytes(batches.max_timestamp_ms - horizon_ms) - 1
        return replace(
            batches,
            delete_horizon_ms=np.where(is_stamped, horizon_ms, batches.delete_horizon_ms),
            size_bytes=np.where(is_stamped, batches.size_bytes + more, batches.size_bytes),
        ), stays


@dataclass(frozen=True)
class _Records:
    """The records of the data batches of a stretch in one round. Arrays have one element per record."""

    batches: int  # how many batches the stretch has
    owner: Longs  # the position of the record's batch
    offset: Longs
    timestamp_ms: Longs
    log_bytes: Longs
    verdict: NDArray[np.int8]
    gone_in: NDArray[np.int32]  # the round in which it goes; 0: none
    stamped: Flags  # kept, and given a delete horizon by this round
    tombstones: Flags  # kept, with a key
    is_present: Flags  # there before the round
    is_kept: Flags  # there after the round

    def counted(self, which: Flags) -> Longs:
        """How many of the records ``which`` each batch holds."""
        return np.bincount(self.owner[which], minlength=self.batches)

    def removed(self, number: int) -> Counter[Verdict]:
        """The records that go in the round, by reason."""
        reasons, counts = np.unique(self.verdict[self.gone_in == number], return_counts=True)
        return Counter(
            {Verdict(reason): count for reason, count in zip(reasons.tolist(), counts.tolist(), strict=True)}
        )

    def encoded(self, batches: Batches, is_encoded: Flags) -> Batches:
        """``batches``, those at ``is_encoded`` encoded again with the kept records alone (R39).

        See ``MemoryRecords.filterTo``.
        """
        of_encoded = is_encoded[self.owner]
        kept, present = self.is_kept & of_encoded, self.is_present & of_encoded
        first_ms = self._first_timestamps_ms(kept)
        base_ms = np.where(batches.delete_horizon_ms == NONE, first_ms, batches.delete_horizon_ms)
        sizes = self._sizes(batches, kept, base_ms)
        plain = self._sizes(batches, present, self._first_timestamps_ms(present))
        packed = recompressed_bytes(batches.size_bytes, plain, sizes)
        sizes = np.where(batches.is_compressed, packed, sizes)
        newest_ms = np.full(self.batches, NONE)
        np.maximum.at(newest_ms, self.owner[kept], self.timestamp_ms[kept])
        return replace(
            batches,
            size_bytes=np.where(is_encoded, sizes.astype(np.int64), batches.size_bytes),
            max_timestamp_ms=np.where(
                is_encoded & ~batches.is_log_append_time, newest_ms, batches.max_timestamp_ms
            ),
        )

    def _first_timestamps_ms(self, which: Flags) -> Longs:
        owners, first = np.unique(self.owner[which], return_index=True)
        timestamps_ms = np.zeros(self.batches, np.int64)
        timestamps_ms[owners] = self.timestamp_ms[which][first]
        return timestamps_ms

    def _sizes(self, batches: Batches, which: Flags, base_timestamp_ms: Longs) -> Longs:
        owner = self.owner[which]
        record_bytes = bytes_in_batch(
            self.log_bytes[which],
            self.timestamp_ms[which] - base_timestamp_ms[owner],
            self.offset[which] - batches.base_offset[owner],
        )
        sizes = np.full(self.batches, BATCH_HEADER_BYTES)
        np.add.at(sizes, owner, record_bytes)
        return sizes


def _records_in(stretch: LogStretch, decision: Decision, number: int) -> _Records:
    """The records of the data batches of ``stretch`` in the round ``number``."""
    owners = stretch.records.owners(stretch.batches)
    at = np.flatnonzero(owners >= 0)
    at = at[~stretch.batches.is_control[owners[at]]]
    rows, gone_in = stretch.records.rows, decision.round[at]
    is_kept = (gone_in == 0) | (gone_in > number)
    return _Records(
        batches=len(stretch.batches),
        owner=owners[at],
        offset=rows.offset[at],
        timestamp_ms=stretch.records.timestamp_ms[at],
        log_bytes=stretch.records.log_bytes[at],
        verdict=decision.verdict[at],
        gone_in=gone_in,
        stamped=is_kept & decision.stamped[at] & (decision.rewritten_round[at] == number),
        tombstones=is_kept & rows.is_tombstone[at] & rows.has_key[at],
        is_present=is_kept | (gone_in == number),
        is_kept=is_kept,
    )


def _emptied(batches: Batches, which: Flags) -> Batches:
    """``batches``, those at ``which`` reduced to their header, without marker and horizon (R36).

    They are kept for their producers.
    """
    return replace(
        batches,
        record_count=np.where(which, 0, batches.record_count),
        size_bytes=np.where(which, BATCH_HEADER_BYTES, batches.size_bytes),
        marker=np.where(which, NONE, batches.marker),
        delete_horizon_ms=np.where(which, NONE, batches.delete_horizon_ms),
    )
