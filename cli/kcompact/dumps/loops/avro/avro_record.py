"""Walks through one Avro record by the steps of an AvroProgram, to its end and the places of its parts."""

import numpy as np

from kcompact.dumps.loops import columns as c
from kcompact.dumps.loops.avro.avro_program import (
    BEGIN,
    END,
    ENUM,
    FINISH,
    FIXED,
    ITEMS,
    JUMP,
    KEEP_BYTES,
    KEEP_LONG,
    LONG,
    NEXT_ITEM,
    RETURN,
    THERE,
    UNION,
    AvroProgram,
)
from kcompact.dumps.loops.compiling import int64, part

REFUSED = -1
MOST_DIGITS = 20  # of a number as a key, including its sign
_MORE = 0x80
_SEVEN_BITS = 0x7F
_LAST_SHIFT = 63  # of the tenth byte, which holds a single bit
_LARGEST = 2**63 - 1
_MINUS, _ZERO = b"-0"
_TEN = 10


@part
def long_at(data: np.ndarray, at: int, end: int) -> tuple[int, int]:
    """Avro's long (or int) that starts at ``at``, and where it ends: REFUSED if it reaches beyond ``end``."""
    shift, number = 0, int64(0)
    while at < end:
        byte = int64(data[at])
        at += 1
        if shift == _LAST_SHIFT and byte > 1:
            return 0, REFUSED
        number |= (byte & _SEVEN_BITS) << shift
        if byte < _MORE:
            return (number >> 1 & _LARGEST) ^ -(number & 1), at
        shift += 7
    return 0, REFUSED


@part
def is_ascii(data: np.ndarray, start: int, end: int) -> bool:
    """Whether a range holds ASCII alone."""
    for at in range(start, end):
        if data[at] >= _MORE:
            return False
    return True


@part
def written_number(number: int, out: np.ndarray, at: int) -> int:
    """Write a number in digits; return where they end, or REFUSED for -2**63, whose negative does not fit."""
    if number < 0:
        if number < -_LARGEST:
            return REFUSED
        out[at] = _MINUS
        at += 1
        number = -number
    end, remainder = at + 1, number // _TEN
    while remainder > 0:
        remainder //= _TEN
        end += 1
    for place in range(end - 1, at - 1, -1):
        out[place] = _ZERO + number % _TEN
        number //= _TEN
    return end


# Columns of ``spans``, which has a row for each part of a record: NULL, OTHER (a number, at START) or TEXT.
KIND, START, END_OF_PART = range(3)
SPAN_FACTS = 3


@part
def record_end(
    data: np.ndarray,
    at: int,
    end: int,
    program: AvroProgram,
    stack: np.ndarray,
    spans: np.ndarray,
) -> int:
    """The end of the record that starts at ``at`` in a block that ends at ``end``, or REFUSED.

    ``spans`` get the places of its parts. ``stack`` has a row for each open array or call: the step to go
    back to, and the number of items left.
    """
    step, depth = 0, 0
    while True:
        kind, first = program.steps[step, 0], program.steps[step, 1]
        if kind <= KEEP_BYTES:
            at = _field_end(data, at, end, kind, first, spans)
            step += 1
        elif kind <= THERE:
            _keep(at, kind, first, spans)
            step += 1
        elif kind == UNION:
            at, step = _chosen(data, at, end, program, step)
        elif kind < END:
            at, step, depth = _led(data, at, end, kind, first, step, stack, depth)
        else:
            return at
        if at < 0:
            return REFUSED


@part
def _led(
    data: np.ndarray, at: int, end: int, kind: int, first: int, step: int, stack: np.ndarray, depth: int
) -> tuple[int, int, int]:
    """Take a step that leads elsewhere, such as to ``first``: the place after it, next step, and depth."""
    if kind == JUMP:
        return at, first, depth
    if kind == NEXT_ITEM:
        stack[depth - 1, 1] -= 1
        is_over = int64(stack[depth - 1, 1] == 0)
        return at, stack[depth - 1, 0] + 1 - is_over, depth - is_over
    if kind == RETURN:
        return at, stack[depth - 1, 0], depth - 1
    back, count = step + 1, int64(1)
    if kind == ITEMS:
        back = step
        at, count = _run_of_items(data, at, end)
    if at < 0 or count == 0:
        return at, first, depth
    if depth == len(stack):
        return REFUSED, step, depth
    stack[depth, 0], stack[depth, 1] = back, count
    return at, step + 1 if kind == ITEMS else first, depth + 1


@part
def _field_end(data: np.ndarray, at: int, end: int, kind: int, first: int, spans: np.ndarray) -> int:
    """The end of a field, or REFUSED; ``first`` is the step's argument (size, number of symbols, or part)."""
    if kind == FIXED:
        return at + first if first <= end - at else REFUSED
    number, at = long_at(data, at, end)
    if at < 0 or kind == LONG:
        return at
    if kind == ENUM:
        return at if 0 <= number < first else REFUSED
    if kind == KEEP_LONG:
        spans[first, KIND], spans[first, START] = c.OTHER, number
        return at
    if not 0 <= number <= end - at:
        return REFUSED
    if kind == KEEP_BYTES:
        spans[first, KIND], spans[first, START], spans[first, END_OF_PART] = c.TEXT, at, at + number
    return at + number


@part
def _keep(at: int, kind: int, role: int, spans: np.ndarray) -> None:
    if kind == BEGIN:
        spans[role, START] = at
    elif kind == FINISH:
        spans[role, KIND], spans[role, END_OF_PART] = c.TEXT, at
    else:
        spans[role, KIND] = c.OTHER


@part
def _chosen(data: np.ndarray, at: int, end: int, program: AvroProgram, step: int) -> tuple[int, int]:
    """The end of the number of a union's branch, and the first step of that branch.

    The reference assumes that the number takes one byte where it needs the bytes after it, so longer
    spellings are left to it.
    """
    if at >= end or data[at] >= _MORE:
        return REFUSED, step
    number, after = long_at(data, at, end)
    if not 0 <= number < program.steps[step, 1]:
        return REFUSED, step
    return after, program.branch_starts[program.steps[step, 2] + number]


@part
def _run_of_items(data: np.ndarray, at: int, end: int) -> tuple[int, int]:
    """The end of an item count (followed by the items' size if it is negative), and the count itself."""
    count, at = long_at(data, at, end)
    if at >= 0 and count < 0:
        _, at = long_at(data, at, end)
        count = -count
    return (at, count) if at >= 0 and count >= 0 else (REFUSED, 0)
