"""The members of a JSON object: where the values of known names are. Names are those of ``json_names``.

Columns of ``spans``, which has a row for each name, are KIND (of columns.py), START, END and SIGNS (of
json_values.py).
"""

import numpy as np

from kcompact.dumps.loops import columns as c
from kcompact.dumps.loops.compiling import part
from kcompact.dumps.loops.json.json_names import LENGTH, NONE, PARENT, PREFIXES, TOP
from kcompact.dumps.loops.json.json_values import REFUSED, null_end, past_blanks, string_end, value_end
from kcompact.dumps.loops.json.name_guesses import LENGTH as GUESSED_LENGTH
from kcompact.dumps.loops.json.name_guesses import ROW, guess_again, is_as_guessed
from kcompact.dumps.loops.words import word_at

KIND, START, END, SIGNS = range(4)
_QUOTE, _COLON, _COMMA, _OPEN, _CLOSE, _SMALL_N = b'":,{}n'
_OUTSIDE = -2  # of the record
_WORD = 8
_BYTE = 8


@part
def object_end(
    data: np.ndarray,
    at: int,
    table: np.ndarray,
    words: np.ndarray,
    texts: np.ndarray,
    names: np.ndarray,
    spelt: np.ndarray,
    spans: np.ndarray,
) -> int:
    """Behind the object that starts at ``at``; ``spans`` learn where the values of known names are.

    ``names`` and ``spelt`` are NameGuesses.
    """
    if data[at] != _OPEN:
        return REFUSED
    parent, is_new, place = TOP, True, -1
    while True:
        at = past_blanks(data, at + 1)
        if not (is_new and data[at] == _CLOSE):
            place += 1
            at, entered = _member_end(data, at, place, parent, table, words, texts, names, spelt, spans)
            if entered != NONE:
                parent, is_new = entered, True
                continue
        is_new = False
        at, parent = _past_closings(data, at, parent, table)
        if parent == _OUTSIDE or at < 0:
            return at
        if data[at] != _COMMA:
            return REFUSED


@part
def _past_closings(data: np.ndarray, at: int, parent: int, table: np.ndarray) -> tuple[int, int]:
    """Behind the braces that follow a value, and what is open there."""
    if at < 0:
        return REFUSED, parent
    at = past_blanks(data, at)
    while data[at] == _CLOSE:
        if parent == TOP:
            return at + 1, _OUTSIDE
        parent = table[parent, PARENT]
        at = past_blanks(data, at + 1)
    return at, parent


@part
def _member_end(
    data: np.ndarray,
    at: int,
    place: int,
    parent: int,
    table: np.ndarray,
    words: np.ndarray,
    texts: np.ndarray,
    names: np.ndarray,
    spelt: np.ndarray,
    spans: np.ndarray,
) -> tuple[int, int]:
    """The end of the value of the member that starts at ``at``, and NONE.

    If that is an object some of whose members are asked for: where it starts, and the row of its name.
    """
    if is_as_guessed(data, at, place, parent, names, spelt):
        name, close = names[place, ROW], at + 1 + names[place, GUESSED_LENGTH]
    else:
        close = _name_end(data, at)
        if close < 0:
            return REFUSED, NONE
        name = _name_number(data, at + 1, close, parent, table, words, texts)
        guess_again(data, at + 1, close, place, name, parent, names, spelt)
    at = past_blanks(data, close + 1)
    if data[at] != _COLON or (name >= 0 and spans[name, KIND] != c.MISSING):
        return REFUSED, NONE  # if it is there twice, the reference says which one counts
    at = past_blanks(data, at + 1)
    if name >= PREFIXES and data[at] == _OPEN:
        spans[name, KIND] = c.OTHER
        return at, name
    return _value_span(data, at, name, spans), NONE


@part
def _name_end(data: np.ndarray, at: int) -> int:
    """The closing quote of a name that is spelt without escapes."""
    if data[at] != _QUOTE:
        return REFUSED
    close, signs = string_end(data, at + 1)
    return close if signs == 0 else REFUSED


@part
def _name_number(
    data: np.ndarray,
    start: int,
    end: int,
    parent: int,
    table: np.ndarray,
    words: np.ndarray,
    texts: np.ndarray,
) -> int:
    """The row of a name in the table; NONE for any other."""
    length = end - start
    word = word_at(data, start)
    if length < _WORD:
        word &= (np.uint64(1) << np.uint64(_BYTE * length)) - np.uint64(1)
    for row in range(len(table)):
        if words[row] == word and table[row, LENGTH] == length and table[row, PARENT] == parent:
            is_equal = True
            for place in range(_WORD, length):
                is_equal = is_equal and data[start + place] == texts[row, place]
            if is_equal:
                return row
    return NONE


@part
def _value_span(data: np.ndarray, at: int, name: int, spans: np.ndarray) -> int:
    """The end of the value that starts at ``at``, whose place is kept if its name is known."""
    start, kind, signs = at, c.OTHER, 0
    if data[at] == _QUOTE:
        close, signs = string_end(data, at + 1)
        if close < 0:
            return REFUSED
        start, after, kind = at + 1, close + 1, c.TEXT
        end = close
    elif data[at] == _SMALL_N:
        after = null_end(data, at)
        end, kind = after, c.NULL
    else:
        after = value_end(data, at)
        end = after
    if name >= 0:
        spans[name, KIND], spans[name, START], spans[name, END], spans[name, SIGNS] = (
            kind,
            start,
            end,
            signs,
        )
    return after
