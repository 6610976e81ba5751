"""The interface of a target format: records in, bytes out, in fragments that simply follow one another."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar

from kcompact.dumps.records.record import Record

CHUNK_BYTES = 1 << 20


@dataclass(frozen=True)
class Writer(ABC):
    """One target. Picklable: workers encode, the driver writes what is around the fragments.

    ``seed`` tells the inputs apart. ``losses`` says what the target cannot hold (nothing: lossless),
    ``one_log`` whether records of several partitions would be mixed up in it.
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
