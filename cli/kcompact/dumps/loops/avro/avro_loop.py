"""Records of unpacked Avro blocks, one after the other, by the steps of ``avro_program``.

A record that is not accepted in full stops the loop: nobody but the reference knows where it ends.
"""

import numpy as np

from kcompact.digits import LARGEST_OFFSET
from kcompact.dumps.loops import columns as c
from kcompact.dumps.loops.avro.avro_program import (
    BEGIN,
    END,
    ENUM,
    FINISH,
    FIXED,
    HEADERS,
    ITEMS,
    JUMP,
    KEEP_BYTES,
    KEEP_LONG,
    KEY,
    LONG,
    NEXT_ITEM,
    OFFSET,
    PARTITION,
    RETURN,
    THERE,
    TIMESTAMP,
    TOPIC,
    UNION,
    VALUE,
)
from kcompact.dumps.loops.avro.avro_values import REFUSED, is_ascii, long_at, written_number
from kcompact.dumps.loops.compiling import int64, loop, part
from kcompact.dumps.loops.fields import copied, is_lossy
from kcompact.dumps.loops.topics import topic_number

# Columns of ``spans``, which has a row for each part of a record: NULL, OTHER (a number, at _START) or TEXT.
_KIND, _START, _END = range(3)
SPAN_FACTS = 3
# Places of ``rules``.
BYTE_EXACT, TOPIC_NEEDED, WHOLE_VALUE, CONTENTS = range(4)
RULES = 4
_LARGEST_PARTITION = 2**31 - 1
_MORE = 0x80  # set in all bytes of a long but the last

_SIGNATURE = (
    "void(uint8[::1], int64[::1], int64[::1], int64[::1], int64[::1], int64[:, ::1], int64[::1],"
    " int64[:, ::1], int64[::1], int64[:, ::1], uint8[::1], int32[::1], uint8[::1], int64[::1], int64[::1],"
    " int64[:, ::1])"
)


@part
def _clear(spans: np.ndarray, rules: np.ndarray) -> None:
    for role in range(len(spans)):
        spans[role, _KIND] = c.NULL
        spans[role, _START] = spans[role, _END] = 0
    if rules[WHOLE_VALUE]:
        spans[VALUE, _KIND] = c.OTHER


@part
def _record_end(
    data: np.ndarray,
    at: int,
    end: int,
    steps: np.ndarray,
    branch_starts: np.ndarray,
    stack: np.ndarray,
    spans: np.ndarray,
) -> int:
    """Behind the record that starts at ``at`` of a block that ends at ``end``; ``spans`` learn its parts."""
    step, depth = 0, 0
    while True:
        kind, first = steps[step, 0], steps[step, 1]
        if kind <= KEEP_BYTES:
            at = _field_end(data, at, end, kind, first, spans)
            step += 1
        elif kind <= THERE:
            _keep(at, kind, first, spans)
            step += 1
        elif kind == UNION:
            at, step = _chosen(data, at, end, steps, branch_starts, step)
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
    """Behind a step that leads to ``first`` or elsewhere: the next step, and how much is open then."""
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
    """Behind a field: ``first`` is its size, its number of symbols, or the part of the record that it is."""
    if kind == FIXED:
        return at + first if first <= end - at else REFUSED
    number, at = long_at(data, at, end)
    if at < 0 or kind == LONG:
        return at
    if kind == ENUM:
        return at if 0 <= number < first else REFUSED
    if kind == KEEP_LONG:
        spans[first, _KIND], spans[first, _START] = c.OTHER, number
        return at
    if not 0 <= number <= end - at:
        return REFUSED
    if kind == KEEP_BYTES:
        spans[first, _KIND], spans[first, _START], spans[first, _END] = c.TEXT, at, at + number
    return at + number


@part
def _keep(at: int, kind: int, role: int, spans: np.ndarray) -> None:
    if kind == BEGIN:
        spans[role, _START] = at
    elif kind == FINISH:
        spans[role, _KIND], spans[role, _END] = c.TEXT, at
    else:
        spans[role, _KIND] = c.OTHER


@part
def _chosen(
    data: np.ndarray, at: int, end: int, steps: np.ndarray, branch_starts: np.ndarray, step: int
) -> tuple[int, int]:
    """Behind the number of a union's branch, and the step that the branch starts with.

    The reference cuts a single byte off where it needs the bytes behind it: longer spellings are left to it.
    """
    if at >= end or data[at] >= _MORE:
        return REFUSED, step
    number, after = long_at(data, at, end)
    if not 0 <= number < steps[step, 1]:
        return REFUSED, step
    return after, branch_starts[steps[step, 2] + number]


@part
def _run_of_items(data: np.ndarray, at: int, end: int) -> tuple[int, int]:
    """Behind the number of items that follow (and, where it is negative, their size), and that number."""
    count, at = long_at(data, at, end)
    if at >= 0 and count < 0:
        _, at = long_at(data, at, end)
        count = -count
    return (at, count) if at >= 0 and count >= 0 else (REFUSED, 0)


@part
def _fill(
    data: np.ndarray,
    spans: np.ndarray,
    row: int,
    rules: np.ndarray,
    numbers: np.ndarray,
    keys: np.ndarray,
    topics: np.ndarray,
    topic_ends: np.ndarray,
    state: np.ndarray,
) -> bool:
    """Fill in a row; False where only the reference knows what the record says."""
    return (
        _fill_numbers(spans, row, numbers)
        and _fill_topic(data, spans, row, rules, numbers, topics, topic_ends, state)
        and _fill_value(spans, row, rules, numbers)
        and _fill_key(data, spans, row, rules, numbers, keys, state)
    )


@part
def _fill_numbers(spans: np.ndarray, row: int, numbers: np.ndarray) -> bool:
    partition, timestamp, clock = -1, -1, spans[TIMESTAMP, _KIND]
    if spans[PARTITION, _KIND] == c.OTHER:
        partition = spans[PARTITION, _START]
        if not 0 <= partition <= _LARGEST_PARTITION:
            return False
    if clock == c.OTHER:
        timestamp = max(-1, spans[TIMESTAMP, _START])
    numbers[c.OFFSET, row], numbers[c.PARTITION, row] = spans[OFFSET, _START], partition
    numbers[c.TIMESTAMP, row], numbers[c.CLOCK, row] = timestamp, clock
    return spans[OFFSET, _KIND] == c.OTHER and 0 <= spans[OFFSET, _START] <= LARGEST_OFFSET


@part
def _fill_topic(
    data: np.ndarray,
    spans: np.ndarray,
    row: int,
    rules: np.ndarray,
    numbers: np.ndarray,
    topics: np.ndarray,
    topic_ends: np.ndarray,
    state: np.ndarray,
) -> bool:
    numbers[c.TOPIC, row] = 0
    if spans[TOPIC, _KIND] == c.NULL:
        return rules[TOPIC_NEEDED] == 0
    last = numbers[c.TOPIC, row - 1] if row > 0 else 0
    start, end = spans[TOPIC, _START], spans[TOPIC, _END]
    number = topic_number(data, start, end, last, topics, topic_ends, state)
    numbers[c.TOPIC, row] = number
    return number >= 0 and (number == last or is_ascii(data, start, end))


@part
def _fill_value(spans: np.ndarray, row: int, rules: np.ndarray, numbers: np.ndarray) -> bool:
    numbers[c.VALUE_KIND, row], numbers[c.FLAGS, row] = spans[VALUE, _KIND], 0
    numbers[c.VALUE_START, row], numbers[c.VALUE_END, row] = spans[VALUE, _START], spans[VALUE, _END]
    start, end = spans[HEADERS, _START], spans[HEADERS, _END]
    numbers[c.HEADERS_START, row], numbers[c.HEADERS_END, row] = start, end
    # Headers that take no bytes are not the same as none.
    return rules[CONTENTS] == 0 or spans[HEADERS, _KIND] == c.NULL or end > start


@part
def _fill_key(
    data: np.ndarray,
    spans: np.ndarray,
    row: int,
    rules: np.ndarray,
    numbers: np.ndarray,
    keys: np.ndarray,
    state: np.ndarray,
) -> bool:
    kind, at = spans[KEY, _KIND], state[c.KEY_BYTES]
    after = at
    if kind == c.OTHER:
        kind, after = c.TEXT, written_number(spans[KEY, _START], keys, at)
    elif kind == c.TEXT:
        after = copied(data, spans[KEY, _START], spans[KEY, _END], keys, at)
    if after < 0 or (rules[BYTE_EXACT] == 0 and is_lossy(keys, at, after)):
        return False
    numbers[c.KEY_KIND, row] = kind
    state[c.KEY_BYTES] = after
    return True


@loop(_SIGNATURE)
def scan_avro_blocks(
    data: np.ndarray,
    starts: np.ndarray,
    ends: np.ndarray,
    counts: np.ndarray,
    bases: np.ndarray,
    steps: np.ndarray,
    branch_starts: np.ndarray,
    stack: np.ndarray,
    rules: np.ndarray,
    numbers: np.ndarray,
    keys: np.ndarray,
    key_ends: np.ndarray,
    topics: np.ndarray,
    topic_ends: np.ndarray,
    state: np.ndarray,
    spans: np.ndarray,
) -> None:
    """Read records of the blocks [starts, ends), of so many ``counts``, until the columns are full.

    Or until one is refused, or bytes are left over behind a block's records: then a refusal is counted.
    ``bases`` are positions in the dump, of each block's first record.
    """
    at, row, block, done = state[c.AT], 0, state[c.BLOCK], state[c.DONE]
    state[c.KEY_BYTES] = state[c.REFUSALS] = 0
    while block < len(starts) and row < numbers.shape[1]:
        if done == counts[block]:
            if at != ends[block]:
                state[c.REFUSALS] = 1
                break
            block += 1
            done = 0
            at = starts[block] if block < len(starts) else at
            continue
        _clear(spans, rules)
        after = _record_end(data, at, ends[block], steps, branch_starts, stack, spans)
        if after < 0 or not _fill(data, spans, row, rules, numbers, keys, topics, topic_ends, state):
            state[c.REFUSALS] = 1
            break
        start = bases[block] + at - starts[block]
        numbers[c.START, row], numbers[c.END, row] = start, start + after - at
        row += 1
        done += 1
        key_ends[row] = state[c.KEY_BYTES]
        at = after
    state[c.AT], state[c.ROWS], state[c.BLOCK], state[c.DONE] = at, row, block, done
