"""Loops over cells of CSV and delimited text, by the rules of csv_reader.py: their ends and their texts.

``bound`` is the end of the lines that a loop may look at; a newline is directly before it.
"""

import numpy as np

from kcompact.dumps.loops.columns import FREELY_QUOTED, QUOTED_WORD
from kcompact.dumps.loops.compiling import int64, loop, part
from kcompact.dumps.loops.words import STRETCH_BYTES, first_of, steps_to
from kcompact.dumps.text.csv_quoting import LONGEST_WORD

REFUSED, UNFINISHED = -1, -2
RFC4180, BACKSLASH, NONE = range(3)  # quoting
# Places of ``rules``.
BYTE_EXACT, TOPIC_NEEDED, QUOTING, DELIMITER, IS_LAST, TAKES_REST, VALUES_ARE_JSON, HAS_NULL_KEYS = range(8)
RULES = 8
# Columns of ``cells``, which has a row for each column of the dump; the kinds are those of columns.py.
KIND, START, END, DOUBLED, LABEL = range(5)
CELL_FACTS = 5
_QUOTE, _ESCAPE, _NEWLINE, _RETURN = b'"\\\n\r'
_BLANK, _COMMA, _SEMICOLON = b" ,;"
_ALPHANUMERIC, _PUNCTUATION = 1, 2
_OF_WORDS = np.zeros(256, np.uint8)
_OF_WORDS[list(b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")] = _ALPHANUMERIC
_OF_WORDS[list(b"._:-")] = _PUNCTUATION


@part
def end_of_plain_cell(data: np.ndarray, at: int, delimiter: int, quote: int) -> int:
    """The place of the first delimiter, newline or quote; without quoting, ``quote`` is the delimiter."""
    return first_of(data, at, delimiter, _NEWLINE, quote, 0)


@part
def end_of_quoted_cell(data: np.ndarray, at: int, bound: int) -> tuple[int, int]:
    """The place of a cell's closing quote, or REFUSED, and whether quotes in its text are doubled (0 or 1).

    The text starts at ``at``.
    """
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
        steps = steps_to(data, at, _QUOTE, _QUOTE, _QUOTE, 0)
        at += steps
        if steps < STRETCH_BYTES:
            return at if at < bound else REFUSED
    return REFUSED


@part
def needless_quotes(data: np.ndarray, start: int, end: int, delimiter: int) -> int:
    """The flags of a quoted cell that needs no quotes, by the rules of csv_quoting.py; 0 if it needs them."""
    if start == end or _OF_WORDS[data[start]] != _ALPHANUMERIC:
        return 0
    is_word = end - start <= LONGEST_WORD
    for at in range(start, end):
        if data[at] == _BLANK or data[at] == _RETURN or data[at] == _COMMA or data[at] == _SEMICOLON:
            return 0
        is_word = is_word and _OF_WORDS[data[at]] > 0 and (delimiter != _SEMICOLON or data[at] > delimiter)
    if end_of_plain_cell(data, start, delimiter, _QUOTE) != end:
        return 0
    return FREELY_QUOTED | QUOTED_WORD if is_word else FREELY_QUOTED


@part
def line_end(data: np.ndarray, at: int) -> int:
    """The place behind the line end (LF or CR LF) at ``at``; REFUSED if there is none."""
    if data[at] == _RETURN:
        at += 1
    return at + 1 if data[at] == _NEWLINE else REFUSED


@part
def may_be_rows(data: np.ndarray, start: int, end: int, delimiter: int, columns: int) -> bool:
    """Whether a row of several lines may be several rows: each line has as many delimiters as a row.

    The reference then decides.
    """
    if first_of(data, start, _NEWLINE, _NEWLINE, _NEWLINE, 0) >= end - 1:
        return False
    delimiters = int64(0)
    for at in range(start, end):
        if data[at] == delimiter:
            delimiters += 1
        elif data[at] == _NEWLINE:
            if delimiters != columns - 1:
                return False
            delimiters = 0
    return True


@part
def row_end(data: np.ndarray, at: int, bound: int, quoting: int) -> int:
    """The end of the first line behind which no quote is open, counting quotes alone; UNFINISHED if none."""
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
    """Copy a cell's text, with doubled quotes as single ones; return where the copy ends."""
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
    """Write the texts of cells one after another, and where each ends."""
    at = 0
    for row in range(len(starts)):
        at = written_cell(data, starts[row], ends[row], doubled[row], out, at)
        out_ends[row] = at


@part
def is_header(data: np.ndarray, row: int, after: int, header: np.ndarray) -> bool:
    """Whether a row that ends before ``after`` is the header line again, as in tables that were joined."""
    end = row + len(header)
    if row == end or end >= after or (data[end] != _NEWLINE and data[end] != _RETURN):
        return False
    for at in range(len(header)):
        if data[row + at] != header[at]:
            return False
    return True
