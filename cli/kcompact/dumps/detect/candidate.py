"""A file to be recognised (``Candidate``), and the result (``Recognised``)."""

import os
from codecs import BOM_UTF8
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from typing import Any

from kcompact.dumps.dialects.dialect import Dialect
from kcompact.dumps.text.lines_around import TAIL_BYTES

HEAD_BYTES = 1 << 20
LONGEST_HEAD_BYTES = 64 << 20  # larger than any record that a broker takes by default


@dataclass(frozen=True)
class Recognised:
    """The result of recognising a file: those parts of a DumpFile that follow from its content."""

    layout: str
    dialect: Dialect
    shape: Any
    topic: str | None = None  # where the file says it once, not record by record
    partition: int | None = None
    data_bytes: int | None = None  # where records end before the file does
    notes: tuple[str, ...] = ()  # in addition to the dialect's notes


@dataclass(frozen=True)
class Candidate:
    """A file to be recognised: how messages name it, where its plain bytes are, how they begin.

    ``start`` is where the text begins, after a byte order mark. ``tail`` are the last bytes, TAIL_BYTES.
    """

    path: str
    data_path: str
    data_bytes: int
    head: bytes
    start: int
    tail: bytes

    @property
    def body(self) -> bytes:
        """The head without a byte order mark."""
        return self.head[self.start :]

    @property
    def is_blank(self) -> bool:
        """Whether the body is nothing but blanks, if anything."""
        return not self.body or self.body.isspace()

    @property
    def whole(self) -> bool:
        """Whether the head is the whole file."""
        return len(self.head) == self.data_bytes


def candidate(path: str, data_path: str, most_bytes: int | None = None) -> Candidate:
    """Read the beginning of the plain file at ``data_path``, and more where no line ends in it.

    ``most_bytes``: the length of the beginning; None: HEAD_BYTES.
    """
    with open(data_path, "rb", 0) as source:  # noqa: PTH123  strings are faster, and there may be ten thousand
        data_bytes = os.fstat(source.fileno()).st_size
        head = source.read(min(most_bytes or HEAD_BYTES, data_bytes))
        while b"\n" not in head and len(head) < LONGEST_HEAD_BYTES and (more := source.read(len(head))):
            head += more
        is_whole = len(head) == data_bytes
        tail = head if is_whole else os.pread(source.fileno(), TAIL_BYTES, max(0, data_bytes - TAIL_BYTES))
    start = len(BOM_UTF8) if head.startswith(BOM_UTF8) else 0
    return Candidate(path, data_path, data_bytes, head, start, tail[-TAIL_BYTES:])


def lines_in(body: bytes, *, whole: bool) -> Iterator[bytes]:
    """The lines of a body without their line feeds, one at a time, as callers need only a few.

    Unless the body is ``whole``, its last line is cut; it is left out if others come before it.
    """
    line, others_before = b"", False
    for line in BytesIO(body):
        if not line.endswith(b"\n"):
            break
        yield line[:-1]
        others_before = True
    if not line.endswith(b"\n") and (whole or not others_before):
        yield line


def first_line(body: bytes, start: int) -> tuple[bytes, int]:
    """The line that begins at ``start``, without its line feed, and the position of the next line, or -1."""
    end = body.find(b"\n", start)
    return (body[start:], -1) if end < 0 else (body[start:end], end + 1)


def first_byte(body: bytes) -> bytes:
    """The first byte that is neither blank nor part of kcat's ``% ...`` lines."""
    return body[after_noise(body) :][:1]


def after_noise(body: bytes) -> int:
    """The position after blanks in the first line that is neither blank nor one of kcat's (``% ...``)."""
    at = 0
    while at < len(body):
        line_end = body.find(b"\n", at)
        line_end = len(body) if line_end < 0 else line_end
        line = body[at:line_end]
        if line.strip() and not line.lstrip().startswith(b"%"):
            return at + len(line) - len(line.lstrip())
        at = line_end + 1
    return len(body)
