"""Words without which no value is one that KIND_EXTRA tells apart; with one, only the reference knows."""

import numpy as np

from kcompact.dumps.loops.compiling import part
from kcompact.dumps.loops.words import first_of, word_at

_TELLING = (b'"null"', b'\\"op\\"', b'"op"', b"\\u0022", b"\\u006", b"\\u0070", b"\\u0075")
"""Eight bytes at most, from a quote or a backslash on; the last ones spell letters."""
_WORDS, _MASKS = (
    np.array([int.from_bytes(word, "little") for word in words], np.uint64)
    for words in (_TELLING, [b"\xff" * len(word) for word in _TELLING])
)
_QUOTE, _BACKSLASH = b'"\\'
_BEHIND_ZERO = 1  # zeros are looked at as well: they follow the end of a window


@part
def is_telling(data: np.ndarray, start: int, end: int) -> bool:
    """Whether a value, with the quotes around it, holds such a word."""
    at = first_of(data, start, _QUOTE, _BACKSLASH, _QUOTE, _BEHIND_ZERO)
    while at < end:
        word = word_at(data, at)
        for number in range(len(_WORDS)):
            if word & _MASKS[number] == _WORDS[number]:
                return True
        at = first_of(data, at + 1, _QUOTE, _BACKSLASH, _QUOTE, _BEHIND_ZERO)
    return False
