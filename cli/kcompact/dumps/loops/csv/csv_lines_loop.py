"""CSV and delimited text: rows of as many cells as there are columns.

A row that is not accepted in full is left to the reference reader: see ``Columns.refused``.
"""

import numpy as np
from numba import types

from kcompact.dumps.loops import columns as c
from kcompact.dumps.loops.columns import Columns
from kcompact.dumps.loops.compiling import int64, loop, part
from kcompact.dumps.loops.csv.csv_cells import (
    NONE,
    REFUSED,
    RFC4180,
    UNFINISHED,
    end_of_plain_cell,
    end_of_quoted_cell,
    line_end,
    needless_quotes,
    row_end,
    written_cell,
)
from kcompact.dumps.loops.fields import (
    BYTES,
    COLUMNS,
    IS_UNSET,
    LARGEST_PARTITION,
    NUMBERS,
    TABLE,
    clock_of,
    is_lossy,
    is_text,
    topic_number,
    whole_number,
)

# Rows of ``places``: the column of each part of a record, ABSENT if there is none.
TOPIC, PARTITION, OFFSET, TIMESTAMP, KEY, VALUE, HEADERS = range(7)
KEY_ERROR, VALUE_ERROR, KEY_MARKER, VALUE_MARKER, KEY_SIZE, VALUE_SIZE, DELETE_FLAG, PLACES = range(7, 15)
ABSENT = -1
# Places of ``rules``.
BYTE_EXACT, TOPIC_NEEDED, QUOTING, DELIMITER, IS_LAST = range(5)
RULES = 5
# Columns of ``cells``, which has a row for each column; the kinds are those of columns.py.
_KIND, _START, _END, _DOUBLED = range(4)
CELL_FACTS = 4
_QUOTE, _NEWLINE, _RETURN = b'"\n\r'
_MARK = 0xEF  # the first byte of a byte order mark: which one it is, the reference tells
_NULL_WORD, _NULL_SIGN = np.frombuffer(b"NULL", np.uint8), np.frombuffer(rb"\N", np.uint8)
_NULL, _NONE, _NAN, _NIL = (np.frombuffer(text, np.uint8) for text in (b"null", b"None", b"NaN", b"nil"))
_NAN_OF_PYTHON, _NA, _NA_OF_R = (np.frombuffer(text, np.uint8) for text in (b"nan", b"<NA>", b"NA"))
_UNDEFINED, _NIL_OF_FMT = (np.frombuffer(text, np.uint8) for text in (b"undefined", b"<nil>"))
_IN_ANGLES, _IN_BRACKETS = (np.frombuffer(text, np.uint8) for text in (b"<null>", b"(null)"))


@part
def _cells_end(
    data: np.ndarray, at: int, bound: int, rules: np.ndarray, cells: np.ndarray
) -> tuple[int, int]:
    """Behind the row that starts at ``at``, and how its cells are quoted; ``cells`` learn where each is."""
    delimiter = rules[DELIMITER]
    quote = delimiter if rules[QUOTING] == NONE else _QUOTE
    last, quoted = len(cells) - 1, 0
    for column in range(len(cells)):
        if data[at] == _QUOTE and rules[QUOTING] == RFC4180:
            at, quoted = _quoted_cell(data, at, bound, cells, column), quoted | c.QUOTED
            if at < 0:
                return REFUSED, quoted
            if not quoted & c.QUOTED_WORD and not cells[column, _DOUBLED]:
                quoted |= needless_quotes(data, cells[column, _START], cells[column, _END], delimiter)
        else:
            start = at
            at = end_of_plain_cell(data, at, delimiter, quote)
            end = at
            if data[at] == _NEWLINE and at > start and data[at - 1] == _RETURN:
                end -= 1
                at -= 1
            cells[column, _KIND] = c.MISSING if end == start else c.TEXT
            cells[column, _START], cells[column, _END], cells[column, _DOUBLED] = start, end, 0
        if column == last:
            return line_end(data, at), quoted | c.CR_LF if data[at] == _RETURN else quoted
        if data[at] != delimiter:
            return REFUSED, quoted
        at += 1
    return REFUSED, quoted


@part
def _quoted_cell(data: np.ndarray, at: int, bound: int, cells: np.ndarray, column: int) -> int:
    """Behind the closing quote of the cell whose opening one is at ``at``."""
    close, doubled = end_of_quoted_cell(data, at + 1, bound)
    if close < 0:
        return REFUSED
    cells[column, _KIND] = c.EMPTY if close == at + 1 else c.TEXT
    cells[column, _START], cells[column, _END], cells[column, _DOUBLED] = at + 1, close, doubled
    return close + 1


@part
def _fill(
    data: np.ndarray,
    cells: np.ndarray,
    row: int,
    places: np.ndarray,
    rules: np.ndarray,
    literal: np.ndarray,
    out: Columns,
) -> bool:
    """Fill in a row; False where only the reference knows what the record says."""
    for place in range(KEY_ERROR, KEY_SIZE):
        if places[place] >= 0 and cells[places[place], _KIND] != c.MISSING:
            return False
    flag = places[DELETE_FLAG]
    if flag >= 0 and cells[flag, _KIND] == c.TEXT and not IS_UNSET[data[cells[flag, _START]]]:
        return False
    return (
        _fill_numbers(data, cells, row, places, out.numbers)
        and _fill_topic(data, cells, row, places, rules, out)
        and _fill_value(data, cells, row, places, literal, out)
        and _fill_key(data, cells, row, places, rules, literal, out)
    )


@part
def _number(data: np.ndarray, cells: np.ndarray, place: int) -> int:
    """The number in a cell; -1 where the cell is empty or there is no such column; else below that."""
    if place < 0 or cells[place, _KIND] == c.MISSING:
        return -1
    number = -2
    if cells[place, _KIND] == c.TEXT:
        number = whole_number(data, cells[place, _START], cells[place, _END])
    return number if number >= 0 else -2


@part
def _fill_numbers(
    data: np.ndarray, cells: np.ndarray, row: int, places: np.ndarray, numbers: np.ndarray
) -> bool:
    offset = _number(data, cells, places[OFFSET])
    partition = _number(data, cells, places[PARTITION])
    place, timestamp, clock = places[TIMESTAMP], int64(-1), int64(c.MISSING)
    if place >= 0 and cells[place, _KIND] != c.MISSING:
        timestamp, clock = clock_of(data, cells[place, _START], cells[place, _END])
        if timestamp < 0 or cells[place, _KIND] != c.TEXT:
            return False
    numbers[c.OFFSET, row], numbers[c.PARTITION, row] = offset, partition
    numbers[c.TIMESTAMP, row], numbers[c.CLOCK, row] = timestamp, clock
    return offset >= 0 and -1 <= partition <= LARGEST_PARTITION


@part
def _fill_topic(
    data: np.ndarray, cells: np.ndarray, row: int, places: np.ndarray, rules: np.ndarray, out: Columns
) -> bool:
    place = places[TOPIC]
    out.numbers[c.TOPIC, row] = 0
    if place < 0 or cells[place, _KIND] == c.MISSING:
        return rules[TOPIC_NEEDED] == 0
    if cells[place, _KIND] != c.TEXT or cells[place, _DOUBLED]:
        return False
    number = topic_number(data, cells[place, _START], cells[place, _END], row, out)
    out.numbers[c.TOPIC, row] = number
    return number >= 0


@part
def _is_null_elsewhere(data: np.ndarray, start: int, end: int) -> bool:
    """Whether it is one of the rarer texts of NULL_TEXTS (csv_reader.py), which are counted there."""
    return 2 <= end - start <= 9 and (  # noqa: PLR2004  the shortest and the longest of them
        is_text(data, start, end, _NULL)
        or is_text(data, start, end, _NONE)
        or is_text(data, start, end, _NAN)
        or is_text(data, start, end, _NAN_OF_PYTHON)
        or is_text(data, start, end, _NA)
        or is_text(data, start, end, _NA_OF_R)
        or is_text(data, start, end, _NIL)
        or is_text(data, start, end, _UNDEFINED)
        or is_text(data, start, end, _IN_ANGLES)
        or is_text(data, start, end, _NIL_OF_FMT)
        or is_text(data, start, end, _IN_BRACKETS)
    )


@part
def _kind_of(data: np.ndarray, cells: np.ndarray, place: int, size_place: int, literal: np.ndarray) -> int:
    """MISSING, EMPTY, TEXT or LITERAL; REFUSED where another cell, or the reference, tells null from text."""
    kind, start = cells[place, _KIND], cells[place, _START]
    if kind != c.TEXT:
        return REFUSED if size_place >= 0 else kind
    end = cells[place, _END]
    if len(literal) and is_text(data, start, end, literal):
        return c.LITERAL
    if (len(literal) and cells[place, _DOUBLED]) or _is_null_elsewhere(data, start, end):
        return REFUSED
    return c.TEXT


@part
def _null_flag(data: np.ndarray, cell: np.ndarray, word: int, sign: int) -> int:
    """Which of the flags says that text is what other tools write for null, as csv_reader.py has it."""
    if is_text(data, cell[_START], cell[_END], _NULL_SIGN):
        return sign
    return word if is_text(data, cell[_START], cell[_END], _NULL_WORD) else 0


@part
def _fill_value(
    data: np.ndarray, cells: np.ndarray, row: int, places: np.ndarray, literal: np.ndarray, out: Columns
) -> bool:
    numbers, place = out.numbers, places[VALUE]
    kind = _kind_of(data, cells, place, places[VALUE_SIZE], literal)
    numbers[c.VALUE_KIND, row] = kind
    numbers[c.VALUE_START, row], numbers[c.VALUE_END, row] = cells[place, _START], cells[place, _END]
    if cells[place, _DOUBLED]:
        numbers[c.FLAGS, row] |= c.VALUE_ESCAPED
    if kind == c.TEXT:
        numbers[c.FLAGS, row] |= _null_flag(data, cells[place], c.NULL_WORD, c.NULL_SIGN)
    place = places[HEADERS]
    numbers[c.HEADERS_START, row] = numbers[c.HEADERS_END, row] = 0
    if place >= 0 and cells[place, _KIND] == c.TEXT:
        numbers[c.HEADERS_START, row], numbers[c.HEADERS_END, row] = cells[place, _START], cells[place, _END]
        if cells[place, _DOUBLED]:
            numbers[c.FLAGS, row] |= c.HEADERS_ESCAPED
    return kind >= 0


@part
def _fill_key(
    data: np.ndarray,
    cells: np.ndarray,
    row: int,
    places: np.ndarray,
    rules: np.ndarray,
    literal: np.ndarray,
    out: Columns,
) -> bool:
    place, at = places[KEY], out.state[c.KEY_BYTES]
    kind, after = _kind_of(data, cells, place, places[KEY_SIZE], literal), at
    if kind == c.TEXT:
        cell = cells[place]
        after = written_cell(data, cell[_START], cell[_END], cell[_DOUBLED], out.keys, at)
        out.numbers[c.FLAGS, row] |= _null_flag(data, cell, c.KEY_NULL_WORD, c.KEY_NULL_SIGN)
    if kind < 0 or (rules[BYTE_EXACT] == 0 and is_lossy(out.keys, at, after)):
        return False
    out.numbers[c.KEY_KIND, row] = kind
    out.state[c.KEY_BYTES] = after
    return True


@loop(types.void(BYTES, types.int64, NUMBERS, NUMBERS, NUMBERS, BYTES, TABLE, COLUMNS))
def scan_csv_lines(
    data: np.ndarray,
    end: int,
    bounds: np.ndarray,
    places: np.ndarray,
    rules: np.ndarray,
    literal: np.ndarray,
    cells: np.ndarray,
    out: Columns,
) -> None:
    """Read rows until ``end`` (after a newline), or until the columns are full, or one does not end.

    No row reaches over any of ``bounds``, which ascend; the last one is ``end``.
    """
    state, refused, row, refusals, number = out.state, out.refused, 0, 0, 0
    at = state[c.AT]
    state[c.KEY_BYTES] = state[c.IS_UNFINISHED] = 0
    while at < end and row < out.numbers.shape[1] and refusals < len(refused):
        while bounds[number] <= at:
            number += 1
        blank = line_end(data, at)
        if blank > 0:
            at = blank
            continue
        after, quoted = _cells_end(data, at, bounds[number], rules, cells)
        out.numbers[c.FLAGS, row] = quoted
        if after > 0 and data[at] != _MARK and _fill(data, cells, row, places, rules, literal, out):
            out.numbers[c.START, row], out.numbers[c.END, row] = at, after
            row += 1
            out.key_ends[row] = state[c.KEY_BYTES]
        else:
            after = row_end(data, at, bounds[number], rules[QUOTING])
            if after == UNFINISHED and bounds[number] == end and rules[IS_LAST] == 0:
                state[c.IS_UNFINISHED] = 1
                break
            after = bounds[number] if after == UNFINISHED else after
            refused[refusals, 0], refused[refusals, 1] = at, after
            refusals += 1
        at = after
    state[c.AT], state[c.ROWS], state[c.REFUSALS] = at, row, refusals
