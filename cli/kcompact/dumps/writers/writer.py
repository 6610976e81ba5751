"""The interface of a target format: records in, bytes out, in fragments that can simply be concatenated."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar

from kcompact.dumps.records.record import Record

CHUNK_BYTES = 1 << 20


@dataclass(frozen=True)
class Writer(ABC):
    """One target. Picklable: workers encode, the driver writes the bytes around the fragments.

    ``seed`` differs where inputs differ. ``losses`` names the parts that the target cannot hold (empty:
    lossless). ``one_log``: records do not name their log, so that those of several logs cannot be told apart.
    """

    seed: str
    suffix: ClassVar[str]  # of part files
    losses: ClassVar[tuple[str, ...]] = ()
    one_log: ClassVar[bool] = False

    def begin(self) -> bytes:
        """The bytes that the file starts with."""
        return b""

    @abstractmethod
    def encode(self, records: Iterable[Record]) -> Iterator[bytes]:
        """The records, in chunks. Raises OutputError for one that the target cannot hold."""


def in_chunks(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Pieces joined until they make a chunk."""
    chunk: list[bytes] = []
    size = 0
    for piece in pieces:
        chunk.append(piece)
        size += len(piece)
        if size >= CHUNK_BYTES:
            yield b"".join(chunk)
            chunk, size = [], 0
    if chunk:
        yield b"".join(chunk)


def where(record: Record) -> str:
    """How messages name a record."""
    return f"{record.topic}-{record.partition} offset {record.offset}"
