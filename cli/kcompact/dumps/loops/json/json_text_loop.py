"""Loops that write the bytes for which JSON strings stand."""

import numpy as np

from kcompact.dumps.loops.compiling import int64, loop, part
from kcompact.dumps.loops.fields import copied

_BACKSLASH, _SMALL_U, _ZERO, _NINE = b"\\u09"
_LOWER = 0x20
_A = ord("a")
_ONE_BYTE, _TWO_BYTES = 0x80, 0x800
_FIRST_SURROGATE, _FIRST_OF_SECONDS, _PLANES = 0xD800, 0xDC00, 0x10000
_MEANINGS = np.zeros(256, np.uint8)
for _escape, _meaning in zip(b'"\\/bfnrt', b'"\\/\b\f\n\r\t', strict=True):
    _MEANINGS[_escape] = _meaning


@part
def unescaped(data: np.ndarray, start: int, end: int, out: np.ndarray, out_at: int) -> int:
    """Copy a string's text with its escapes replaced; return where the copy ends. It is never longer.

    All escapes have to be valid, and none that of a lone surrogate.
    """
    at = start
    while at < end:
        if data[at] != _BACKSLASH:
            out[out_at] = data[at]
            at, out_at = at + 1, out_at + 1
        elif data[at + 1] == _SMALL_U:
            code = _code_at(data, at + 2)
            at += 6
            if _FIRST_SURROGATE <= code < _FIRST_OF_SECONDS:  # the next escape is the other of the pair
                low = _code_at(data, at + 2) - _FIRST_OF_SECONDS
                code = _PLANES + ((code - _FIRST_SURROGATE) << 10 | low)
                at += 6
            out_at = _encoded(code, out, out_at)
        else:
            out[out_at] = _MEANINGS[data[at + 1]]
            at, out_at = at + 2, out_at + 1
    return out_at


@part
def _code_at(data: np.ndarray, at: int) -> int:
    """The number that four hex digits spell."""
    code = 0
    for place in range(at, at + 4):
        digit = int64(data[place])
        code = code << 4 | (digit - _ZERO if digit <= _NINE else (digit | _LOWER) - _A + 10)
    return code


@part
def _encoded(code: int, out: np.ndarray, at: int) -> int:
    """Write a character as UTF-8; return where it ends."""
    if code < _ONE_BYTE:
        out[at] = code
        return at + 1
    if code < _TWO_BYTES:
        out[at] = 0xC0 | code >> 6
        out[at + 1] = 0x80 | code & 0x3F
        return at + 2
    if code >= _PLANES:
        out[at] = 0xF0 | code >> 18
        out[at + 1] = 0x80 | code >> 12 & 0x3F
        out[at + 2] = 0x80 | code >> 6 & 0x3F
        out[at + 3] = 0x80 | code & 0x3F
        return at + 4
    out[at] = 0xE0 | code >> 12
    out[at + 1] = 0x80 | code >> 6 & 0x3F
    out[at + 2] = 0x80 | code & 0x3F
    return at + 3


@loop("void(uint8[::1], int64[::1], int64[::1], int64[::1], uint8[::1], int64[::1])")
def write_texts(
    data: np.ndarray,
    starts: np.ndarray,
    ends: np.ndarray,
    is_escaped: np.ndarray,
    out: np.ndarray,
    out_ends: np.ndarray,
) -> None:
    """Write the texts of ranges one after another, with escapes replaced, and where each ends."""
    at = 0
    for row in range(len(starts)):
        if is_escaped[row]:
            at = unescaped(data, starts[row], ends[row], out, at)
        else:
            at = copied(data, starts[row], ends[row], out, at)
        out_ends[row] = at
