"""JSON that is parsed without loss: the bytes of strings and the exact spelling of values stay available."""

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
_DIGITS_OF_64_BITS = 18  # any number of so many digits fits into 64 bits
_MOST_ZEROS = 30  # at the end of an integer that is written without an exponent
_ESCAPED_QUOTE = b"\\u0022"  # orjson writes it as \"


class SpeltNumber:
    """A number that is written as the dump spells it. Not a dataclass, which orjson writes as an object."""

    __slots__ = ("spelling",)

    def __init__(self, spelling: str) -> None:
        self.spelling = spelling


def _integer(spelling: str) -> int | SpeltNumber:
    is_plain = len(spelling) <= _DIGITS_OF_64_BITS and str(int(spelling)) == spelling
    return int(spelling) if is_plain else SpeltNumber(spelling)


def _may_be_respelt(value: Any) -> bool:
    """Whether writing the value may change the spelling of a number: 1e3, 1.0, -0, or one of 20 digits."""
    if isinstance(value, dict):
        return any(map(_may_be_respelt, value.values()))
    if isinstance(value, list):
        return any(map(_may_be_respelt, value))
    return type(value) is float or (type(value) is int and value == 0)


class Repeating(dict[str, Any]):
    """An object with several members of the same name, of which it has the last; ``twice`` are such names.

    Readers of JSON disagree on which member counts, so one that is asked for has to be refused.
    """

    twice: frozenset[str]


def bytes_of(text: str, errors: str) -> bytes:
    """The bytes of a parsed string; ``errors`` is that of the ParsedJson that it comes from.

    Surrogates from U+DC80 to U+DCFF, if there are no others, are bytes that Python decoded with its handler
    ``surrogateescape``: no text has them alone.
    """
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", errors)


class ParsedJson:
    """One JSON value, parsed, with the bytes it was parsed from.

    ``errors`` is the codec error handler that turns a parsed string back into the bytes of the dump: kcat
    copies bytes that are not UTF-8 into its JSON, which only Python's own parser can be made to read.
    ``twice`` are all names that occur more than once in an object; such an object is a ``Repeating``.
    """

    __slots__ = ("data", "errors", "twice", "value")

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.errors = "surrogatepass"  # JavaScript writes "\ud800": no UTF-8, but a possible key
        self.twice: set[str] = set()
        try:
            self.value = orjson.loads(data)
        except orjson.JSONDecodeError:
            self.value = self._parsed_exactly()
        else:
            if not self._has_all_quotes():  # orjson only keeps the last one of several members of a name
                self.value = self._parsed_exactly()

    def _has_all_quotes(self) -> bool:
        """Whether the parsed value has as many quotes as the data, and so misses no member of it."""
        if _ESCAPED_QUOTE in self.data:
            return False
        try:
            return orjson.dumps(self.value).count(b'"') == self.data.count(b'"')
        except orjson.JSONEncodeError:  # for half a character
            return False

    def _parsed_exactly(self) -> Any:
        """Parse by Python's json, which accepts more than orjson does. Raises ValueError."""
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
        """The value at ``path`` with SpeltNumbers for numbers whose spelling may have been lost by parsing.

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
        """The member at ``path`` exactly as the dump spells it; the path has to exist."""
        text = self.data.decode("latin-1")  # a character per byte: positions are byte positions
        start, end = 0, len(text)
        for name in path:
            find = element_of if text[past_blanks(text, start)] == "[" else member_of
            start, end = find(text, start, name)
        return text[start:end].encode("latin-1")


def member_of(text: str, start: int, name: str) -> tuple[int, int]:
    """The span of the value of the last member called ``name``, in the object that starts at ``start``.

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
    """The span of an element, by its number from 0, in the array that starts at ``start`` of such a text."""
    at = past_blanks(text, past_blanks(text, start) + 1)
    for _ in range(int(index)):
        _, at = DECODER.raw_decode(text, at)
        at = past_blanks(text, past_blanks(text, at) + 1)  # behind the comma
    return at, DECODER.raw_decode(text, at)[1]


def repeated_member(name: str, owner: str, position: int | None = None) -> UnreadableError:
    """The error for a member that is asked for and that its object has twice, at a position of the file."""
    return UnreadableError(
        f"{owner} has the member {shown(name)} twice: which of them counts?",
        "readers of JSON disagree on it: have what wrote the dump write each name once, or rename the member"
        " that does not count",
        position=position,
    )


def repeated_names(value: Any) -> set[str]:
    """The names that occur twice in an object within a parsed value, at any depth."""
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
    """The end of the JSON value with which ``data`` begins; None if it does not begin with one."""
    try:
        return DECODER.raw_decode(data.decode("latin-1"))[1]
    except (ValueError, RecursionError):
        return None


def canonical(spelling: bytes) -> bytes:
    """The same JSON value without blanks and with sorted names: the same bytes for equal values.

    Numbers keep all digits: as floats, 9007199254740993.1 and 9007199254740993.2 would be the same. Raises
    UnreadableError where it has a member twice, or cannot be compared.
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
    """A number with as few digits as possible, so that equal numbers have equal digits and exponents."""
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
    """The JSON of a parsed value, without blanks; ``errors`` is that of the ParsedJson that it comes from."""
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
    """Whether text is a JSON value. If so, a string of this text needs its quotes to stay a string."""
    if not text or text[0] not in _OPENINGS:
        return False
    try:
        orjson.loads(text)
    except orjson.JSONDecodeError:
        return False
    return True


def refuse_nan(raw: Any, role: str) -> None:
    """Raise UnreadableError for NaN, which is no JSON, and which pandas and Python's json write for null."""
    if isinstance(raw, float) and math.isnan(raw):
        raise UnreadableError(
            f"the {role} is NaN: is that null, or a text?",
            "write null where it is none (in pandas: df.astype(object).where(df.notna(), None)),"
            ' "NaN" where it is that text',
        )
