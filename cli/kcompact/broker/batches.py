"""The record batches of a log as they are on disk: producers, markers, delete horizons, exact sizes.

Batches are held as columns, and those of a whole log as packed columns: a batch takes a few bytes, no object.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import NamedTuple, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kcompact.arrays import Flags, Longs
from kcompact.digits import LONG_MAX

NONE = -1
"""The value for a segment, a marker or a delete horizon that a batch does not have."""

NEVER_DUE_MS = LONG_MAX
"""The delete horizon of a marker that a round would have stamped if the horizon fitted into 64 bits (R29)."""

COMMIT, ABORT = 0, 1
_PACKED = pa.ipc.IpcWriteOptions(compression="zstd")


class Batch(NamedTuple):
    """One batch header. Its ``last_offset`` may lie behind the last record that is left in the batch.

    The cleaner keeps a batch without records (``record_count`` 0) for the sake of its producer (R36).
    """

    base_offset: int
    last_offset: int
    record_count: int
    size_bytes: int
    segment_base_offset: int  # NONE: not known
    is_compressed: bool
    is_log_append_time: bool
    max_timestamp_ms: int
    producer_id: int
    producer_epoch: int
    is_transactional: bool
    is_control: bool
    marker: int  # COMMIT or ABORT; NONE: no marker, or of another kind
    delete_horizon_ms: int  # NONE: the batch has no horizon


@dataclass(frozen=True)
class Batches:
    """Batches of one log, ascending by offset. Fields are those of ``Batch``, with an element per batch."""

    base_offset: Longs
    last_offset: Longs
    record_count: Longs
    size_bytes: Longs
    segment_base_offset: Longs
    is_compressed: Flags
    is_log_append_time: Flags
    max_timestamp_ms: Longs
    producer_id: Longs
    producer_epoch: Longs
    is_transactional: Flags
    is_control: Flags
    marker: Longs
    delete_horizon_ms: Longs

    @classmethod
    def of(cls, batches: Iterable[Batch]) -> Self:
        """From headers in ascending order."""
        columns = list(zip(*batches, strict=True)) or [()] * len(_TYPES)
        return cls(*(np.array(c, kind) for c, kind in zip(columns, _TYPES.values(), strict=True)))

    def __len__(self) -> int:
        return len(self.base_offset)

    def take(self, at: Longs | Flags | slice) -> Self:
        """The batches at these positions."""
        return type(self)(*(getattr(self, name)[at] for name in _TYPES))

    def columns(self) -> dict[str, NDArray[np.generic]]:
        """The arrays by name."""
        return {name: getattr(self, name) for name in _TYPES}


_TYPES: dict[str, type[np.generic]] = {
    column.name: np.bool_ if column.name.startswith("is_") else np.int64 for column in fields(Batches)
}


NO_BATCHES = Batches.of(())


def behind_one_another(*parts: Batches) -> Batches:
    """The batches of all parts in their order."""
    return Batches(*(np.concatenate([getattr(part, name) for part in parts]) for name in _TYPES))


def in_order(batches: Batches) -> Batches:
    """A copy in ascending order of base offsets."""
    return batches.take(np.argsort(batches.base_offset, kind="stable"))


def overlap_in(batches: Batches) -> tuple[tuple[int, int], tuple[int, int]] | None:
    """Base and last offset of the first batch that overlaps the next one, and of this next one; else None."""
    overlaps = np.flatnonzero(batches.base_offset[1:] <= batches.last_offset[:-1])
    if not len(overlaps):
        return None
    at = int(overlaps[0])
    first, second = ((int(batches.base_offset[i]), int(batches.last_offset[i])) for i in (at, at + 1))
    return first, second


@dataclass
class PackedBatches:
    """Batches of one log as Arrow streams, in the order of offsets, with some facts about all of them."""

    blocks: list[bytes] = field(default_factory=list)
    first_offsets: list[int] = field(default_factory=list)  # base offset of each block's first batch
    last_offset: int = -1
    segment_bytes: dict[int, int] | None = field(
        default_factory=dict
    )  # by base offset, ascending; None: unknown
    first_data_end_offset: int | None = None  # end of the first batch with data outside of transactions
    is_ascending: bool = True  # whether each part began after the end of the one before

    @staticmethod
    def of(parts: Iterable[Batches]) -> "PackedBatches":
        """From parts in the order of offsets; no part is empty."""
        packed = PackedBatches()
        for part in parts:
            packed.add(part)
        return packed

    def add(self, part: Batches) -> None:
        """Pack one more part, which is ascending in itself and not empty."""
        self.is_ascending &= int(part.base_offset[0]) > self.last_offset
        self.blocks.append(_packed(part))
        self.first_offsets.append(int(part.base_offset[0]))
        self.last_offset = int(part.last_offset[-1])
        self.segment_bytes = _with_bytes(self.segment_bytes, part)
        plain = part.last_offset[(part.record_count > 0) & ~part.is_transactional]
        if self.first_data_end_offset is None and len(plain):
            self.first_data_end_offset = int(plain[0]) + 1

    def with_segments(self, base_offsets: Iterable[int]) -> "PackedBatches":
        """A copy with these segments added, which may be empty; unchanged if a batch names no segment."""
        if self.segment_bytes is None:
            return self
        sizes_bytes = {**dict.fromkeys(base_offsets, 0), **self.segment_bytes}
        return replace(self, segment_bytes=dict(sorted(sizes_bytes.items())))

    def parts(self) -> Iterator[Batches]:
        """The batches, a block at a time."""
        return map(_unpacked, self.blocks)

    def between(self, start_offset: int, end_offset: int) -> "PackedBatches | None":
        """The batches with base offsets from ``start_offset`` to below ``end_offset``; None: none."""
        if start_offset <= self.first_offsets[0] and self.last_offset < end_offset:
            return self
        ends = (*self.first_offsets[1:], self.last_offset + 1)
        near = [
            block
            for block, first, end in zip(self.blocks, self.first_offsets, ends, strict=True)
            if first < end_offset and end > start_offset
        ]
        cut = [
            part.take((part.base_offset >= start_offset) & (part.base_offset < end_offset))
            for part in map(_unpacked, near)
        ]
        cut = [part for part in cut if len(part)]
        return PackedBatches.of(cut) if cut else None

    def start_of(self, offset: int) -> int:
        """The base offset of the batch that holds an offset, or the offset itself if none does."""
        block = int(np.searchsorted(self.first_offsets, offset, side="right")) - 1
        if block < 0:
            return offset
        part = _unpacked(self.blocks[block])
        at = int(np.searchsorted(part.base_offset, offset, side="right")) - 1
        return int(part.base_offset[at]) if part.last_offset[at] >= offset else offset


def _with_bytes(segment_bytes: Mapping[int, int] | None, part: Batches) -> dict[int, int] | None:
    """Bytes by segment with those of one more part added; None if a batch names no segment."""
    bases, at = np.unique(part.segment_base_offset, return_inverse=True)
    if segment_bytes is None or NONE in bases:
        return None
    sizes = np.zeros(len(bases), np.int64)
    np.add.at(sizes, at, part.size_bytes)
    sums = dict(segment_bytes)
    for base, size_bytes in zip(bases.tolist(), sizes.tolist(), strict=True):
        sums[base] = sums.get(base, 0) + size_bytes
    return dict(sorted(sums.items()))


def _packed(part: Batches) -> bytes:
    table = pa.table(part.columns())
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=_PACKED) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def _unpacked(block: bytes) -> Batches:
    table = pa.ipc.open_stream(block).read_all().combine_chunks()
    return Batches(*(column.chunk(0).to_numpy(zero_copy_only=False) for column in table.columns))
