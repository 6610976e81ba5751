"""The name of a member, guessed: most often it is the one that was in this place of the record before.

A guess that holds spares the search for the closing quote, on whose result all that follows has to wait.
"""

from dataclasses import dataclass, field

import numpy as np

from kcompact.dumps.loops.compiling import part
from kcompact.dumps.loops.words import WORD, word_at

MOST_GUESSED = 32  # members of a record
_LONGEST = 2 * WORD  # of a name that is guessed, in bytes
_QUOTE = ord('"')
_NOBODY = -2  # a parent that no member has
_BYTE = 8
_ALL_BITS = np.uint64(0xFFFFFFFFFFFFFFFF)

# Columns of ``names``: those of json_names.py's table, and of ``spelt``.
ROW, LENGTH, PARENT = range(3)
_FIRST, _FIRST_MASK, _SECOND, _SECOND_MASK = range(4)


@dataclass(frozen=True)
class NameGuesses:
    """For each place among a record's members the name that was last met there.

    ``names`` (int64, 3 columns) are its row in the table of names (NONE for one that nobody asks for), its
    length in bytes and the row of the name above it; ``spelt`` (uint64, 4 columns) its first and second eight
    bytes, each with a mask of those that are the name's.
    """

    names: np.ndarray = field(default_factory=lambda: np.full((MOST_GUESSED, 3), _NOBODY, np.int64))
    spelt: np.ndarray = field(default_factory=lambda: np.zeros((MOST_GUESSED, 4), np.uint64))


@part
def is_as_guessed(
    data: np.ndarray, at: int, place: int, parent: int, names: np.ndarray, spelt: np.ndarray
) -> bool:
    """Whether the member that starts at ``at`` has the name guessed for its place."""
    if place >= MOST_GUESSED or names[place, PARENT] != parent or data[at] != _QUOTE:
        return False
    first = (word_at(data, at + 1) ^ spelt[place, _FIRST]) & spelt[place, _FIRST_MASK]
    second = (word_at(data, at + 1 + WORD) ^ spelt[place, _SECOND]) & spelt[place, _SECOND_MASK]
    return (first | second) == 0 and data[at + 1 + names[place, LENGTH]] == _QUOTE


@part
def guess_again(
    data: np.ndarray,
    start: int,
    end: int,
    place: int,
    row: int,
    parent: int,
    names: np.ndarray,
    spelt: np.ndarray,
) -> None:
    """Guess the name in [start, end), which has no escapes, for this place of the next record."""
    length = end - start
    if place >= MOST_GUESSED:
        return
    if length > _LONGEST:
        names[place, PARENT] = _NOBODY
        return
    names[place, ROW], names[place, LENGTH], names[place, PARENT] = row, length, parent
    spelt[place, _FIRST], spelt[place, _FIRST_MASK] = word_at(data, start), _mask(min(length, WORD))
    spelt[place, _SECOND] = word_at(data, start + WORD)
    spelt[place, _SECOND_MASK] = _mask(max(length - WORD, 0))


@part
def _mask(length: int) -> np.uint64:
    """The lowest bytes of a word."""
    if length == WORD:
        return _ALL_BITS
    return (np.uint64(1) << np.uint64(_BYTE * length)) - np.uint64(1)
