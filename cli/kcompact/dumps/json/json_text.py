"""JSON as bytes: parsed without losing a byte, and looked up as it was spelt."""

import json
import math
from collections import Counter
from decimal import Decimal, InvalidOperation
from typing import Any

import orjson

from kcompact.dumps.records.shown import shown
from kcompact.errors import UnreadableError

DECODER = json.JSONDecoder()
_WHITESPACE = " \t\n\r"
_OPENINGS = frozenset(b'0123456789-[{"tfn')
_OUT_OF_REACH = "export it again with keys that are spelt otherwise"
_DIGITS_OF_64_BITS = 18  # which are no more than 64 bits, whatever they are
_MOST_ZEROS = 30  # after an integer that is written out
_ESCAPED_QUOTE = b"\\u0022"  # orjson writes it in another way


class SpeltNumber:
    """A number that is to be written as it is spelt. No dataclass, which orjson would write as an object."""

    __slots__ = ("spelling",)

    def __init__(self, spelling: str) -> None:
        self.spelling = spelling


def _integer(spelling: str) -> int | SpeltNumber:
    is_plain = len(spelling) <= _DIGITS_OF_64_BITS and str(int(spelling)) == spelling
    return int(spelling) if is_plain else SpeltNumber(spelling)


def _may_be_respelt(value: Any) -> bool:
    """Whether a number in the value may be another text than it was: 1e3, 1.0, -0, one of 20 digits."""
    if isinstance(value, dict):
        return any(map(_may_be_respelt, value.values()))
    if isinstance(value, list):
        return any(map(_may_be_respelt, value))
    return type(value) is float or (type(value) is int and value == 0)


class Repeating(dict[str, Any]):
    """An object with several members of one name; ``twice`` are such names, of which it has the last member.

    Readers of JSON disagree on which member counts: where one of them is asked for, nobody can tell.
    """

    twice: frozenset[str]


def bytes_of(text: str, errors: str) -> bytes:
    """The bytes of a parsed string. ``errors``: of the ParsedJson that it comes from.

    Half characters from U+DC80 to U+DCFF, if no others are there, are bytes that Python decoded with its
    handler ``surrogateescape``: no text has them alone.
    """
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", errors)


class ParsedJson:
    """One JSON value, parsed, with the bytes it was parsed from.

    ``errors`` is the codec error handler that turns a parsed string back into the bytes of the dump: kcat
    copies bytes that are not UTF-8 into its JSON, which only Python's own parser can be talked into reading.
    ``twice`` are the names that occur more than once in an object of it, which is a ``Repeating`` then.
    """

    __slots__ = ("data", "errors", "twice", "value")

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.errors = "surrogatepass"  # "\ud800" spelt out by JavaScript: no UTF-8, but a key as any other
        self.twice: set[str] = set()
        try:
            self.value = orjson.loads(data)
        except orjson.JSONDecodeError:
            self.value = self._parsed_exactly()
        else:
            if not self._has_all_quotes():  # of several members of a name, orjson keeps the last
                self.value = self._parsed_exactly()

    def _has_all_quotes(self) -> bool:
        """Whether what was parsed has as many quotes as the data: then no member is missing in it."""
        if _ESCAPED_QUOTE in self.data:
            return False
        try:
            return orjson.dumps(self.value).count(b'"') == self.data.count(b'"')
        except orjson.JSONEncodeError:  # half a character
            return False

    def _parsed_exactly(self) -> Any:
        """Parse what orjson refuses and others accept. Raises ValueError."""
        try:
            text = self.data.decode("utf-8")
        except UnicodeDecodeError:
            text = self.data.decode("utf-8", "surrogateescape")
            self.errors = "surrogateescape"
        try:
            return json.loads(text, object_pairs_hook=self._object)
        except RecursionError as error:
            raise ValueError("nested too deeply") from error

    def _object(self, members: list[tuple[str, Any]]) -> dict[str, Any]:
        plain = dict(members)
        if len(plain) == len(members):
            return plain
        counts = Counter(name for name, _ in members)
        repeating = Repeating(plain)
        repeating.twice = frozenset(name for name, count in counts.items() if count > 1)
        self.twice |= repeating.twice
        return repeating

    def encoded(self, text: str) -> bytes:
        """The bytes that a parsed string stands for."""
        return bytes_of(text, self.errors)

    def with_spellings(self, value: Any, path: tuple[str, ...]) -> Any:
        """The value at ``path`` once more, with numbers that parsing may have respelt as SpeltNumbers.

        Raises ValueError where it is nested too deeply.
        """
        try:
            if not _may_be_respelt(value):
                return value
            text = self.spelling(path).decode("utf-8", self.errors)
            return json.loads(text, parse_float=SpeltNumber, parse_int=_integer, parse_constant=SpeltNumber)
        except RecursionError as error:
            raise ValueError("nested too deeply") from error

    def spelling(self, path: tuple[str, ...]) -> bytes:
        """The member at ``path`` exactly as it is spelt in the dump; the path is known to be there."""
        text = self.data.decode("latin-1")  # a character per byte: positions are byte positions
        start, end = 0, len(text)
        for name in path:
            find = element_of if text[past_blanks(text, start)] == "[" else member_of
            start, end = find(text, start, name)
        return text[start:end].encode("latin-1")


def member_of(text: str, start: int, name: str) -> tuple[int, int]:
    """Where the value of the last member called ``name`` is, in the object that starts at ``start``.

    ``text`` has a character for each byte.
    """
    at = past_blanks(text, past_blanks(text, start) + 1)
    span = (at, at)
    while text[at] != "}":
        name_start = at
        key, at = DECODER.raw_decode(text, at)
        if not key.isascii():  # UTF-8, or escapes of the same
            key = ParsedJson(text[name_start:at].encode("latin-1")).value
        value_start = past_blanks(text, past_blanks(text, at) + 1)
        _, value_end = DECODER.raw_decode(text, value_start)
        if key == name:
            span = (value_start, value_end)
        at = past_blanks(text, value_end)
        if text[at] == ",":
            at = past_blanks(text, at + 1)
    return span


def element_of(text: str, start: int, index: str) -> tuple[int, int]:
    """Where an element is, by its number from 0, in the array that starts at ``start``; ``text`` as above."""
    at = past_blanks(text, past_blanks(text, start) + 1)
    for _ in range(int(index)):
        _, at = DECODER.raw_decode(text, at)
        at = past_blanks(text, past_blanks(text, at) + 1)  # behind the comma
    return at, DECODER.raw_decode(text, at)[1]


def repeated_member(name: str, owner: str, position: int | None = None) -> UnreadableError:
    """The error for what is asked for in an object that has it twice; ``position``: of an UnreadableError."""
    return UnreadableError(
        f"{owner} has the member {shown(name)} twice: which of them counts?",
        "readers of JSON disagree on it: have what wrote the dump write each name once, or rename the member"
        " that does not count",
        position=position,
    )


def repeated_names(value: Any) -> set[str]:
    """The names that occur twice in an object of a parsed value."""
    if isinstance(value, list):
        return {name for item in value for name in repeated_names(item)}
    if not isinstance(value, dict):
        return set()
    below = {name for item in value.values() for name in repeated_names(item)}
    return below | value.twice if isinstance(value, Repeating) else below


def past_blanks(text: str, at: int) -> int:
    """The first position from ``at`` on that is not blank."""
    while at < len(text) and text[at] in _WHITESPACE:
        at += 1
    return at


def end_of_value(data: bytes) -> int | None:
    """Where the JSON value that ``data`` begins with ends; None if it begins with none."""
    try:
        return DECODER.raw_decode(data.decode("latin-1"))[1]
    except (ValueError, RecursionError):
        return None


def canonical(spelling: bytes) -> bytes:
    """The same JSON value without blanks, with sorted names: equal for equal values however spelt.

    Numbers are compared digit by digit: as floats, 9007199254740993.1 and 9007199254740993.2 are one.
    Raises UnreadableError where it has a member twice, or cannot be compared.
    """
    parsed = ParsedJson(spelling)
    if parsed.twice:
        raise repeated_member(min(parsed.twice), "the key")
    try:
        return parsed.encoded(
            _written(
                json.loads(spelling.decode("utf-8", parsed.errors), parse_int=_exact, parse_float=_exact)
            )
        )
    except RecursionError as error:
        raise UnreadableError("the key is nested too deeply", _OUT_OF_REACH) from error


def _exact(spelling: str) -> Decimal:
    """A number with its digits as few as can be: equal numbers get equal digits and exponents."""
    try:
        number = Decimal(spelling)
    except InvalidOperation as error:  # an exponent of 19 digits and more
        raise UnreadableError("the key holds a number that is too large to compare", _OUT_OF_REACH) from error
    sign, digits, exponent = number.as_tuple()
    if not any(digits):
        return Decimal(0)
    zeros = next(place for place, digit in enumerate(reversed(digits)) if digit)
    return Decimal((sign, digits[: len(digits) - zeros], int(exponent) + zeros))


def _written(value: Any) -> str:
    if isinstance(value, dict):
        names = sorted(value)
        members = zip(map(_dumped, names), map(_written, map(value.__getitem__, names)), strict=True)
        return "{" + ",".join(map(":".join, members)) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_written, value)) + "]"
    if isinstance(value, Decimal):
        return f"{value:f}" if 0 <= int(value.as_tuple().exponent) <= _MOST_ZEROS else str(value)
    return _dumped(value)


def _dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def compact_json(value: Any, errors: str) -> bytes:
    """A parsed value without blanks. ``errors``: of the ParsedJson that it comes from."""
    try:
        return orjson.dumps(value)
    except orjson.JSONEncodeError:  # half a character, an integer of more than 64 bits, a SpeltNumber
        return _compact(value).encode("utf-8", errors)


def _compact(value: Any) -> str:
    if isinstance(value, SpeltNumber):
        return value.spelling
    if isinstance(value, dict):
        return "{" + ",".join(f"{_dumped(name)}:{_compact(item)}" for name, item in value.items()) + "}"
    return "[" + ",".join(map(_compact, value)) + "]" if isinstance(value, list) else _dumped(value)


def reads_as_json(text: bytes) -> bool:
    """Whether text is a JSON value: a string of this text is another value once its quotes are gone."""
    if not text or text[0] not in _OPENINGS:
        return False
    try:
        orjson.loads(text)
    except orjson.JSONDecodeError:
        return False
    return True


def refuse_nan(raw: Any, role: str) -> None:
    """Raise UnreadableError for what is no JSON, and what pandas and Python's json write for null."""
    if isinstance(raw, float) and math.isnan(raw):
        raise UnreadableError(
            f"the {role} is NaN: is that null, or a text?",
            "write null where it is none (in pandas: df.astype(object).where(df.notna(), None)),"
            ' "NaN" where it is that text',
        )
