"""Copies the survivors of an Avro container byte for byte, in blocks like those of the input."""

from collections.abc import Iterator
from itertools import pairwise
from mmap import mmap
from typing import BinaryIO

import numpy as np

from kcompact.dumps.avro.avro_container import Header, block_at, pack_block, unpack
from kcompact.dumps.records.layout import Chosen

BLOCK_SHIFT = 32
_IN_BLOCK = (1 << BLOCK_SHIFT) - 1
_KEPT_BLOCKS = 64  # unpacked blocks that are kept where records are wanted in another order


class Unpacked:
    """The unpacked blocks of a file by position; the last few are kept."""

    def __init__(self, data: mmap, header: Header) -> None:
        self._data = data
        self._header = header
        self._kept: dict[int, bytes] = {}

    def at(self, position: int) -> bytes:
        """The records of the block that starts at ``position``. Raises UnreadableError."""
        if position not in self._kept:
            if len(self._kept) >= _KEPT_BLOCKS:
                self._kept.pop(next(iter(self._kept)))
            self._kept[position] = unpack(self._data, block_at(self._data, position), self._header.codec)
        return self._kept[position]


def copy_records(chosen: Chosen, data: mmap, out: BinaryIO) -> int:
    """Write the chosen records of a mapped file; return the bytes written. Raises UnreadableError.

    If positions ascend, each input block becomes one output block, however the file is split. Otherwise
    blocks of about the input's size are filled in the order given.
    """
    if not len(chosen.positions):
        return 0
    header = chosen.file.shape.header
    target = chosen.file.shape.target or header
    if (np.diff(chosen.positions) > 0).all():
        return _copy_ascending(chosen, data, header, target, out)
    return _copy_in_order(chosen, Unpacked(data, header), target, out)


def _copy_ascending(chosen: Chosen, data: mmap, header: Header, target: Header, out: BinaryIO) -> int:
    written = 0
    for offset, records, ranges in _runs_by_block(chosen):
        block = block_at(data, chosen.split.start + offset)
        if records == block.count and header.codec == target.codec:
            written += out.write(data[block.position : block.end] + target.sync)  # a whole block stays packed
            continue
        unpacked = unpack(data, block, header.codec)
        survivors = b"".join([unpacked[start:end] for start, end in ranges])
        written += out.write(pack_block(records, survivors, target))
    return written


def _runs_by_block(chosen: Chosen) -> Iterator[tuple[int, int, Iterator[tuple[int, int]]]]:
    """For each block: its offset in the split, the number of chosen records, and their ranges when unpacked.

    Adjacent records are one range.
    """
    positions, behind = chosen.positions, chosen.positions + chosen.record_bytes
    # The block is in the higher bits of a position, so no run reaches from one block into the next.
    firsts = np.flatnonzero(np.append(True, positions[1:] != behind[:-1]))
    lasts = np.append(firsts[1:], len(positions)) - 1
    offsets = positions[firsts] >> BLOCK_SHIFT
    starts, ends = (positions[firsts] & _IN_BLOCK).tolist(), (behind[lasts] & _IN_BLOCK).tolist()
    opens = np.flatnonzero(np.diff(offsets, prepend=-1))
    counts = np.diff(np.append(firsts[opens], len(positions))).tolist()
    bounds = pairwise([*opens.tolist(), len(starts)])
    for offset, count, (first, last) in zip(offsets[opens].tolist(), counts, bounds, strict=True):
        yield offset, count, zip(starts[first:last], ends[first:last], strict=True)


def _copy_in_order(chosen: Chosen, blocks: Unpacked, target: Header, out: BinaryIO) -> int:
    start = chosen.split.start
    block_bytes = len(blocks.at(start + (int(chosen.positions[0]) >> BLOCK_SHIFT)))
    pieces: list[bytes] = []
    size = written = 0
    for position, length in zip(chosen.positions.tolist(), chosen.record_bytes.tolist(), strict=True):
        at = position & _IN_BLOCK
        pieces.append(blocks.at(start + (position >> BLOCK_SHIFT))[at : at + length])
        size += length
        if size >= block_bytes:
            written += out.write(pack_block(len(pieces), b"".join(pieces), target))
            pieces, size = [], 0
    if pieces:
        written += out.write(pack_block(len(pieces), b"".join(pieces), target))
    return written
