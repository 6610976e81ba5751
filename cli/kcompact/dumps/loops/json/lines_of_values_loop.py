"""Makes lines of JSON values that are no lines: of an array's elements, or of objects over several lines.

Each byte keeps its place. Afterwards each value is on a line of its own: in an array, newlines replace the
commas and the opening bracket, between objects the last blank. All other line ends become blanks; within
strings, where JSON allows none, they become control characters, which are not allowed either.
"""

from functools import partial

import numpy as np

from kcompact.dumps.loops.compiling import loop, part
from kcompact.dumps.loops.windows import ByteRange, Cutting, windows_of
from kcompact.dumps.loops.words import end_of_plain_text
from kcompact.dumps.records.layout import DumpFile

_QUOTE, _BACKSLASH, _SPACE, _NEWLINE = b'"\\ \n'
_CONTROL = 1  # no JSON text may hold it
_IS_BLANK = np.zeros(256, np.uint8)
_IS_BLANK[list(b" \t\r")] = 1

# Meanings of bytes outside of strings; 0: none.
_OPEN_ARRAY, _OPEN_OBJECT, _CLOSE_ARRAY, _CLOSE_OBJECT, _COMMA, _LINE_END, _SEPARATOR, _TEXT = range(1, 9)
_MEANINGS = np.zeros(256, np.uint8)
_MEANINGS[list(b'[{]},\n"')] = [
    _OPEN_ARRAY,
    _OPEN_OBJECT,
    _CLOSE_ARRAY,
    _CLOSE_OBJECT,
    _COMMA,
    _LINE_END,
    _TEXT,
]
_MEANINGS[list(b"\0\x1e")] = _SEPARATOR  # between objects, as some people choose
_STEPS = np.array([0, 1, 1, -1, -1, 0, 0, 0, 0])  # of depth, by meaning


@part
def _behind_string(data: np.ndarray, at: int, end: int) -> int:
    """The place behind the string whose text starts at ``at``; ``end`` if it does not end before that."""
    while at < end:
        at = end_of_plain_text(data, at)
        if data[at] == _QUOTE:
            return at + 1
        if data[at] == _BACKSLASH and (data[at + 1] == _QUOTE or data[at + 1] == _BACKSLASH):
            at += 1
        elif data[at] == _NEWLINE:
            data[at] = _CONTROL
        at += 1
    return end


@part
def _opened(data: np.ndarray, at: int, is_array: bool) -> int:
    """The start of the line that an outermost bracket begins; 0 if the line before it cannot be ended."""
    if is_array:
        after = at + 1
        while _IS_BLANK[data[after]] or data[after] == _NEWLINE:
            after += 1
        # No line begins in an empty array, nor where the data end, behind which there is a zero.
        if _MEANINGS[data[at]] != _OPEN_ARRAY or _MEANINGS[data[after]] == _CLOSE_ARRAY or data[after] == 0:
            return 0
        data[at] = _NEWLINE
        return at + 1
    if at == 0 or not _IS_BLANK[data[at - 1]]:
        return 0
    data[at - 1] = _NEWLINE
    return at


@part
def _placed(data: np.ndarray, at: int, meaning: int, depth: int, is_array: bool) -> int:
    """Replace a byte by a newline or blank if its meaning asks for it; return where a line starts, or 0."""
    if meaning <= _OPEN_OBJECT:
        return _opened(data, at, is_array) if depth == 0 else 0
    is_element_end = is_array and depth == 1
    if meaning == _COMMA and is_element_end:
        data[at] = _NEWLINE
        return at + 1
    is_end = meaning == _CLOSE_ARRAY and is_element_end
    if is_end or meaning == _LINE_END or (meaning == _SEPARATOR and depth == 0 and not is_array):
        data[at] = _SPACE
    return 0


@loop("UniTuple(int64, 2)(uint8[::1], int64, int64, boolean)")
def make_lines(data: np.ndarray, end: int, depth: int, is_array: bool) -> tuple[int, int]:
    """Make lines of the bytes before ``end``; ``depth`` brackets are open at the start of the data.

    Returns where the last line ends, and how many brackets are open at the end.
    """
    at, line_end = 0, 0
    while at < end:
        meaning = _MEANINGS[data[at]]
        if meaning == _TEXT:
            at = _behind_string(data, at + 1, end)
            continue
        if meaning != 0:
            line_end = max(line_end, _placed(data, at, meaning, depth, is_array))
            depth = max(depth + _STEPS[meaning], 0)
        at += 1
    return line_end, depth


def cutting_of(file: DumpFile) -> Cutting | None:
    """The Cutting that makes lines of a file's records; None where they are lines already."""
    if file.layout == "json_lines":
        return None
    return partial(_cut, is_array=file.layout == "json_array", start=file.shape.start, end=file.data_bytes)


def _cut(
    buffer: bytearray, filled: int, base: int, is_last: bool, *, is_array: bool, start: int, end: int
) -> tuple[bytearray, int]:
    """A Cutting for a file whose records are in [start, end).

    In an array, a buffer that does not begin at ``start`` begins behind a comma.
    """
    lines = bytearray(buffer)
    is_inside = is_array and base > start
    line_end, depth = make_lines(np.frombuffer(lines, np.uint8), filled, int(is_inside), is_array)
    if not is_last or not filled:
        return lines, line_end
    lines[filled - 1] = _NEWLINE
    if is_array and depth and base + filled >= end:
        _spoil_last_line(lines, filled)
    return lines, filled


def _spoil_last_line(lines: bytearray, filled: int) -> None:
    """Make the last line of an array without an end invalid, so that the reference reads and reports it."""
    last = lines[:filled].rstrip(b"\n").rfind(b"\n") + 1
    lines[last] = _CONTROL


def cuts_by_loop(file: DumpFile, split_bytes: int) -> list[int]:
    """Positions at which a file can be cut, at least ``split_bytes`` apart: its start, then starts of values.

    Raises LongLineError, and EOFError where the file is shorter than it was.
    """
    start, end = file.shape.start, file.data_bytes
    cuts = [start]
    for window in windows_of([ByteRange(file.data_path, start, end)], cutting_of(file)):
        cut = window.stretches[0].base + window.end
        if cut - cuts[-1] >= split_bytes and cut < end:
            cuts.append(cut)
    return cuts
