"""Finds where JSON values begin and end in a file, by tracking strings and nesting from chunk to chunk."""

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np

CHUNK_BYTES = 1 << 20
OPEN, CLOSE, COMMA = 1, 2, 3
_QUOTE, _BACKSLASH = 4, 5

# The meaning that each byte may have; 0: none.
_MEANINGS = bytearray(256)
for _signs, _meaning in ((b"{[", OPEN), (b"}]", CLOSE), (b",", COMMA), (b'"', _QUOTE), (b"\\", _BACKSLASH)):
    for _sign in _signs:
        _MEANINGS[_sign] = _meaning
_STEPS = np.array([0, 1, -1, 0, 0, 0], dtype=np.int64)  # of depth, by meaning


class Scanner:
    """Finds brackets and commas outside of strings; remembers string and depth from chunk to chunk."""

    def __init__(self, depth: int = 0) -> None:
        self.depth = depth
        self.in_string = False

    def feed(self, chunk: bytes) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The positions in the chunk, kinds (OPEN, CLOSE, COMMA) and depths behind each bracket and comma.

        A chunk must not end within a run of backslashes: see ``chunks_of``.
        """
        meanings = np.frombuffer(chunk.translate(_MEANINGS), dtype=np.uint8)
        positions = np.flatnonzero(meanings != 0)  # twice as fast as without the comparison
        kinds = meanings[positions]
        toggles = kinds == _QUOTE
        if b"\\" in chunk:
            toggles &= ~_escaped(positions, kinds)
        # Only the parity counts, so that eight bits may overflow.
        in_string = (np.cumsum(toggles, dtype=np.uint8) & 1).astype(bool) ^ self.in_string
        outside = np.flatnonzero(~in_string & (kinds < _QUOTE))
        if len(in_string):
            self.in_string = bool(in_string[-1])
        positions, kinds = positions[outside], kinds[outside]
        depths = self.depth + np.cumsum(_STEPS[kinds])
        if len(depths):
            self.depth = int(depths[-1])
        return positions, kinds, depths


def _escaped(positions: np.ndarray, kinds: np.ndarray) -> np.ndarray:
    """Flags of the signs that are escaped: they follow a run of backslashes of odd length."""
    slashes = np.flatnonzero(kinds == _BACKSLASH)
    places, order = positions[slashes], np.arange(len(slashes))
    opens = np.concatenate([[True], np.diff(places) != 1])
    run_start = np.maximum.accumulate(np.where(opens, order, 0))
    odd = slashes[(order - run_start) & 1 == 0]
    escaped = np.zeros(len(kinds) + 1, dtype=bool)
    following = positions[np.minimum(odd + 1, len(positions) - 1)] == positions[odd] + 1
    escaped[odd[following] + 1] = True
    return escaped[:-1]


def chunks_of(path: str, start: int, end: int) -> Iterator[tuple[int, bytes]]:
    """(position, bytes) of a range of a file, never cut within a run of backslashes. Raises EOFError."""
    with Path(path).open("rb") as source:
        source.seek(start)
        while start < end:
            chunk = _read(source, min(CHUNK_BYTES, end - start))
            while chunk.endswith(b"\\") and start + len(chunk) < end:
                chunk += _read(source, 1)
            yield start, chunk
            start += len(chunk)


def _read(source: BinaryIO, size: int) -> bytes:
    data = source.read(size)
    if not data:
        raise EOFError(source.name)
    return data


class Item(NamedTuple):
    """The bytes between two brackets or commas; ``opened`` and ``closed`` are the kinds of the two."""

    position: int
    data: bytes
    opened: int
    closed: int | None


def items_of(path: str, start: int, end: int, *, commas: bool, inside: bool = False) -> Iterator[Item]:
    """The items between the outermost brackets and, with ``commas``, the commas within these.

    An item begins behind one of these signs and ends before the next. The last item has ``closed`` None and
    reaches to ``end``. With ``inside`` the range begins within the brackets, as if behind a comma; without,
    ``opened`` of the first item is CLOSE.
    """
    scanner = Scanner(1 if inside else 0)
    position, opened = start, COMMA if inside else CLOSE
    pieces: list[bytes] = []
    for chunk_start, chunk in chunks_of(path, start, end):
        positions, kinds, depths = scanner.feed(chunk)
        bounds = ((kinds == OPEN) & (depths == 1)) | ((kinds == CLOSE) & (depths == 0))
        if commas:
            bounds |= (kinds == COMMA) & (depths == 1)
        at = 0
        for event, kind in zip(positions[bounds].tolist(), kinds[bounds].tolist(), strict=True):
            pieces.append(chunk[at:event])
            yield Item(position, b"".join(pieces), opened, kind)
            pieces, at, opened = [], event + 1, kind
            position = chunk_start + at
        pieces.append(chunk[at:])
    yield Item(position, b"".join(pieces), opened, None)


def end_of_first(path: str, start: int, end: int) -> int | None:
    """The end of the first object or array in a range; None if it does not end within the range."""
    scanner = Scanner()
    for chunk_start, chunk in chunks_of(path, start, end):
        positions, kinds, depths = scanner.feed(chunk)
        ends = positions[(kinds == CLOSE) & (depths == 0)]
        if len(ends):
            return chunk_start + int(ends[0]) + 1
    return None


def cuts_of(path: str, start: int, end: int, split_bytes: int, *, commas: bool) -> list[int]:
    """The start of a range, and positions at least ``split_bytes`` apart at which it can be cut.

    Cuts are behind commas of an array with ``commas``, else behind outermost closing brackets. All of the
    range is scanned, as strings and nesting can only be known from its beginning on.
    """
    scanner, cuts = Scanner(), [start]
    kind, depth = (COMMA, 1) if commas else (CLOSE, 0)
    for chunk_start, chunk in chunks_of(path, start, end):
        positions, kinds, depths = scanner.feed(chunk)
        candidates = positions[(kinds == kind) & (depths == depth)] + chunk_start + 1
        while True:
            at = int(np.searchsorted(candidates, cuts[-1] + split_bytes))
            if at == len(candidates):
                break
            cuts.append(int(candidates[at]))
    return cuts
