"""Cells that are null, empty, or a text that some program writes for null."""

import numpy as np

from kcompact.dumps.loops import columns as c
from kcompact.dumps.loops.compiling import part
from kcompact.dumps.loops.csv.csv_cells import DOUBLED, END, KIND, REFUSED, START
from kcompact.dumps.loops.fields import is_text

_QUOTE = ord('"')
_NULL_WORD, _NULL_SIGN = np.frombuffer(b"NULL", np.uint8), np.frombuffer(rb"\N", np.uint8)
RARER_NULLS = (
    *(b"null", b"None", b"NaN", b"nan", b"<NA>", b"NA", b"nil", b"<nil>", b"undefined", b"<null>", b"(null)"),
    *(b"<none>", b"(none)", b"Optional.empty", b"N/A", b"-", rb"\\N"),
    b"%{[@metadata][kafka][key]}",
)
"""The rarer texts of NULL_TEXTS (csv_reader.py), which are counted there."""
_LONGEST = max(map(len, RARER_NULLS))
_WORDS = np.array([list(word.ljust(_LONGEST + 1, b"\0")) for word in RARER_NULLS], np.uint8)


@part
def is_null_word(data: np.ndarray, cell: np.ndarray, words: np.ndarray, number: int) -> bool:
    """Whether a cell is the word of this number (0 or 1) of a dialect's two words for null.

    Both have the same length, and stand one after another in ``words``.
    """
    length = len(words) // 2
    if cell[END] - cell[START] != length:
        return False
    for place in range(length):
        if data[cell[START] + place] != words[number * length + place]:
            return False
    return True


@part
def kind_of(data: np.ndarray, cell: np.ndarray, has_size: bool, words: np.ndarray, has_words: bool) -> int:
    """MISSING, EMPTY, TEXT or LITERAL; REFUSED where another cell decides, or only the reference can tell."""
    if cell[KIND] != c.TEXT:
        return REFUSED if has_size else cell[KIND]
    if has_words and (is_null_word(data, cell, words, 0) or is_null_word(data, cell, words, 1)):
        return REFUSED if cell[START] > 0 and data[cell[START] - 1] == _QUOTE else c.LITERAL
    if (has_words and cell[DOUBLED]) or _is_null_elsewhere(data, cell[START], cell[END]):
        return REFUSED
    return c.TEXT


@part
def null_flag(data: np.ndarray, cell: np.ndarray, word: int, sign: int) -> int:
    r"""The flag of a text that other tools write for null: ``word`` for NULL, ``sign`` for ``\N``, else 0."""
    if is_text(data, cell[START], cell[END], _NULL_SIGN):
        return sign
    return word if is_text(data, cell[START], cell[END], _NULL_WORD) else 0


@part
def _is_null_elsewhere(data: np.ndarray, start: int, end: int) -> bool:
    """Whether a range is one of RARER_NULLS; most other texts are too long for that."""
    length = end - start
    if length > _LONGEST:
        return False
    for number in range(len(_WORDS)):
        place = 0
        while place < length and data[start + place] == _WORDS[number, place]:
            place += 1
        if place == length and _WORDS[number, length] == 0:
            return True
    return False
