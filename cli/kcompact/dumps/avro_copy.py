"""Survivors of an Avro container as the bytes they are, in blocks of the input's making."""

from dataclasses import dataclass
from mmap import mmap
from typing import BinaryIO

import numpy as np

from kcompact.dumps.avro_container import Header, block_at, pack_block, unpack

BLOCK_SHIFT = 32
_IN_BLOCK = (1 << BLOCK_SHIFT) - 1
_KEPT_BLOCKS = 64  # unpacked blocks remembered where records are wanted in another order


@dataclass(frozen=True)
class Chosen:
    """Records of a split that starts at ``start``, in the order in which they are to be written."""

    start: int
    positions: np.ndarray
    record_bytes: np.ndarray


@dataclass(frozen=True)
class Source:
    """A container's bytes and header, and the header of the file to be written (mostly the same)."""

    data: mmap
    header: Header
    target: Header


class Unpacked:
    """Unpacked blocks of a file by their position, the last few remembered."""

    def __init__(self, data: mmap, header: Header) -> None:
        self._data = data
        self._header = header
        self._kept: dict[int, bytes] = {}

    def at(self, position: int) -> bytes:
        """The records of the block that starts at ``position``. Raises BadBlock."""
        if position not in self._kept:
            if len(self._kept) >= _KEPT_BLOCKS:
                self._kept.pop(next(iter(self._kept)))
            self._kept[position] = unpack(self._data, block_at(self._data, position), self._header.codec)
        return self._kept[position]


def copy_records(source: Source, chosen: Chosen, out: BinaryIO) -> int:
    """Write the chosen records; return the bytes written. Raises BadBlock.

    Where they ascend, each input block becomes one output block, whatever the bounds of the split; otherwise
    blocks of about the input's size are filled in the order given.
    """
    if not len(chosen.positions):
        return 0
    if (np.diff(chosen.positions) > 0).all():
        return _copy_ascending(source, chosen, out)
    return _copy_in_order(source, chosen, out)


def _copy_ascending(source: Source, chosen: Chosen, out: BinaryIO) -> int:
    data, header, target = source.data, source.header, source.target
    offsets = chosen.positions >> BLOCK_SHIFT
    firsts = np.flatnonzero(np.diff(offsets, prepend=-1))
    lasts = np.append(firsts[1:], len(offsets))
    inside = chosen.positions & _IN_BLOCK
    ends = inside + chosen.record_bytes
    written = 0
    for first, last in zip(firsts.tolist(), lasts.tolist(), strict=True):
        block = block_at(data, chosen.start + int(offsets[first]))
        if last - first == block.count and header.codec == target.codec:
            written += out.write(data[block.position : block.end] + target.sync)  # all of it: as it is packed
            continue
        unpacked = unpack(data, block, header.codec)
        kept = b"".join(unpacked[start:end] for start, end in _merged(inside[first:last], ends[first:last]))
        written += out.write(pack_block(last - first, kept, target))
    return written


def _merged(starts: np.ndarray, ends: np.ndarray) -> list[tuple[int, int]]:
    """Ranges that touch made one."""
    opens = np.flatnonzero(np.append(True, starts[1:] != ends[:-1]))
    closes = np.append(opens[1:], len(starts)) - 1
    return list(zip(starts[opens].tolist(), ends[closes].tolist(), strict=True))


def _copy_in_order(source: Source, chosen: Chosen, out: BinaryIO) -> int:
    blocks = Unpacked(source.data, source.header)
    block_bytes = len(blocks.at(chosen.start + (int(chosen.positions[0]) >> BLOCK_SHIFT)))
    pieces: list[bytes] = []
    size = written = 0
    for position, length in zip(chosen.positions.tolist(), chosen.record_bytes.tolist(), strict=True):
        at = position & _IN_BLOCK
        pieces.append(blocks.at(chosen.start + (position >> BLOCK_SHIFT))[at : at + length])
        size += length
        if size >= block_bytes:
            written += out.write(pack_block(len(pieces), b"".join(pieces), source.target))
            pieces, size = [], 0
    if pieces:
        written += out.write(pack_block(len(pieces), b"".join(pieces), source.target))
    return written
