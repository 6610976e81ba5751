"""JSON as bytes: parsed without losing a byte, and looked up as it was spelt."""

import json
from typing import Any

import orjson

_DECODER = json.JSONDecoder()
_WHITESPACE = " \t\n\r"
_OPENINGS = frozenset(b'0123456789-[{"tfn')


class ParsedJson:
    """One JSON value, parsed, with the bytes it was parsed from.

    ``errors`` is the codec error handler that turns a parsed string back into the bytes of the dump: kcat
    copies bytes that are not UTF-8 into its JSON, which only Python's own parser can be talked into reading.
    """

    __slots__ = ("data", "errors", "value")

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.errors = "surrogatepass"  # "\ud800" spelt out by JavaScript: no UTF-8, but a key as any other
        try:
            self.value = orjson.loads(data)
        except orjson.JSONDecodeError:
            self.value = self._parsed_exactly()

    def _parsed_exactly(self) -> Any:
        """Parse what orjson refuses and others accept. Raises ValueError."""
        try:
            text = self.data.decode("utf-8")
        except UnicodeDecodeError:
            text = self.data.decode("utf-8", "surrogateescape")
            self.errors = "surrogateescape"
        try:
            return json.loads(text)
        except RecursionError as error:
            raise ValueError("nested too deeply") from error

    def encoded(self, text: str) -> bytes:
        """The bytes that a parsed string stands for."""
        return text.encode("utf-8", self.errors)

    def spelling(self, path: tuple[str, ...]) -> bytes:
        """The member at ``path`` exactly as it is spelt in the dump; the path is known to be there."""
        text = self.data.decode("latin-1")  # a character per byte: positions are byte positions
        start, end = 0, len(text)
        for name in path:
            start, end = member_of(text, start, name.encode().decode("latin-1"))
        return text[start:end].encode("latin-1")


def member_of(text: str, start: int, name: str) -> tuple[int, int]:
    """Where the value of the last member called ``name`` lies in the object that starts at ``start``."""
    at = past_blanks(text, past_blanks(text, start) + 1)
    found = (at, at)
    while text[at] != "}":
        key, at = _DECODER.raw_decode(text, at)
        value_start = past_blanks(text, past_blanks(text, at) + 1)
        _, value_end = _DECODER.raw_decode(text, value_start)
        if key == name:
            found = (value_start, value_end)
        at = past_blanks(text, value_end)
        if text[at] == ",":
            at = past_blanks(text, at + 1)
    return found


def past_blanks(text: str, at: int) -> int:
    """The first position from ``at`` on that is not blank."""
    while at < len(text) and text[at] in _WHITESPACE:
        at += 1
    return at


def end_of_value(data: bytes) -> int | None:
    """Where the JSON value that ``data`` begins with ends; None if it begins with none."""
    try:
        return _DECODER.raw_decode(data.decode("latin-1"))[1]
    except (ValueError, RecursionError):
        return None


def canonical(spelling: bytes) -> bytes:
    """The same JSON value without blanks, with sorted names: equal for equal values however spelt."""
    value = json.loads(spelling)
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def reads_as_json(text: bytes) -> bool:
    """Whether a string could be mistaken for another JSON value once its quotes are gone."""
    if not text or text[0] not in _OPENINGS:
        return False
    try:
        orjson.loads(text)
    except orjson.JSONDecodeError:
        return False
    return True
