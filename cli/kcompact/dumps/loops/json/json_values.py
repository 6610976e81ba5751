"""Loops that find the ends of JSON values, validated as strictly as RFC 8259 asks; REFUSED if invalid.

The data end with a line end or the padding, which are part of no value, so that no loop reads beyond them.
Rare values (nested deeply, or very long numbers) are refused as well; the reference reads them.
"""

import numpy as np

from kcompact.dumps.loops.compiling import int64, part
from kcompact.dumps.loops.words import WORD, digits_in, end_of_plain_text, first_of, word_at

ESCAPED, SURROGATE = 1, 2  # what a string holds: escapes; escapes of lone surrogates
REFUSED = -1
_DEEPEST = 60
_LONGEST_NUMBER = 40
_QUOTE, _BACKSLASH, _COLON, _COMMA, _ZERO, _NINE, _MINUS, _PLUS, _DOT = b'"\\:,09-+.'
_OPEN_OBJECT, _CLOSE_OBJECT, _OPEN_ARRAY, _CLOSE_ARRAY = b"{}[]"
_SPACE, _TAB, _RETURN = b" \t\r"
_SMALL_U, _SMALL_E, _LARGE_E, _SMALL_D = b"ueEd"
_TELLING = (b'"null"', b'\\"op\\"', b'"op"', b"\\u0022", b"\\u006", b"\\u0070", b"\\u0075")
"""The columns of KIND_EXTRA can only be out of the ordinary for a value that holds one of these.

The reference reads such values. Each has at most eight bytes and begins with a quote or a backslash; the last
four are escapes that may spell a part of the others.
"""
_WORDS, _MASKS = (
    np.array([int.from_bytes(word, "little") for word in words], np.uint64)
    for words in (_TELLING, [b"\xff" * len(word) for word in _TELLING])
)
_BEHIND_ZERO = 1  # a search ends at a zero, too: zeros follow a window
_LOWER = 0x20  # set in small letters
_HEX_DIGITS = 4
_FIRST_SURROGATE, _FIRST_OF_SECONDS = b"8c"  # their second digits: d800, dc00


def _table(members: bytes) -> np.ndarray:
    table = np.zeros(256, np.uint8)
    table[list(members)] = 1
    return table


_IS_HEX = _table(b"0123456789abcdefABCDEF")
_IS_ESCAPE = _table(b'"\\/bfnrtu')
_TRUE, _FALSE, _NULL = (np.frombuffer(word, np.uint8) for word in (b"true", b"false", b"null"))


@part
def past_blanks(data: np.ndarray, at: int) -> int:
    """The place of the first byte from ``at`` on that is no blank; a newline does not count as a blank."""
    while data[at] == _SPACE or data[at] == _TAB or data[at] == _RETURN:
        at += 1
    return at


@part
def string_end(data: np.ndarray, at: int) -> tuple[int, int]:
    """The place of a string's closing quote, or REFUSED, and ESCAPED, SURROGATE, both or 0.

    The text of the string starts at ``at``.
    """
    signs = 0
    while True:
        at = end_of_plain_text(data, at)
        if data[at] == _QUOTE:
            return at, signs
        if data[at] != _BACKSLASH:
            return REFUSED, signs
        escape = data[at + 1]
        if _IS_ESCAPE[escape] == 0:
            return REFUSED, signs
        signs |= ESCAPED
        at += 2
        if escape == _SMALL_U:
            if not _is_hex(data, at):
                return REFUSED, signs
            if data[at] | _LOWER == _SMALL_D and data[at + 1] >= _FIRST_SURROGATE:
                if _is_pair(data, at):
                    at += _HEX_DIGITS + len("\\u")
                else:
                    signs |= SURROGATE
            at += _HEX_DIGITS


@part
def _is_pair(data: np.ndarray, at: int) -> bool:
    """Whether the escape of a surrogate, whose digits start at ``at``, is the first one of a pair."""
    second = at + _HEX_DIGITS
    return (
        data[at + 1] | _LOWER < _FIRST_OF_SECONDS
        and data[second] == _BACKSLASH
        and data[second + 1] == _SMALL_U
        and _is_hex(data, second + 2)
        and data[second + 2] | _LOWER == _SMALL_D
        and data[second + 3] | _LOWER >= _FIRST_OF_SECONDS
    )


@part
def _is_hex(data: np.ndarray, at: int) -> bool:
    for place in range(at, at + _HEX_DIGITS):
        if _IS_HEX[data[place]] == 0:
            return False
    return True


@part
def number_end(data: np.ndarray, at: int) -> int:
    """The end of the number that starts at ``at``, or REFUSED."""
    start = at
    if data[at] == _MINUS:
        at += 1
    if data[at] == _ZERO:
        at += 1
    else:
        at = _past_digits(data, at)
    if at > 0 and data[at] == _DOT:
        at = _past_digits(data, at + 1)
    if at > 0 and (data[at] == _SMALL_E or data[at] == _LARGE_E):
        at += 1
        if data[at] == _PLUS or data[at] == _MINUS:
            at += 1
        at = _past_digits(data, at)
    return at if at - start <= _LONGEST_NUMBER else REFUSED


@part
def _past_digits(data: np.ndarray, at: int) -> int:
    """The place behind one or more digits; REFUSED if there is none."""
    start = at
    while True:
        digits = digits_in(word_at(data, at))
        at += digits
        if digits < WORD:
            return at if at > start else REFUSED


@part
def word_end(data: np.ndarray, at: int, word: np.ndarray) -> int:
    """The end of a word that starts at ``at``, or REFUSED."""
    for place in range(len(word)):
        if data[at + place] != word[place]:
            return REFUSED
    return at + len(word)


@part
def null_end(data: np.ndarray, at: int) -> int:
    """The end of ``null`` if it starts at ``at``, or REFUSED."""
    return word_end(data, at, _NULL)


@part
def scalar_end(data: np.ndarray, at: int) -> int:
    """The end of a string, number, true, false or null, or REFUSED."""
    first = data[at]
    if first == _QUOTE:
        close, _ = string_end(data, at + 1)
        return close + 1 if close > 0 else REFUSED
    if first == _MINUS or _ZERO <= first <= _NINE:
        return number_end(data, at)
    if first == _TRUE[0]:
        return word_end(data, at, _TRUE)
    if first == _FALSE[0]:
        return word_end(data, at, _FALSE)
    return word_end(data, at, _NULL)


@part
def value_end(data: np.ndarray, at: int) -> int:
    """The end of a value of any kind, or REFUSED."""
    if data[at] == _OPEN_OBJECT or data[at] == _OPEN_ARRAY:
        return _nested_end(data, at)
    return scalar_end(data, at)


@part
def _nested_end(data: np.ndarray, at: int) -> int:
    """The end of an object or array, or REFUSED.

    ``kinds`` has a bit for each object (1) or array (0) that is open, the innermost as the lowest bit.
    """
    kinds, depth = int64(0), 0
    while True:
        if data[at] == _OPEN_OBJECT or data[at] == _OPEN_ARRAY:
            kinds = (kinds << 1) | int64(data[at] == _OPEN_OBJECT)
            depth += 1
            if depth > _DEEPEST:
                return REFUSED
            at = past_blanks(data, at + 1)
            if data[at] != (_CLOSE_OBJECT if kinds & 1 else _CLOSE_ARRAY):
                at = _member_value(data, at, kinds)
                if at < 0:
                    return REFUSED
                continue
        else:
            at = scalar_end(data, at)
        at, depth, kinds = _past_closings(data, at, depth, kinds)
        if at < 0 or depth == 0:
            return at


@part
def _past_closings(data: np.ndarray, at: int, depth: int, kinds: int) -> tuple[int, int, int]:
    """Go on from the end of a value to the start of the next one, or to the end of the outermost bracket."""
    while at > 0 and depth > 0:
        at = past_blanks(data, at)
        if data[at] == _COMMA:
            return _member_value(data, past_blanks(data, at + 1), kinds), depth, kinds
        if data[at] != (_CLOSE_OBJECT if kinds & 1 else _CLOSE_ARRAY):
            return REFUSED, depth, kinds
        at, depth, kinds = at + 1, depth - 1, kinds >> 1
    return at, depth, kinds


@part
def _member_value(data: np.ndarray, at: int, kinds: int) -> int:
    """The start of the value of an item that starts at ``at``: in an object it is behind the name."""
    if kinds & 1 == 0:
        return at
    if data[at] != _QUOTE:
        return REFUSED
    close, _ = string_end(data, at + 1)
    if close < 0:
        return REFUSED
    at = past_blanks(data, close + 1)
    return past_blanks(data, at + 1) if data[at] == _COLON else REFUSED


@part
def holds(data: np.ndarray, start: int, end: int, word: np.ndarray) -> bool:
    """Whether a range of the data holds a word."""
    for at in range(start, end - len(word) + 1):
        if data[at] == word[0] and word_end(data, at, word) > 0:
            return True
    return False


@part
def is_telling(data: np.ndarray, start: int, end: int) -> bool:
    """Whether a value, including the quotes around it, holds one of _TELLING."""
    at = first_of(data, start, _QUOTE, _BACKSLASH, _QUOTE, _BEHIND_ZERO)
    while at < end:
        word = word_at(data, at)
        for number in range(len(_WORDS)):
            if word & _MASKS[number] == _WORDS[number]:
                return True
        at = first_of(data, at + 1, _QUOTE, _BACKSLASH, _QUOTE, _BEHIND_ZERO)
    return False
