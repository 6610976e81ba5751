"""What the lines of one dump have in common: literal text around a key, a value and some numbers."""

from dataclasses import dataclass

import numpy as np

from kcompact.dumps.dialect import Dialect
from kcompact.dumps.fixed_text import FixedText, can_parse, is_number
from kcompact.dumps.headers import Headers
from kcompact.dumps.line_window import BACKSLASH, PAD_BYTES, RETURN, LineWindow

LONGEST_TEXT = PAD_BYTES // 2
_LONGEST_KEY = 256
_DIGITS_OF_SECONDS = 10
_DIGITS_OF_MILLISECONDS = 14
_EACH = 0x0101010101010101
_WORD = 8


@dataclass(frozen=True)
class Spelling:
    """How a layout spells keys and values. ``quote`` encloses values, and ends keys; empty: nothing does."""

    key_end: int  # the byte that ends a key
    quote: bytes  # what encloses a value that is not null
    null: bytes  # a value that is null


@dataclass(frozen=True)
class LineTemplate:
    """``head`` key ``middle`` value ``tail``. Without a key (null), head and middle adjoin.

    ``middle`` starts with what ends the key, and ends before what begins the value. ``marks`` counts the
    bytes that the layout watches (unescaped quotes, delimiters) in head, middle and tail.
    """

    spelling: Spelling
    head: FixedText
    middle: FixedText
    tail: FixedText
    has_key: bool
    marks: int
    topic: str
    partition: int  # unless a number says it
    timestamp_ms: int  # likewise
    headers: Headers = ()


@dataclass(frozen=True)
class Matches:
    """The lines of a window, looked at with one template; all arrays have one entry per line.

    Where ``fits`` is false the others mean nothing. A key's length is -1 for null.
    """

    fits: np.ndarray
    numbers: dict[str, np.ndarray]
    key_starts: np.ndarray
    key_bytes: np.ndarray
    is_null: np.ndarray
    value_starts: np.ndarray
    value_bytes: np.ndarray  # as they are spelt; meaningless where the value is null


def match(template: LineTemplate, window: LineWindow, lines: np.ndarray, *, escapes: bool) -> Matches:
    """Try a template on lines of a window; ``escapes``: backslashes occur, and must not do so in keys."""
    starts, ends = window.starts[lines], window.ends[lines]
    fits, numbers = template.head.fits(window, starts)
    key_starts = starts + template.head.width
    key_bytes = np.full(len(lines), -1, np.int64)
    middles = key_starts
    if template.has_key:
        key_bytes, found = _key_bytes(template, window, key_starts, fits, escapes=escapes)
        fits &= found
        # Where no key ends nothing is to be looked at behind it: stay inside the window.
        middles = key_starts + np.where(fits, key_bytes, 0)
    middle_fits, more = template.middle.fits(window, middles)
    tails = ends - template.tail.width
    tail_fits, last = template.tail.fits(window, tails)
    values = middles + template.middle.width
    is_null, is_value = _value_forms(template, window, values, tails)
    fits &= middle_fits & tail_fits & (is_null | is_value)
    numbers, quote = numbers | more | last, len(template.spelling.quote)
    return Matches(fits, numbers, key_starts, key_bytes, is_null, values + quote, tails - values - 2 * quote)


def _key_bytes(
    template: LineTemplate, window: LineWindow, starts: np.ndarray, fits: np.ndarray, *, escapes: bool
) -> tuple[np.ndarray, np.ndarray]:
    """The keys' lengths, and whether they end in sight, are not empty and (``escapes``) hold no backslash."""
    width = 2 * _WORD
    while True:
        cells = window.gather(starts, width)
        lengths = _find(cells, template.spelling.key_end)
        found = lengths < width
        if width >= _LONGEST_KEY or bool((found | ~fits).all()):
            break
        width *= 2
    if escapes:
        found &= _find(cells, BACKSLASH) > lengths
    return lengths, found & (lengths > 0)


def _find(cells: np.ndarray, byte: int) -> np.ndarray:
    """Where a byte first stands in each row of words; the row's width in bytes where it does not."""
    each, tops = np.uint64(_EACH), np.uint64(0x80 * _EACH)
    lengths = np.zeros(len(cells), np.int64)
    for column in range(cells.shape[1]):
        words = cells[:, column] ^ np.uint64(byte * _EACH)
        # The top bit of each zero byte, exact up to the first; no bit at all makes a length of 8.
        zeros = (words - each) & ~words & tops
        below = (zeros & (~zeros + np.uint64(1))) - np.uint64(1)
        here = np.bitwise_count(below) >> 3
        if column:
            here = here * (lengths == _WORD * column)
        lengths += here
    return lengths


def _value_forms(
    template: LineTemplate, window: LineWindow, starts: np.ndarray, ends: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Whether the value is null; whether it is enclosed as values are, and not empty."""
    quote, null = template.spelling.quote, template.spelling.null
    widths = ends - starts
    is_null = widths == len(null)
    if null:
        # Lines that do not fit may point anywhere: what is read there does not count.
        words = window.words(np.minimum(starts, ends))
        bits = np.uint64((1 << 8 * len(null)) - 1)
        is_null &= (words & bits) == np.uint64(int.from_bytes(null, "little"))
    is_value = widths > 2 * len(quote)
    if quote:
        opens, closes = window.data[np.minimum(starts, ends)], window.data[ends - 1]
        # A quote after a backslash may be escaped: left to those who look closer.
        is_value &= (opens == quote[0]) & (closes == quote[0]) & (window.data[ends - 2] != BACKSLASH)
    else:  # the line end of a line that has two bytes of it, unlike the template's
        is_value &= window.data[ends - 1] != RETURN
    return is_null, is_value


def is_clock(line: bytes, span: tuple[int, int] | None, dialect: Dialect) -> bool:
    """Whether the timestamp reads as milliseconds and nothing else, as do all numbers of as many digits."""
    is_auto = dialect.timestamp_unit == "auto"
    if span is None:
        return dialect.timestamp is None or not is_auto
    digits = span[1] - span[0]
    is_doubtful = is_auto and digits == _DIGITS_OF_SECONDS
    return is_number(line[slice(*span)]) and digits <= _DIGITS_OF_MILLISECONDS and not is_doubtful


def is_manageable(text: FixedText) -> bool:
    """Whether a text is short enough to be compared, and its numbers to be read."""
    return text.width <= LONGEST_TEXT and all(can_parse(number.width) for number in text.numbers)
