"""Line templates learned from a line of JSON; what may be done to lines that fit, and how quotes prove it."""

import json
import re

import numpy as np

from kcompact.dumps.dialect import Dialect
from kcompact.dumps.fixed_text import Digits, FixedText, is_number
from kcompact.dumps.line_template import LineTemplate, Spelling, is_clock, is_manageable
from kcompact.dumps.line_window import BACKSLASH, QUOTE, LineWindow
from kcompact.dumps.record import Record

SPELLING = Spelling(key_end=QUOTE, quote=b'"', null=b"null")
_DECODER = json.JSONDecoder()
_BLANKS = re.compile(r"[ \t\r]*")
_ESCAPE = re.compile(rb"\\.", re.DOTALL)
_HEX = np.zeros(256, bool)
_HEX[list(b"0123456789abcdefABCDEF")] = True
_ESCAPED = np.zeros(256, bool)
_ESCAPED[list(b'"\\/bfnrtu')] = True

Member = tuple[str, int, int]  # name, start and end of the value


def learn_template(line: bytes, record: Record, dialect: Dialect) -> LineTemplate | None:
    """A template that fits ``line`` (with its carriage return, if any), which reads as ``record``.

    None where the line is of a kind that templates do not cover: key or value missing, in another order, of
    other types than string and null, or with escapes in the key.
    """
    members = _members(line)
    spans = {name: (start, end) for name, start, end in members}
    key, value = spans.get(dialect.key or ""), spans.get(dialect.value or "")
    if len(spans) < len(members) or key is None or value is None or key[1] > value[0]:
        return None
    errors = (dialect.key_error, dialect.value_error)
    special = (dialect.key_marker, dialect.value_marker, dialect.key_size, dialect.value_size, *errors)
    refused = {name.partition(".")[0] for name in special if name is not None} & spans.keys()
    clock = spans.get(dialect.timestamp or "")
    spelt_key, spelt_value = line[slice(*key)], line[slice(*value)]
    if refused or not (
        is_clock(line, clock, dialect) and _is_plain_key(spelt_key) and _is_string_or_null(spelt_value)
    ):
        return None
    has_key = spelt_key != b"null"
    quote = 1 if has_key else 0
    key_end = key[1] - quote
    bounds = [(0, key[0] + 1 if has_key else key_end), (key_end, value[0]), (value[1], len(line))]
    numbers = _numbers(line, members, dialect)
    head, middle, tail = texts = [_fixed(line, bound, numbers) for bound in bounds]
    if not all(map(is_manageable, texts)) or "offset" not in {n.role for t in texts for n in t.numbers}:
        return None
    marks = sum(unescaped_quotes(text.text) for text in texts)
    constants = record.topic, record.partition, record.timestamp_ms, record.headers
    return LineTemplate(SPELLING, head, middle, tail, has_key, marks, *constants)


def _numbers(line: bytes, members: list[Member], dialect: Dialect) -> list[tuple[str | None, int, int]]:
    """Numbers, whose digits may be others in other lines: their role, start and end."""
    roles = {getattr(dialect, role): role for role in ("offset", "partition", "timestamp")}
    return [
        (roles.get(name), start, end)
        for name, start, end in members
        if is_number(line[start:end]) and name != dialect.headers
    ]


def _members(line: bytes) -> list[Member]:
    """The members of the object that the line is; none if it is none, or is followed by anything."""
    text = line.decode("latin-1")  # a character per byte
    members: list[Member] = []
    at = _past_blanks(text, 0)
    if text[at : at + 1] != "{":
        return []
    try:
        while text[at] in "{,":
            name, at = _DECODER.raw_decode(text, _past_blanks(text, at + 1))
            at = _past_blanks(text, at)
            if not isinstance(name, str) or text[at] != ":":
                return []
            start = _past_blanks(text, at + 1)
            _, end = _DECODER.raw_decode(text, start)
            members.append((name.encode("latin-1", "replace").decode("utf-8", "replace"), start, end))
            at = _past_blanks(text, end)
        is_whole = text[at] == "}" and _past_blanks(text, at + 1) == len(text)
    except (ValueError, IndexError, RecursionError):
        return []
    return members if is_whole else []


def _past_blanks(text: str, at: int) -> int:
    found = _BLANKS.match(text, at)
    return found.end() if found else at


def _is_plain_key(spelt: bytes) -> bool:
    return spelt == b"null" or (len(spelt) > 2 and spelt[:1] == b'"' and b"\\" not in spelt)  # noqa: PLR2004  quotes


def _is_string_or_null(spelt: bytes) -> bool:
    return spelt == b"null" or spelt[:1] == b'"'


def _fixed(line: bytes, bound: tuple[int, int], numbers: list[tuple[str | None, int, int]]) -> FixedText:
    first, last = bound
    inside = [(role, start, end) for role, start, end in numbers if first <= start and end <= last]
    digits = [Digits(role, start - first, end - start) for role, start, end in inside]
    return FixedText(line[first:last], tuple(digits))


def unescaped_quotes(line: bytes) -> int:
    """How many quotes begin or end a string."""
    return (_ESCAPE.sub(b"", line) if b"\\" in line else line).count(b'"')


def escapes_in(window: LineWindow) -> tuple[bool, int]:
    """Whether there are backslashes, and how many quotes they escape.

    Lines are marked as odd in which a backslash escapes what JSON does not let it.
    """
    if not window.holds(BACKSLASH):
        return False, 0
    data = window.data
    at = np.flatnonzero(data[window.first : window.last] == BACKSLASH) + window.first
    if len(at) > 1 and bool((np.diff(at) == 1).any()):
        at = at[_is_first_of_pair(at)]
    escaped = data[at + 1]
    wrong = at[~_ESCAPED[escaped]]
    unicode_at = at[escaped == ord("u")]
    if len(unicode_at):
        digits = _HEX[data[unicode_at[:, None] + np.arange(2, 6)]].all(axis=1)
        wrong = np.concatenate([wrong, unicode_at[~digits]])
    window.odd[np.searchsorted(window.ends, wrong)] = True
    return True, int(np.count_nonzero(escaped == QUOTE))


def _is_first_of_pair(at: np.ndarray) -> np.ndarray:
    """Which backslashes escape what follows: in a run of them the first, the third, ..."""
    number = np.arange(len(at))
    opens = np.concatenate([[True], np.diff(at) > 1])
    first: np.ndarray = (number - np.maximum.accumulate(np.where(opens, number, 0))) % 2 == 0
    return first


def covers(dialect: Dialect) -> bool:
    """Whether records of a dialect can be read off a template: keys and values mean what they spell."""
    plain = dialect.key_encoding == "text" and dialect.timestamp_unit in {"ms", "auto"}
    fields = (dialect.key, dialect.value, dialect.offset)
    odd = dialect.null_word or dialect.listed or dialect.labelled or dialect.doubles
    odd = odd or dialect.null_literal is not None or dialect.reads_values
    return plain and not odd and all(name is not None and "." not in name for name in fields)
