"""Field contents of every format: bytes as they are, whole numbers, topics, and signs of lost bytes."""

import numpy as np
from numba import types

from kcompact.dumps.loops import columns as c
from kcompact.dumps.loops.columns import Columns
from kcompact.dumps.loops.compiling import array_type, int64, part
from kcompact.dumps.loops.words import WORD, digits_in, number_of_digits, store_word, word_at

REFUSED = -1
LARGEST_PARTITION = 2**31 - 1
# Types of what loops are given.
BYTES, NUMBERS = array_type(types.uint8, written=True), array_type(types.int64, written=True)
TABLE, ENDS = array_type(types.int64, 2, written=True), array_type(types.int32, written=True)
COLUMNS = types.NamedTuple([TABLE, BYTES, ENDS, TABLE, BYTES, NUMBERS, NUMBERS, NUMBERS], Columns)
IS_UNSET = np.zeros(256, np.uint8)
IS_UNSET[list(b"fFnN0")] = 1  # the first bytes of flags that are not set: false, no, 0
_MOST_DIGITS = 18  # always an int64
_ZERO = ord("0")
_ZEROS, _WORD_BITS = np.uint64(0x3030303030303030), np.uint64(64)
_POWERS = np.array([10**digits for digits in range(WORD + 1)])
_FACTOR, _SLOT_SHIFT = np.uint64(0x9E3779B97F4A7C15), np.uint64(64 - c.TOPIC_SLOT_BITS)
_REPLACEMENT = np.frombuffer("\ufffd".encode(), np.uint8)


@part
def copied(data: np.ndarray, start: int, end: int, out: np.ndarray, out_at: int) -> int:
    """Copy a range; return where the copy ends."""
    length = end - start
    if length < WORD:
        for place in range(length):
            out[out_at + place] = data[start + place]
        return out_at + length
    for place in range(0, length - WORD, WORD):
        store_word(out, out_at + place, word_at(data, start + place))
    store_word(out, out_at + length - WORD, word_at(data, end - WORD))
    return out_at + length


@part
def is_lossy(data: np.ndarray, start: int, end: int) -> bool:
    """Whether U+FFFD is in a range, for bytes that were lost."""
    for at in range(start, end - 2):
        if (
            data[at] == _REPLACEMENT[0]
            and data[at + 1] == _REPLACEMENT[1]
            and data[at + 2] == _REPLACEMENT[2]
        ):
            return True
    return False


@part
def whole_number(data: np.ndarray, start: int, end: int) -> int:
    """The number that all of a range spells in digits, the first of which is 0 only alone; else REFUSED."""
    if not 0 < end - start <= _MOST_DIGITS or (data[start] == _ZERO and end - start > 1):
        return REFUSED
    value, at = int64(0), start
    while at < end:
        word, length = word_at(data, at), min(end - at, WORD)
        if length < WORD:  # as a word of eight digits, with zeros before it
            shift = np.uint64(8 * (WORD - length))
            word = (word << shift) | (_ZEROS >> (_WORD_BITS - shift))
        if digits_in(word) < WORD:
            return REFUSED
        value = value * _POWERS[length] + number_of_digits(word)
        at += length
    return value


@part
def is_text(data: np.ndarray, start: int, end: int, text: np.ndarray) -> bool:
    """Whether a range spells a text."""
    if end - start != len(text):
        return False
    for place in range(len(text)):
        if data[start + place] != text[place]:
            return False
    return True


@part
def topic_number(data: np.ndarray, start: int, end: int, row: int, out: Columns) -> int:
    """The number of the topic that a range spells, which may be new; REFUSED where there are too many.

    Nearly every record has the topic of the row before.
    """
    last = out.numbers[c.TOPIC, row - 1] if row > 0 else 0
    if last > 0 and _is_topic(data, start, end, last, out):
        return last
    slot = _topic_slot(data, start, end)
    while out.topic_slots[slot] > 0:
        if _is_topic(data, start, end, out.topic_slots[slot], out):
            return out.topic_slots[slot]
        slot = (slot + 1) % len(out.topic_slots)
    count = out.state[c.TOPICS]
    at = out.topic_ends[count - 1]
    if count == c.MOST_TOPICS or end - start > len(out.topics) - at:
        return REFUSED
    for place in range(start, end):
        out.topics[at] = data[place]
        at += 1
    out.topic_ends[count], out.topic_slots[slot] = at, count
    out.state[c.TOPICS] = count + 1
    return count


@part
def _topic_slot(data: np.ndarray, start: int, end: int) -> int:
    """Where the number of a topic is looked for first."""
    code = np.uint64(0)
    for place in range(start, end):
        code = (code ^ np.uint64(data[place])) * _FACTOR
    return int64(code >> _SLOT_SHIFT)


@part
def _is_topic(data: np.ndarray, start: int, end: int, number: int, out: Columns) -> bool:
    first = out.topic_ends[number - 1]
    if out.topic_ends[number] - first != end - start:
        return False
    for place in range(end - start):
        if data[start + place] != out.topics[first + place]:
            return False
    return True
