"""The loop over CSV and delimited text, whose rows have as many cells as there are columns.

It leaves a row that it does not accept in full to the reference reader: see ``Columns.refused``.
"""

import numpy as np
from numba import types

from kcompact.dumps.loops import columns as c
from kcompact.dumps.loops.columns import Columns
from kcompact.dumps.loops.compiling import int64, loop, part
from kcompact.dumps.loops.csv.csv_cells import (
    BYTE_EXACT,
    DELIMITER,
    DOUBLED,
    END,
    HAS_NULL_KEYS,
    IS_LAST,
    KIND,
    NONE,
    QUOTING,
    REFUSED,
    RFC4180,
    START,
    TAKES_REST,
    TOPIC_NEEDED,
    UNFINISHED,
    end_of_plain_cell,
    end_of_quoted_cell,
    is_header,
    line_end,
    may_be_rows,
    needless_quotes,
    row_end,
    written_cell,
)
from kcompact.dumps.loops.csv.null_cells import is_null_word, kind_of, null_flag
from kcompact.dumps.loops.csv.unquoted_lines import past_lines_between, unquoted_cells_end
from kcompact.dumps.loops.fields import (
    BYTES,
    COLUMNS,
    IS_UNSET,
    LARGEST_PARTITION,
    NUMBERS,
    TABLE,
    clock_of,
    is_lossy,
    topic_number,
    whole_number,
)

# Rows of ``places``: the column of each part of a record, ABSENT if there is none.
TOPIC, PARTITION, OFFSET, TIMESTAMP, TIMESTAMP_TYPE, KEY, VALUE, HEADERS = range(8)  # as in dialect.ROLES
KEY_ERROR, VALUE_ERROR, KEY_MARKER, VALUE_MARKER, KEY_SIZE, VALUE_SIZE, DELETE_FLAG, PLACES = range(8, 16)
ABSENT = -1
_QUOTE, _NEWLINE, _RETURN = b'"\n\r'
_MARK = 0xEF  # perhaps the first byte of a byte order mark, which the reference recognises


@part
def _cells_end(
    data: np.ndarray, at: int, bound: int, rules: np.ndarray, cells: np.ndarray
) -> tuple[int, int]:
    """The end of the row that starts at ``at``, or REFUSED, and flags of how its cells are quoted.

    ``cells`` get the kind and place of each cell.
    """
    if rules[TAKES_REST]:
        return unquoted_cells_end(data, at, bound, rules, cells)
    delimiter = rules[DELIMITER]
    quote = delimiter if rules[QUOTING] == NONE else _QUOTE
    row, last, quoted = at, len(cells) - 1, 0
    for column in range(len(cells)):
        if data[at] == _QUOTE and rules[QUOTING] == RFC4180:
            at, quoted = _quoted_cell(data, at, bound, cells, column), quoted | c.QUOTED
            if at < 0:
                return REFUSED, quoted
            if not quoted & c.QUOTED_WORD and not cells[column, DOUBLED]:
                quoted |= needless_quotes(data, cells[column, START], cells[column, END], delimiter)
        else:
            start = at
            at = end_of_plain_cell(data, at, delimiter, quote)
            end = at
            if data[at] == _NEWLINE and at > start and data[at - 1] == _RETURN:
                end -= 1
                at -= 1
            cells[column, KIND] = c.MISSING if end == start else c.TEXT
            cells[column, START], cells[column, END], cells[column, DOUBLED] = start, end, 0
        if column == last:
            if quoted and may_be_rows(data, row, line_end(data, at), delimiter, len(cells)):
                return REFUSED, quoted
            return line_end(data, at), quoted | c.CR_LF if data[at] == _RETURN else quoted
        if data[at] != delimiter:
            return REFUSED, quoted
        at += 1
    return REFUSED, quoted


@part
def _quoted_cell(data: np.ndarray, at: int, bound: int, cells: np.ndarray, column: int) -> int:
    """The place behind the closing quote of the cell whose opening quote is at ``at``, or REFUSED."""
    close, doubled = end_of_quoted_cell(data, at + 1, bound)
    if close < 0:
        return REFUSED
    cells[column, KIND] = c.EMPTY if close == at + 1 else c.TEXT
    cells[column, START], cells[column, END], cells[column, DOUBLED] = at + 1, close, doubled
    return close + 1


@part
def _fill(
    data: np.ndarray,
    cells: np.ndarray,
    row: int,
    places: np.ndarray,
    rules: np.ndarray,
    words: np.ndarray,
    out: Columns,
) -> bool:
    """Fill in a row; return False where only the reference can read the record."""
    for place in range(KEY_ERROR, KEY_SIZE):
        if places[place] >= 0 and cells[places[place], KIND] != c.MISSING:
            return False
    flag = places[DELETE_FLAG]
    if flag >= 0 and cells[flag, KIND] == c.TEXT and not IS_UNSET[data[cells[flag, START]]]:
        return False
    return (
        _fill_numbers(data, cells, row, places, out.numbers)
        and _fill_topic(data, cells, row, places, rules, out)
        and _fill_value(data, cells, row, places, words, out)
        and _fill_key(data, cells, row, places, rules, words, out)
    )


@part
def _number(data: np.ndarray, cells: np.ndarray, place: int) -> int:
    """The number in a cell; -1 if the cell is empty or there is no such column, -2 if it is no number."""
    if place < 0 or cells[place, KIND] == c.MISSING:
        return -1
    number = -2
    if cells[place, KIND] == c.TEXT:
        number = whole_number(data, cells[place, START], cells[place, END])
    return number if number >= 0 else -2


@part
def _fill_numbers(
    data: np.ndarray, cells: np.ndarray, row: int, places: np.ndarray, numbers: np.ndarray
) -> bool:
    offset = _number(data, cells, places[OFFSET])
    partition = _number(data, cells, places[PARTITION])
    place, timestamp, clock = places[TIMESTAMP], int64(-1), int64(c.MISSING)
    if place >= 0 and cells[place, KIND] != c.MISSING:
        timestamp, clock = clock_of(data, cells[place, START], cells[place, END])
        if timestamp < 0 or cells[place, KIND] != c.TEXT:
            return False
    numbers[c.OFFSET, row], numbers[c.PARTITION, row] = offset, partition
    numbers[c.TIMESTAMP, row], numbers[c.CLOCK, row] = timestamp, clock
    return (offset >= 0 or places[OFFSET] < 0) and -1 <= partition <= LARGEST_PARTITION


@part
def _fill_topic(
    data: np.ndarray, cells: np.ndarray, row: int, places: np.ndarray, rules: np.ndarray, out: Columns
) -> bool:
    place = places[TOPIC]
    out.numbers[c.TOPIC, row] = 0
    if place < 0 or cells[place, KIND] == c.MISSING:
        return rules[TOPIC_NEEDED] == 0
    if cells[place, KIND] != c.TEXT or cells[place, DOUBLED]:
        return False
    number = topic_number(data, cells[place, START], cells[place, END], row, out)
    out.numbers[c.TOPIC, row] = number
    return number >= 0


@part
def _fill_value(
    data: np.ndarray, cells: np.ndarray, row: int, places: np.ndarray, words: np.ndarray, out: Columns
) -> bool:
    numbers, place = out.numbers, places[VALUE]
    kind = kind_of(data, cells[place], places[VALUE_SIZE] >= 0, words, len(words) > 0)
    numbers[c.VALUE_KIND, row] = kind
    numbers[c.VALUE_START, row], numbers[c.VALUE_END, row] = cells[place, START], cells[place, END]
    if cells[place, DOUBLED]:
        numbers[c.FLAGS, row] |= c.VALUE_ESCAPED
    if kind == c.TEXT:
        numbers[c.FLAGS, row] |= null_flag(data, cells[place], c.NULL_WORD, c.NULL_SIGN)
    elif kind == c.LITERAL and not is_null_word(data, cells[place], words, 0):
        numbers[c.FLAGS, row] |= c.UPPER_LITERAL
    place = places[HEADERS]
    numbers[c.HEADERS_START, row] = numbers[c.HEADERS_END, row] = 0
    if place >= 0 and cells[place, KIND] == c.TEXT:
        numbers[c.HEADERS_START, row], numbers[c.HEADERS_END, row] = cells[place, START], cells[place, END]
        if cells[place, DOUBLED]:
            numbers[c.FLAGS, row] |= c.HEADERS_ESCAPED
    return kind >= 0


@part
def _fill_key(
    data: np.ndarray,
    cells: np.ndarray,
    row: int,
    places: np.ndarray,
    rules: np.ndarray,
    words: np.ndarray,
    out: Columns,
) -> bool:
    cell, at = cells[places[KEY]], out.state[c.KEY_BYTES]
    has_words = len(words) > 0 and rules[HAS_NULL_KEYS] > 0
    kind, after = kind_of(data, cell, places[KEY_SIZE] >= 0, words, has_words), at
    if kind == c.TEXT:
        after = written_cell(data, cell[START], cell[END], cell[DOUBLED], out.keys, at)
        out.numbers[c.FLAGS, row] |= null_flag(data, cell, c.KEY_NULL_WORD, c.KEY_NULL_SIGN)
    elif kind == c.LITERAL and not is_null_word(data, cell, words, 0):
        out.numbers[c.FLAGS, row] |= c.KEY_UPPER_LITERAL
    if kind < 0 or (rules[BYTE_EXACT] == 0 and is_lossy(out.keys, at, after)):
        return False
    out.numbers[c.KEY_KIND, row] = kind
    out.state[c.KEY_BYTES] = after
    return True


@part
def _row_after(
    data: np.ndarray,
    at: int,
    bound: int,
    places: np.ndarray,
    rules: np.ndarray,
    words: np.ndarray,
    header: np.ndarray,
    cells: np.ndarray,
    row: int,
    out: Columns,
) -> int:
    """Fill in the row that starts at ``at``; return its end, or REFUSED if the reference has to read it."""
    after, out.numbers[c.FLAGS, row] = _cells_end(data, at, bound, rules, cells)
    if after < 0 or data[at] == _MARK or is_header(data, at, after, header):
        return REFUSED
    if not _fill(data, cells, row, places, rules, words, out):
        return REFUSED
    out.numbers[c.START, row], out.numbers[c.END, row] = at, after
    out.key_ends[row + 1] = out.state[c.KEY_BYTES]
    return after


@part
def _end_of_refused(data: np.ndarray, at: int, bound: int, rules: np.ndarray) -> int:
    """The end of a row that is left to the reference, together with a tool's own lines in front of it."""
    first = past_lines_between(data, at, bound) if rules[TAKES_REST] else at
    return row_end(data, first, bound, rules[QUOTING])


@loop(types.void(BYTES, types.int64, NUMBERS, NUMBERS, NUMBERS, BYTES, BYTES, TABLE, COLUMNS))
def scan_csv_lines(
    data: np.ndarray,
    end: int,
    bounds: np.ndarray,
    places: np.ndarray,
    rules: np.ndarray,
    words: np.ndarray,
    header: np.ndarray,
    cells: np.ndarray,
    out: Columns,
) -> None:
    """Read rows until ``end`` (behind a newline), until the columns are full, or until a row has no end.

    No row reaches over any of ``bounds``, which ascend to ``end``. ``words`` are as in ``is_null_word``.
    ``header`` is the first line, without its line end, if it names the columns; else it is empty.
    """
    state, refused, row, refusals, number = out.state, out.refused, 0, 0, 0
    at = state[c.AT]
    state[c.KEY_BYTES] = state[c.IS_UNFINISHED] = 0
    while at < end and row < out.numbers.shape[1] and refusals < len(refused):
        while bounds[number] <= at:
            number += 1
        blank = REFUSED if rules[TAKES_REST] else line_end(data, at)
        if blank > 0:
            at = blank
            continue
        bound = bounds[number]
        after = _row_after(data, at, bound, places, rules, words, header, cells, row, out)
        if after > 0:
            row += 1
        else:
            after = _end_of_refused(data, at, bound, rules)
            if after == UNFINISHED and bound == end and rules[IS_LAST] == 0:
                state[c.IS_UNFINISHED] = 1
                break
            after = bound if after == UNFINISHED else after
            refused[refusals, 0], refused[refusals, 1] = at, after
            refusals += 1
        at = after
    state[c.AT], state[c.ROWS], state[c.REFUSALS] = at, row, refusals
