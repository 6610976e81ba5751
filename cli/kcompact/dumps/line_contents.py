"""What the lines of a window hold beside keys: hashes of values, headers, sizes."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from kcompact.dumps.contents import ABSENT, Contents, hashes_of, lengths_of
from kcompact.dumps.headers import Headers
from kcompact.dumps.line_window import LineWindow
from kcompact.dumps.record import Record

Unspelt = Callable[[bytes], bytes]
"""From how a value is spelt to its bytes. Raises ValueError where only the exact way can tell."""


@dataclass
class LineValues:
    """Where the values of a window's lines stand, and what headers each line has."""

    starts: np.ndarray
    lengths: np.ndarray  # as they are spelt; ABSENT for null
    header_codes: np.ndarray
    headers: list[Headers] = field(default_factory=lambda: [()])
    decoded: dict[int, bytes | None] = field(default_factory=dict)  # by line number

    @classmethod
    def of(cls, lines: int) -> "LineValues":
        """Room for so many lines: null, without headers."""
        starts, codes = np.zeros(lines, np.int64), np.zeros(lines, np.int64)
        return cls(starts, np.full(lines, ABSENT, np.int64), codes)

    def set(self, target: slice | np.ndarray, starts: np.ndarray, lengths: np.ndarray) -> None:
        """Where values stand in the lines ``target``."""
        self.starts[target] = starts
        self.lengths[target] = lengths

    def set_headers(self, target: slice | int | np.ndarray, headers: Headers) -> None:
        """The same headers for all lines of ``target`` (a line is one, too)."""
        if headers not in self.headers:
            self.headers.append(headers)
        self.header_codes[target] = self.headers.index(headers)

    def decode(self, window: LineWindow, lines: np.ndarray, unspelt: Unspelt) -> list[int]:
        """Decode the values of ``lines``; return the lines whose value only the exact way can tell."""
        text = window.data.tobytes()
        spans = (lines, self.starts[lines], self.lengths[lines])
        hidden = []
        for number, start, length in zip(*(column.tolist() for column in spans), strict=True):
            try:
                self.decoded[number] = None if length < 0 else unspelt(text[start : start + length])
            except ValueError:
                hidden.append(number)
        return hidden

    def read(self, number: int, record: Record) -> None:
        """What a line holds that was read the exact way."""
        self.decoded[number] = record.value
        self.set_headers(number, record.headers)

    def contents(self, keys: pa.Array, lines: np.ndarray) -> Contents:
        """Of the lines with these numbers, whose keys are ``keys``."""
        values = [self.decoded[number] for number in lines.tolist()]
        lengths = np.array([ABSENT if value is None else len(value) for value in values], np.int64)
        return Contents(lengths_of(keys), lengths, hashes_of(values), self.headers, self.header_codes[lines])
