"""The loop over JSON lines: an object on each line, with the parts of a record among its members.

It leaves a line that it does not accept in full to the reference reader: see ``Columns.refused``.
"""

import numpy as np
from numba import types

from kcompact.dumps.loops import columns as c
from kcompact.dumps.loops.columns import Columns
from kcompact.dumps.loops.compiling import array_type, int64, loop, part
from kcompact.dumps.loops.fields import (
    BYTES,
    COLUMNS,
    IS_UNSET,
    LARGEST_PARTITION,
    NUMBERS,
    TABLE,
    clock_of,
    copied,
    is_lossy,
    is_text,
    topic_number,
    whole_number,
)
from kcompact.dumps.loops.json.json_members import (
    END,
    KIND,
    SIGNS,
    START,
    NameGuesses,
    object_end,
)
from kcompact.dumps.loops.json.json_names import (
    DELETE_FLAG,
    ERRORS,
    HEADERS,
    KEY,
    MARKERS,
    OFFSET,
    PARTITION,
    PREFIXES,
    TIMESTAMP,
    TOPIC,
    VALUE,
    JsonNames,
)
from kcompact.dumps.loops.json.json_text_loop import unescaped
from kcompact.dumps.loops.json.json_values import (
    ESCAPED,
    REFUSED,
    SURROGATE,
    holds,
    is_telling,
    past_blanks,
)

_OPEN, _NEWLINE, _MINUS, _SMALL_F = b"{\n-f"
# An object that holds one of these may stand for other bytes than its own (json_reader.py).
_ENVELOPES = tuple(np.frombuffer(word, np.uint8) for word in (b'"Buffer"', b'"isPayloadNull"', b"\\u00"))
_IS_OPENING = np.zeros(256, np.uint8)
_IS_OPENING[list(b'0123456789-[{"tfn')] = 1  # first bytes of any JSON value

# Places of ``rules``.
BYTE_EXACT, JSON_KEYS, TYPED_KEYS, TOPIC_NEEDED, CONTENTS, KINDS, BARE_START, BARE_END, IS_NUMBERED = range(9)
RULES = 9

_WORDS = array_type(types.uint64, written=True)
_TEXTS, _SPELT = (array_type(kind, 2, written=True) for kind in (types.uint8, types.uint64))
_NAMES = types.NamedTuple([TABLE, _WORDS, _TEXTS], JsonNames)
_GUESSES = types.NamedTuple([TABLE, _SPELT], NameGuesses)


@part
def _clear(spans: np.ndarray) -> None:
    """Set all names to MISSING; only value and headers need places if they are missing."""
    for name in range(len(spans)):
        spans[name, KIND] = c.MISSING
    spans[VALUE, START] = spans[VALUE, END] = spans[VALUE, SIGNS] = 0
    spans[HEADERS, START] = spans[HEADERS, END] = 0


@part
def _next_line(data: np.ndarray, at: int) -> int:
    while data[at] != _NEWLINE:
        at += 1
    return at + 1


@part
def _line_end(data: np.ndarray, at: int) -> int:
    """The place behind the newline; REFUSED if there is anything but blanks before it."""
    if at < 0:
        return REFUSED
    at = past_blanks(data, at)
    return at + 1 if data[at] == _NEWLINE else REFUSED


@part
def _says_nothing(name: int, kind: int, first: int) -> bool:
    """Whether the value of a marker or the delete flag means false; ``first`` is its first byte."""
    if name == DELETE_FLAG:
        return IS_UNSET[first] > 0
    return name < ERRORS and kind == c.OTHER and first == _SMALL_F


@part
def _has_bytes(spans: np.ndarray, name: int) -> bool:
    return spans[name, KIND] > c.NULL and spans[name, START] < spans[name, END]


@part
def _fill(
    data: np.ndarray,
    original: np.ndarray,
    spans: np.ndarray,
    row: int,
    rules: np.ndarray,
    literal: np.ndarray,
    out: Columns,
) -> bool:
    """Fill in a row; return False where only the reference can read the record."""
    for name in range(MARKERS, PREFIXES):
        kind = spans[name, KIND]
        if ERRORS <= name < ERRORS + 2 and _has_bytes(spans, KEY + name - ERRORS):
            continue  # the key or value that this error is about is there after all
        if kind > c.NULL and not _says_nothing(name, kind, data[spans[name, START]]):
            return False
    return (
        _fill_numbers(data, spans, row, rules, out)
        and _fill_topic(data, spans, row, rules, out)
        and _fill_value(data, spans, row, rules, literal, out.numbers)
        and _fill_key(data, original, spans, row, rules, literal, out)
    )


@part
def _is_plain_text(spans: np.ndarray, name: int) -> bool:
    return spans[name, KIND] == c.TEXT and spans[name, SIGNS] == 0


@part
def _fill_numbers(data: np.ndarray, spans: np.ndarray, row: int, rules: np.ndarray, out: Columns) -> bool:
    offset = 0
    if spans[OFFSET, KIND] == c.OTHER or _is_plain_text(spans, OFFSET):
        offset = whole_number(data, spans[OFFSET, START], spans[OFFSET, END])
    elif not rules[IS_NUMBERED]:
        return False
    partition, timestamp, clock = -1, -1, spans[TIMESTAMP, KIND]
    if spans[PARTITION, KIND] == c.OTHER or _is_plain_text(spans, PARTITION):
        partition = whole_number(data, spans[PARTITION, START], spans[PARTITION, END])
    if clock == c.TEXT:
        timestamp, clock = clock_of(data, spans[TIMESTAMP, START], spans[TIMESTAMP, END])
        if timestamp < 0 or spans[TIMESTAMP, SIGNS] != 0:
            return False
    elif clock == c.OTHER:
        start, end = spans[TIMESTAMP, START], spans[TIMESTAMP, END]
        is_negative = data[start] == _MINUS
        timestamp = whole_number(data, start + int64(is_negative), end)
        if timestamp < int64(is_negative):  # no number, or -0
            return False
        if is_negative:
            timestamp = -1
    out.numbers[c.OFFSET, row], out.numbers[c.PARTITION, row] = offset, partition
    out.numbers[c.TIMESTAMP, row], out.numbers[c.CLOCK, row] = timestamp, clock
    is_partition = 0 <= partition <= LARGEST_PARTITION or spans[PARTITION, KIND] <= c.NULL
    return offset >= 0 and is_partition


@part
def _fill_topic(data: np.ndarray, spans: np.ndarray, row: int, rules: np.ndarray, out: Columns) -> bool:
    if spans[TOPIC, KIND] <= c.NULL:
        out.numbers[c.TOPIC, row] = 0
        return rules[TOPIC_NEEDED] == 0
    if spans[TOPIC, KIND] != c.TEXT or spans[TOPIC, SIGNS] != 0:
        return False
    number = topic_number(data, spans[TOPIC, START], spans[TOPIC, END], row, out)
    out.numbers[c.TOPIC, row] = number
    return number >= 0


@part
def _fill_value(
    data: np.ndarray, spans: np.ndarray, row: int, rules: np.ndarray, literal: np.ndarray, numbers: np.ndarray
) -> bool:
    kind, start, end, signs = spans[VALUE, 0], spans[VALUE, 1], spans[VALUE, 2], spans[VALUE, 3]
    quotes = int64(kind == c.TEXT)
    if rules[KINDS] and end > 0 and is_telling(data, start - quotes, end + quotes):
        return False
    if kind == c.TEXT:
        if rules[CONTENTS] and signs & SURROGATE:
            return False
        kind = _text_kind(data, start, end, signs, literal)
    elif kind == c.OTHER and _is_envelope(data, start, end):
        return False
    numbers[c.VALUE_KIND, row] = kind
    numbers[c.VALUE_START, row], numbers[c.VALUE_END, row] = start, end
    numbers[c.HEADERS_START, row], numbers[c.HEADERS_END, row] = spans[HEADERS, START], spans[HEADERS, END]
    if spans[HEADERS, KIND] == c.TEXT:
        numbers[c.HEADERS_START, row] -= 1  # with its quotes
        numbers[c.HEADERS_END, row] += 1
    numbers[c.FLAGS, row] = c.VALUE_ESCAPED if signs & ESCAPED else 0
    return kind >= 0


@part
def _text_kind(data: np.ndarray, start: int, end: int, signs: int, literal: np.ndarray) -> int:
    """The kind of a string: EMPTY, LITERAL or TEXT; REFUSED where escapes may spell the word for null."""
    if start == end:
        return c.EMPTY
    if len(literal) == 0:
        return c.TEXT
    if signs & ESCAPED:
        return REFUSED
    return c.LITERAL if is_text(data, start, end, literal) else c.TEXT


@part
def _is_envelope(data: np.ndarray, start: int, end: int) -> bool:
    """Whether a value may be an object that stands for other bytes than its own, such as a Buffer."""
    if data[start] != _OPEN:
        return False
    return (
        holds(data, start, end, _ENVELOPES[0])
        or holds(data, start, end, _ENVELOPES[1])
        or holds(data, start, end, _ENVELOPES[2])
    )


@part
def _fill_key(
    data: np.ndarray,
    original: np.ndarray,
    spans: np.ndarray,
    row: int,
    rules: np.ndarray,
    literal: np.ndarray,
    out: Columns,
) -> bool:
    kind, start, end, signs = spans[KEY, 0], spans[KEY, 1], spans[KEY, 2], spans[KEY, 3]
    keys, at = out.keys, out.state[c.KEY_BYTES]
    after = at
    if kind == c.TEXT:
        kind = _text_kind(data, start, end, signs, literal)
        if kind == c.TEXT:
            if signs & SURROGATE:
                return False
            after = unescaped(data, start, end, keys, at) if signs else copied(data, start, end, keys, at)
            if rules[JSON_KEYS] and _IS_OPENING[keys[at]]:
                return False  # a string that reads as JSON keeps its quotes
    elif kind == c.OTHER:
        if not rules[TYPED_KEYS] or _is_envelope(data, start, end):
            return False
        after = copied(original, start, end, keys, at)
    if kind < 0 or (not rules[BYTE_EXACT] and is_lossy(keys, at, after)):
        return False
    out.numbers[c.KEY_KIND, row] = kind
    out.state[c.KEY_BYTES] = after
    return True


@loop(types.void(BYTES, BYTES, types.int64, NUMBERS, _NAMES, BYTES, _GUESSES, TABLE, COLUMNS))
def scan_json_lines(
    data: np.ndarray,
    original: np.ndarray,
    end: int,
    rules: np.ndarray,
    known: JsonNames,
    literal: np.ndarray,
    guesses: NameGuesses,
    spans: np.ndarray,
    out: Columns,
) -> None:
    """Read lines until ``end`` (behind a newline), or until the columns are full.

    ``original`` are the bytes of the file; ``data`` are the same, or lines that a Cutting has made of them.
    """
    state, refused, row, refusals = out.state, out.refused, 0, 0
    at = state[c.AT]
    state[c.KEY_BYTES] = 0
    while at < end and row < out.numbers.shape[1] and refusals < len(refused):
        _clear(spans)
        start = past_blanks(data, at)
        close = object_end(data, start, known, guesses, spans)
        after = _line_end(data, close)
        if after > 0 and _fill(data, original, spans, row, rules, literal, out):
            out.numbers[c.START, row] = start if rules[BARE_START] else at
            out.numbers[c.END, row] = close if rules[BARE_END] else after
            row += 1
            out.key_ends[row] = state[c.KEY_BYTES]
        else:
            after = _next_line(data, at)
            refused[refusals, 0], refused[refusals, 1] = at, after
            refusals += 1
        at = after
    state[c.AT], state[c.ROWS], state[c.REFUSALS] = at, row, refusals
