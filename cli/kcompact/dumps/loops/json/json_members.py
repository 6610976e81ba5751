"""Loops over the members of a JSON object, which find the values of known names (those of ``json_names``).

``spans`` has a row for each name that is read, with the columns KIND (of columns.py), START, END and SIGNS
(of json_values.py).

A member's name is most often the one at the same place in the record before, which is therefore tried first.
If this guess is right, it saves the search for the closing quote, for which all later steps have to wait.
"""

from typing import NamedTuple

import numpy as np

from kcompact.dumps.loops import columns as c
from kcompact.dumps.loops.compiling import part
from kcompact.dumps.loops.json.json_names import LENGTH, NONE, PARENT, PREFIXES, TOP, JsonNames
from kcompact.dumps.loops.json.json_values import REFUSED, null_end, past_blanks, string_end, value_end
from kcompact.dumps.loops.words import WORD, word_at

KIND, START, END, SIGNS = range(4)
MOST_GUESSED = 32  # members of a record
_LONGEST = 2 * WORD  # of a name that is guessed, in bytes
_QUOTE, _COLON, _COMMA, _OPEN, _CLOSE, _SMALL_N, _SMALL_F = b'":,{}nf'
_OUTSIDE = -2  # of the record
_NOBODY = -2  # a parent that no member has
_BYTE = 8
_ALL_BITS = np.uint64(0xFFFFFFFFFFFFFFFF)
# Columns of ``NameGuesses.names`` and of ``NameGuesses.spelt``.
_GUESSED_ROW, _GUESSED_LENGTH, _GUESSED_PARENT = range(3)
_FIRST, _FIRST_MASK, _SECOND, _SECOND_MASK = range(4)


class NameGuesses(NamedTuple):
    """For each place among a record's members, the name that was last met there.

    Columns of ``names`` (int64): the row of the name in the table (NONE if nobody asks for it), its length in
    bytes, and the row of the name above it. Columns of ``spelt`` (uint64): its first eight bytes, a mask of
    those that belong to the name, and the same for the second eight bytes.
    """

    names: np.ndarray
    spelt: np.ndarray


def no_guesses() -> NameGuesses:
    """Guesses before the first record."""
    return NameGuesses(np.full((MOST_GUESSED, 3), _NOBODY, np.int64), np.zeros((MOST_GUESSED, 4), np.uint64))


@part
def _is_as_guessed(data: np.ndarray, at: int, place: int, parent: int, guesses: NameGuesses) -> bool:
    """Whether the member that starts at ``at`` has the name guessed for its place."""
    names, spelt = guesses.names, guesses.spelt
    if place >= MOST_GUESSED or names[place, _GUESSED_PARENT] != parent or data[at] != _QUOTE:
        return False
    first = (word_at(data, at + 1) ^ spelt[place, _FIRST]) & spelt[place, _FIRST_MASK]
    second = (word_at(data, at + 1 + WORD) ^ spelt[place, _SECOND]) & spelt[place, _SECOND_MASK]
    return (first | second) == 0 and data[at + 1 + names[place, _GUESSED_LENGTH]] == _QUOTE


@part
def _guess_again(
    data: np.ndarray, start: int, end: int, place: int, row: int, parent: int, guesses: NameGuesses
) -> None:
    """Make the name in [start, end), which has no escapes, the guess for this place in the next record."""
    names, spelt, length = guesses.names, guesses.spelt, end - start
    if place >= MOST_GUESSED:
        return
    if length > _LONGEST:
        names[place, _GUESSED_PARENT] = _NOBODY
        return
    names[place, _GUESSED_ROW], names[place, _GUESSED_LENGTH] = row, length
    names[place, _GUESSED_PARENT] = parent
    spelt[place, _FIRST], spelt[place, _FIRST_MASK] = word_at(data, start), _mask(min(length, WORD))
    spelt[place, _SECOND] = word_at(data, start + WORD)
    spelt[place, _SECOND_MASK] = _mask(max(length - WORD, 0))


@part
def _mask(length: int) -> np.uint64:
    """A mask of the lowest ``length`` bytes of a word."""
    if length == WORD:
        return _ALL_BITS
    return (np.uint64(1) << np.uint64(_BYTE * length)) - np.uint64(1)


@part
def object_end(data: np.ndarray, at: int, known: JsonNames, guesses: NameGuesses, spans: np.ndarray) -> int:
    """The end of the object that starts at ``at``, or REFUSED; ``spans`` get the values of known names."""
    if data[at] != _OPEN:
        return REFUSED
    parent, is_new, place = TOP, True, -1
    while True:
        at = past_blanks(data, at + 1)
        if not (is_new and data[at] == _CLOSE):
            place += 1
            at, entered = _member_end(data, at, place, parent, known, guesses, spans)
            if entered != NONE:
                parent, is_new = entered, True
                continue
        is_new = False
        at, parent = _past_closings(data, at, parent, known)
        if parent == _OUTSIDE or at < 0:
            return at
        if data[at] != _COMMA:
            return REFUSED


@part
def _past_closings(data: np.ndarray, at: int, parent: int, known: JsonNames) -> tuple[int, int]:
    """The place behind the closing braces that follow a value, and the row of the object open there."""
    if at < 0:
        return REFUSED, parent
    at = past_blanks(data, at)
    while data[at] == _CLOSE:
        if parent == TOP:
            return at + 1, _OUTSIDE
        parent = known.table[parent, PARENT]
        at = past_blanks(data, at + 1)
    return at, parent


@part
def _member_end(
    data: np.ndarray,
    at: int,
    place: int,
    parent: int,
    known: JsonNames,
    guesses: NameGuesses,
    spans: np.ndarray,
) -> tuple[int, int]:
    """The end of the value of the member that starts at ``at``, and NONE.

    If the value is an object with members that are asked for: where it starts, and the row of its name.
    """
    if _is_as_guessed(data, at, place, parent, guesses):
        name = guesses.names[place, _GUESSED_ROW]
        close = at + 1 + guesses.names[place, _GUESSED_LENGTH]
    else:
        close = _name_end(data, at)
        if close < 0:
            return REFUSED, NONE
        name = _name_number(data, at + 1, close, parent, known)
        _guess_again(data, at + 1, close, place, name, parent, guesses)
    at = past_blanks(data, close + 1)
    if data[at] != _COLON or (0 <= name < len(spans) and spans[name, KIND] != c.MISSING):
        return REFUSED, NONE  # of a name that is there twice, the reference decides which one counts
    at = past_blanks(data, at + 1)
    if name >= len(spans):
        if data[at] != _SMALL_N and data[at] != _SMALL_F:  # the reference decides
            return REFUSED, NONE
        name = NONE
    if name >= PREFIXES and data[at] == _OPEN:
        spans[name, KIND] = c.OTHER
        return at, name
    return _value_span(data, at, name, spans), NONE


@part
def _name_end(data: np.ndarray, at: int) -> int:
    """The place of a name's closing quote; REFUSED for a name with escapes."""
    if data[at] != _QUOTE:
        return REFUSED
    close, signs = string_end(data, at + 1)
    return close if signs == 0 else REFUSED


@part
def _name_number(data: np.ndarray, start: int, end: int, parent: int, known: JsonNames) -> int:
    """The row of a name in the table; NONE for a name that is not in it."""
    length = end - start
    word = word_at(data, start) & _mask(min(length, WORD))
    for row in range(len(known.table)):
        is_alike = known.words[row] == word and known.table[row, LENGTH] == length
        if is_alike and known.table[row, PARENT] == parent:
            is_equal = True
            for place in range(WORD, length):
                is_equal = is_equal and data[start + place] == known.texts[row, place]
            if is_equal:
                return row
    return NONE


@part
def _value_span(data: np.ndarray, at: int, name: int, spans: np.ndarray) -> int:
    """The end of the value that starts at ``at``, or REFUSED; its place is kept if its name is known."""
    start, kind, signs = at, c.OTHER, 0
    if data[at] == _QUOTE:
        end, signs = string_end(data, at + 1)
        if end < 0:
            return REFUSED
        start, after, kind = at + 1, end + 1, c.TEXT
    else:
        kind = c.NULL if data[at] == _SMALL_N else c.OTHER
        after = null_end(data, at) if kind == c.NULL else value_end(data, at)
        end = after
    if name >= 0:
        span = spans[name]
        span[KIND], span[START], span[END], span[SIGNS] = kind, start, end, signs
    return after
