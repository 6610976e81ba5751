"""Loops over fields of any format: bytes to copy, numbers, times, topics, and signs of lost bytes."""

import numpy as np
from numba import types

from kcompact.dumps.loops import columns as c
from kcompact.dumps.loops.columns import Columns
from kcompact.dumps.loops.compiling import array_type, int64, part
from kcompact.dumps.loops.words import WORD, digits_in, number_of_digits, store_word, word_at

REFUSED = -1
LARGEST_PARTITION = 2**31 - 1
# Types of the arrays that loops are given.
BYTES, NUMBERS = array_type(types.uint8, written=True), array_type(types.int64, written=True)
TABLE, ENDS = array_type(types.int64, 2, written=True), array_type(types.int32, written=True)
COLUMNS = types.NamedTuple([TABLE, BYTES, ENDS, TABLE, BYTES, NUMBERS, NUMBERS, NUMBERS], Columns)
IS_UNSET = np.zeros(256, np.uint8)
IS_UNSET[list(b"fFnN0")] = 1  # the first bytes of flags that are not set: false, no, 0
_MOST_DIGITS = 18  # always fit into an int64
_ZERO, _NINE = b"09"
_FEBRUARY, _LEAP_DAY = 2, 29
_DAYS_OF_MONTHS = np.array([0, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])
_SHORTEST_TIME, _DATE_AND_BLANK = len("2024-01-31T10:00:00"), len("2024-01-31T")
_EPOCH_YEAR = 1970
_DAYS_BEFORE = 1969 * 365 + 1969 // 4 - 1969 // 100 + 1969 // 400
_HOURS_ALONE, _WITH_MINUTES, _WITH_COLON = len("+01"), len("+0100"), len("+01:00")
_NO_ZONE = 24 * 60  # minutes: more than any zone is ahead
_TIME_SIGN, _ZONE_SIGN, _BLANK, _COLON, _POINT, _PLUS, _DASH = b"TZ :.+-"
_DAY_MS, _HOUR_MS, _MINUTE_MS, _SECOND_MS = 86_400_000, 3_600_000, 60_000, 1_000
_ZEROS, _WORD_BITS = np.uint64(0x3030303030303030), np.uint64(64)
_POWERS = np.array([10**digits for digits in range(WORD + 1)])
_FACTOR, _SLOT_SHIFT = np.uint64(0x9E3779B97F4A7C15), np.uint64(64 - c.TOPIC_SLOT_BITS)
_REPLACEMENT = np.frombuffer("\ufffd".encode(), np.uint8)


@part
def copied(data: np.ndarray, start: int, end: int, out: np.ndarray, out_at: int) -> int:
    """Copy the bytes [start, end) to ``out``; return where the copy ends."""
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
    """Whether a range holds U+FFFD, which tools write in place of bytes that are no UTF-8."""
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
    """The number that a range spells in digits alone, without leading zeros; REFUSED for any other text."""
    if not 0 < end - start <= _MOST_DIGITS or (data[start] == _ZERO and end - start > 1):
        return REFUSED
    value, at = int64(0), start
    while at < end:
        word, length = word_at(data, at), min(end - at, WORD)
        if length < WORD:  # made a word of eight digits, with zeros in front
            shift = np.uint64(8 * (WORD - length))
            word = (word << shift) | (_ZEROS >> (_WORD_BITS - shift))
        if digits_in(word) < WORD:
            return REFUSED
        value = value * _POWERS[length] + number_of_digits(word)
        at += length
    return value


@part
def _digits(data: np.ndarray, at: int, count: int, largest: int) -> int:
    """The number that ``count`` digits spell; REFUSED if it exceeds ``largest``, or a byte is no digit."""
    value = int64(0)
    for place in range(at, at + count):
        if not _ZERO <= data[place] <= _NINE:
            return REFUSED
        value = value * 10 + int64(data[place]) - _ZERO
    return value if value <= largest else REFUSED


@part
def _days(data: np.ndarray, at: int) -> int:
    """Days from 1970-01-01 to a date such as ``2024-01-31``; REFUSED if it is no date, or an earlier one."""
    year, month, day = _digits(data, at, 4, 9999), _digits(data, at + 5, 2, 12), _digits(data, at + 8, 2, 31)
    if year < _EPOCH_YEAR or month < 1 or not 1 <= day <= _DAYS_OF_MONTHS[month]:
        return REFUSED
    is_leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    if month == _FEBRUARY and day == _LEAP_DAY and not is_leap:
        return REFUSED
    if data[at + 4] != _DASH or data[at + 7] != _DASH:
        return REFUSED
    before = year - 1
    days = before * 365 + before // 4 - before // 100 + before // 400 - _DAYS_BEFORE
    for number in range(1, month):
        days += _DAYS_OF_MONTHS[number]
    return days + day - 1 - int64(month > _FEBRUARY and not is_leap)


@part
def _point_in_time(data: np.ndarray, start: int, end: int) -> tuple[int, int]:
    """Milliseconds since the epoch, and a CLOCK, of ``2024-01-31T10:00:00.123Z``; else REFUSED twice.

    There may be a blank for the T, any number of digits in the fraction, and ``+01:00``, ``+0100``, ``+01``
    or nothing for the Z.
    """
    at = start + _DATE_AND_BLANK
    if end - start < _SHORTEST_TIME or (data[at - 1] != _TIME_SIGN and data[at - 1] != _BLANK):
        return REFUSED, REFUSED
    days, hours = _days(data, start), _digits(data, at, 2, 23)
    minutes, seconds = _digits(data, at + 3, 2, 59), _digits(data, at + 6, 2, 59)
    are_apart = data[at + 2] == _COLON and data[at + 5] == _COLON
    if min(days, hours, minutes, seconds) < 0 or not are_apart:
        return REFUSED, REFUSED
    milliseconds = days * _DAY_MS + hours * _HOUR_MS + minutes * _MINUTE_MS + seconds * _SECOND_MS
    at, unit = start + _SHORTEST_TIME, int64(100)
    if at + 1 < end and data[at] == _POINT and _ZERO <= data[at + 1] <= _NINE:
        at += 1
        while at < end and _ZERO <= data[at] <= _NINE:
            milliseconds += (int64(data[at]) - _ZERO) * unit
            at, unit = at + 1, unit // 10
    if at == end:
        return milliseconds, c.ZONELESS
    ahead = _minutes_ahead(data, at, end)
    milliseconds -= ahead * _MINUTE_MS
    if ahead == _NO_ZONE or milliseconds < 0:
        return REFUSED, REFUSED
    return milliseconds, c.TEXT


@part
def clock_of(data: np.ndarray, start: int, end: int) -> tuple[int, int]:
    """The timestamp that a text spells, a number or a date and time, and its CLOCK; else REFUSED twice."""
    number = whole_number(data, start, end)
    if number >= 0:
        return number, c.OTHER
    return _point_in_time(data, start, end)


@part
def _minutes_ahead(data: np.ndarray, at: int, end: int) -> int:
    """The minutes by which a time zone is ahead of UTC; _NO_ZONE if the text is none."""
    length = end - at
    if data[at] == _ZONE_SIGN and length == 1:
        return 0
    direction = int64(data[at] == _PLUS) - int64(data[at] == _DASH)
    colon = int64(length == _WITH_COLON and data[at + _HOURS_ALONE] == _COLON)
    if direction == 0 or (length != _HOURS_ALONE and length != _WITH_MINUTES + colon):
        return _NO_ZONE
    hours, minutes = _digits(data, at + 1, 2, 23), int64(0)
    if length > _HOURS_ALONE:
        minutes = _digits(data, at + _HOURS_ALONE + colon, 2, 59)
    if hours < 0 or minutes < 0:
        return _NO_ZONE
    return (hours * 60 + minutes) * direction


@part
def is_text(data: np.ndarray, start: int, end: int, text: np.ndarray) -> bool:
    """Whether the bytes of a range are those of ``text``."""
    if end - start != len(text):
        return False
    for place in range(len(text)):
        if data[start + place] != text[place]:
            return False
    return True


@part
def topic_number(data: np.ndarray, start: int, end: int, row: int, out: Columns) -> int:
    """The number of the topic that a range spells; a new one gets the next number, or REFUSED without room.

    The topic of the row before is tried first, as nearly every record has the same one.
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
    """The slot at which the search for a topic begins, by a hash of its name."""
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
