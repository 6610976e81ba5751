"""Loops over lines of console tools: unquoted cells, some with labels; the last one takes the remainder.

They follow the rules of ``csv_reader.first_cells`` and console_labels.py.
"""

import numpy as np

from kcompact.dumps.loops import columns as c
from kcompact.dumps.loops.compiling import part
from kcompact.dumps.loops.csv.csv_cells import (
    DELIMITER,
    DOUBLED,
    END,
    KIND,
    LABEL,
    REFUSED,
    START,
    VALUES_ARE_JSON,
    end_of_plain_cell,
    line_end,
)
from kcompact.dumps.loops.fields import is_text, whole_number
from kcompact.dumps.loops.json.json_values import value_end
from kcompact.dumps.loops.words import first_of

UNLABELLED, OF_TIMESTAMP, OF_PARTITION, OF_OFFSET, OF_DELIVERY, OF_EPOCH, OF_HEADERS = range(7)
"""Kinds of LABEL. OF_HEADERS: headers as consoles print them, if the index asks for headers."""
_OF_APPEND_TIME = OF_HEADERS  # headers have no label
_LABELS = (b"", b"CreateTime:", b"Partition:", b"Offset:", b"Delivery:", b"Epoch:", b"LogAppendTime:")
_LABEL_TEXTS = np.frombuffer(b"".join(_LABELS), np.uint8)
_LABEL_ENDS = np.cumsum([len(label) for label in _LABELS])
_NEWLINE, _RETURN, _PERCENT, _COLON, _COMMA, _SEMICOLON = b"\n\r%:,;"
_QUOTE, _OBJECT, _ARRAY, _ZERO, _NINE = b'"{[09'
_LONGEST_JSON = 4000  # Python's parser, which the reference uses, refuses numbers of 4,301 digits
_MESSAGE, _PROCESSED = (np.frombuffer(text, np.uint8) for text in (b"Message ", b"Processed a total of "))
_AT_OFFSET, _EXITING = (np.frombuffer(text, np.uint8) for text in (b" at offset ", b": exiting"))
_NO_TIMESTAMP, _NOT_PRESENT = (np.frombuffer(text, np.uint8) for text in (b"NO_TIMESTAMP", b"NOT_PRESENT"))
_NO_HEADERS, _NULL, _NULL_WORD = (np.frombuffer(text, np.uint8) for text in (b"NO_HEADERS", b"null", b"NULL"))
_OF_JAVA = np.frombuffer(b"RecordHeaders(", np.uint8)


@part
def past_lines_between(data: np.ndarray, at: int, bound: int) -> int:
    """The start of the first line from ``at`` on that is neither blank nor begins like a tool's own line."""
    while at < bound:
        blank = line_end(data, at)
        if blank > 0:
            at = blank
        elif data[at] == _PERCENT or _begins(data, at, bound, _PROCESSED):
            at = first_of(data, at, _NEWLINE, _NEWLINE, _NEWLINE, 0) + 1
        else:
            return at
    return at


@part
def unquoted_cells_end(
    data: np.ndarray, at: int, bound: int, rules: np.ndarray, cells: np.ndarray
) -> tuple[int, int]:
    """The end of the line that starts at ``at``, or REFUSED, and its flags; ``cells`` get their places."""
    delimiter, last, flags = rules[DELIMITER], len(cells) - 1, 0
    if data[at] == _PERCENT or _begins(data, at, bound, _MESSAGE):
        return REFUSED, flags
    for column in range(last):
        end = _cell_end(data, at, delimiter)
        if end < 0 or data[end] != delimiter:
            return REFUSED, flags
        _note_cell(cells, column, at, end)
        if cells[column, LABEL] == OF_HEADERS:
            doubt = _doubt_of_headers(data, at, end)
            if doubt < 0:
                return REFUSED, flags
            flags |= doubt
        elif cells[column, LABEL] != UNLABELLED and not _without_label(data, cells[column]):
            return REFUSED, flags
        at = end + 1
    newline = first_of(data, at, _NEWLINE, _NEWLINE, _NEWLINE, 0)
    end = newline
    if data[end - 1] == _RETURN and end > at:
        end, flags = end - 1, flags | c.CR_LF
    may_cut_key = rules[VALUES_ARE_JSON] and _may_cut_key(data, at, end, delimiter)
    if may_cut_key or _may_hold_kcat_s(data, at, end):
        return REFUSED, flags
    _note_cell(cells, last, at, end)
    return newline + 1, flags


@part
def _note_cell(cells: np.ndarray, column: int, start: int, end: int) -> None:
    cells[column, KIND] = c.MISSING if end == start else c.TEXT
    cells[column, START], cells[column, END], cells[column, DOUBLED] = start, end, 0


@part
def _begins(data: np.ndarray, start: int, end: int, text: np.ndarray) -> bool:
    """Whether a range begins with a text."""
    return end - start >= len(text) and is_text(data, start, start + len(text), text)


@part
def _cell_end(data: np.ndarray, at: int, delimiter: int) -> int:
    """The end of a cell: behind JSON at its start if a delimiter follows, else at the first delimiter.

    A newline ends a cell as well. REFUSED for JSON that the loop does not read.
    """
    if data[at] == _OBJECT or data[at] == _ARRAY or data[at] == _QUOTE:
        end = value_end(data, at)
        if end < 0 or end - at > _LONGEST_JSON:
            return REFUSED
        if data[end] == delimiter:
            return end
    return end_of_plain_cell(data, at, delimiter, delimiter)


@part
def _may_cut_key(data: np.ndarray, start: int, end: int, delimiter: int) -> bool:
    """Whether a value that does not begin as JSON holds a delimiter, by ``csv_reader.may_cut_key``."""
    if data[start] == _OBJECT or data[start] == _ARRAY:
        return False
    return first_of(data, start, delimiter, _NEWLINE, _NEWLINE, 0) < end


@part
def _may_hold_kcat_s(data: np.ndarray, start: int, end: int) -> bool:
    """Whether a value ends like the messages of kcat that ``between_records.is_kcat_within`` looks for."""
    at = end
    while at > start and _ZERO <= data[at - 1] <= _NINE:
        at -= 1
    text = _EXITING if at == end else _AT_OFFSET
    return at - len(text) >= start and is_text(data, at - len(text), at, text)


@part
def _without_label(data: np.ndarray, cell: np.ndarray) -> bool:
    """Take the label off a cell; return False if it has another label, or no number behind it."""
    label, behind = cell[LABEL], cell[START]
    if label == OF_TIMESTAMP and is_text(data, behind, cell[END], _NO_TIMESTAMP):
        cell[KIND] = c.MISSING
        return True
    if label == OF_TIMESTAMP and data[behind] == _LABEL_TEXTS[_LABEL_ENDS[_OF_APPEND_TIME - 1]]:
        label = _OF_APPEND_TIME
    for place in range(_LABEL_ENDS[label - 1], _LABEL_ENDS[label]):
        if data[behind] != _LABEL_TEXTS[place]:
            return False
        behind += 1
    if whole_number(data, behind, cell[END]) >= 0:
        cell[START] = behind
        return True
    return OF_DELIVERY <= label <= OF_EPOCH and is_text(data, behind, cell[END], _NOT_PRESENT)


@part
def _doubt_of_headers(data: np.ndarray, start: int, end: int) -> int:
    """DOUBTFUL_HEADERS for printed headers that can be read in another way, by printed_headers.may_be_others.

    0 for other headers, REFUSED for those that only the reference reads.
    """
    if start == end or is_text(data, start, end, _NO_HEADERS):
        return 0
    colon = end_of_plain_cell(data, start, _COLON, _COLON)
    is_odd = data[start] == _OBJECT or data[start] == _ARRAY or data[end - 1] == _SEMICOLON
    if colon >= end or is_odd or _begins(data, start, end, _OF_JAVA):
        return REFUSED
    value = colon + 1
    is_null = is_text(data, value, end, _NULL) or is_text(data, value, end, _NULL_WORD)
    sign = min(end_of_plain_cell(data, start, _COMMA, _COMMA), end_of_plain_cell(data, value, _COLON, _COLON))
    return c.DOUBTFUL_HEADERS if is_null or sign < end else 0
