"""Words after which only the reference knows what a value is: found before lines are read."""

import numpy as np

from kcompact.dumps.loops.compiling import loop, part
from kcompact.dumps.loops.words import first_of, word_at

_QUOTE, _BACKSLASH, _NEWLINE = b'"\\\n'
_BEHIND_ZERO = 1  # zeros are looked at as well: they stand behind the end


@part
def _begins(word: np.uint64, words: np.ndarray, masks: np.ndarray) -> bool:
    found = False
    for number in range(len(words)):
        found = found or (word & masks[number]) == words[number]
    return found


@loop("int64(uint8[::1], int64, int64, uint64[::1], uint64[::1], int64[::1])")
def find_telling(
    data: np.ndarray, at: int, end: int, words: np.ndarray, masks: np.ndarray, places: np.ndarray
) -> int:
    """Fill ``places`` with where each line from ``at`` to ``end`` holds a word for the first time.

    Words begin with a quote or a backslash; ``masks`` have their bytes set, eight at most. Returns how many
    places were found, or fit.
    """
    count = 0
    while at < end and count < len(places):
        at = first_of(data, at, _QUOTE, _BACKSLASH, _QUOTE, _BEHIND_ZERO)
        if at < end and _begins(word_at(data, at), words, masks):
            places[count] = at
            count += 1
            while data[at] != _NEWLINE:
                at += 1
        at += 1
    return count
