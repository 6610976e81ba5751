"""A file that is to be recognised, and what is found out about it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kcompact.dumps.dialects.dialect import Dialect

HEAD_BYTES = 1 << 20
LONGEST_HEAD_BYTES = 64 << 20  # larger than any record that a broker takes by default
UTF8_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Recognised:
    """The layout's part of a DumpFile."""

    layout: str
    dialect: Dialect
    shape: Any
    topic: str | None = None  # where the file tells once, not record by record
    partition: int | None = None
    data_bytes: int | None = None  # where records end before the file does
    notes: tuple[str, ...] = ()  # beside the dialect's


@dataclass(frozen=True)
class Candidate:
    """A file to be recognised: how messages name it, where its plain bytes lie, how they begin.

    ``start`` is where the text begins, after a byte order mark.
    """

    path: str
    data_path: str
    data_bytes: int
    head: bytes
    start: int

    @property
    def body(self) -> bytes:
        """The head without a byte order mark."""
        return self.head[self.start :]

    @property
    def whole(self) -> bool:
        """Whether the head is the whole file."""
        return len(self.head) == self.data_bytes


def candidate(path: str, data_path: str) -> Candidate:
    """Read the beginning of the plain file at ``data_path``, if need be up to its first line end."""
    with Path(data_path).open("rb") as source:
        head = source.read(HEAD_BYTES)
        while b"\n" not in head and len(head) < LONGEST_HEAD_BYTES and (more := source.read(len(head))):
            head += more
    start = len(UTF8_BOM) if head.startswith(UTF8_BOM) else 0
    return Candidate(path, data_path, Path(data_path).stat().st_size, head, start)


def first_byte(body: bytes) -> bytes:
    """The first byte that is neither blank nor part of kcat's ``% ...`` lines."""
    return body[after_noise(body) :][:1]


def after_noise(body: bytes) -> int:
    """Where the first line begins that is neither blank nor one of kcat's; blanks before it not counted."""
    at = 0
    while at < len(body):
        line_end = body.find(b"\n", at)
        line_end = len(body) if line_end < 0 else line_end
        line = body[at:line_end]
        if line.strip() and not line.lstrip().startswith(b"%"):
            return at + len(line) - len(line.lstrip())
        at = line_end + 1
    return len(body)
