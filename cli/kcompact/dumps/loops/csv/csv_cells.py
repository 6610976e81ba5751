"""Cells of CSV and delimited text, by the rules of csv_text.py: where they end, and what they stand for.

``bound`` is the end of the lines that may be looked at; a newline stands right before it.
"""

import numpy as np

from kcompact.dumps.loops.compiling import int64, loop, part
from kcompact.dumps.loops.words import equal_bytes, first_marked, word_at

REFUSED, UNFINISHED = -1, -2
RFC4180, BACKSLASH, NONE = range(3)  # quoting
_QUOTE, _ESCAPE, _NEWLINE, _RETURN = b'"\\\n\r'
_WORD = 8
_QUOTES = np.uint64(0x2222222222222222)
_NEWLINES = np.uint64(0x0A0A0A0A0A0A0A0A)


@part
def end_of_plain_cell(data: np.ndarray, at: int, delimiters: np.uint64, quotes: np.uint64) -> int:
    """The first delimiter, newline or quote from ``at`` on; ``quotes`` may be delimiters again."""
    while True:
        word = word_at(data, at)
        marks = equal_bytes(word, delimiters) | equal_bytes(word, _NEWLINES) | equal_bytes(word, quotes)
        if marks != 0:
            return at + first_marked(marks)
        at += _WORD


@part
def end_of_quoted_cell(data: np.ndarray, at: int, bound: int) -> tuple[int, int]:
    """The closing quote of the cell whose text starts at ``at``, and whether quotes are doubled in it."""
    doubled = 0
    while True:
        at = _quote_from(data, at, bound)
        if at < 0 or data[at + 1] != _QUOTE:
            return at, doubled
        doubled = 1
        at += 2


@part
def _quote_from(data: np.ndarray, at: int, bound: int) -> int:
    while at < bound:
        marks = equal_bytes(word_at(data, at), _QUOTES)
        if marks != 0:
            at += first_marked(marks)
            return at if at < bound else REFUSED
        at += _WORD
    return REFUSED


@part
def line_end(data: np.ndarray, at: int) -> int:
    """Behind the line end (LF or CR LF) at ``at``; REFUSED if there is none."""
    if data[at] == _RETURN:
        at += 1
    return at + 1 if data[at] == _NEWLINE else REFUSED


@part
def row_end(data: np.ndarray, at: int, bound: int, quoting: int) -> int:
    """Behind the line at whose end no quote is open, by the count of quotes alone; UNFINISHED if none."""
    is_open = int64(0)
    while at < bound:
        byte = data[at]
        if byte == _QUOTE and quoting != NONE:
            is_open ^= 1
        elif byte == _ESCAPE and quoting == BACKSLASH and (data[at + 1] == _ESCAPE or data[at + 1] == _QUOTE):
            at += 1
        elif byte == _NEWLINE and is_open == 0:
            return at + 1
        at += 1
    return UNFINISHED


@part
def written_cell(data: np.ndarray, start: int, end: int, doubled: int, out: np.ndarray, out_at: int) -> int:
    """Copy a cell's text, its doubled quotes as one; return where the copy ends."""
    at = start
    while at < end:
        out[out_at] = data[at]
        out_at += 1
        at += 2 if doubled and data[at] == _QUOTE else 1
    return out_at


@loop("void(uint8[::1], int64[::1], int64[::1], int64[::1], uint8[::1], int64[::1])")
def write_cells(
    data: np.ndarray,
    starts: np.ndarray,
    ends: np.ndarray,
    doubled: np.ndarray,
    out: np.ndarray,
    out_ends: np.ndarray,
) -> None:
    """The texts of cells, one after the other; where each ends."""
    at = 0
    for row in range(len(starts)):
        at = written_cell(data, starts[row], ends[row], doubled[row], out, at)
        out_ends[row] = at
