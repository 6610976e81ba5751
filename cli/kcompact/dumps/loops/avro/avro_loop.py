"""Records of unpacked Avro blocks, one after the other, by the steps of ``avro_program``.

A record that is not accepted in full stops the loop: nobody but the reference knows where it ends.
"""

import numpy as np

from kcompact.digits import LARGEST_OFFSET
from kcompact.dumps.loops import columns as c
from kcompact.dumps.loops.avro.avro_program import HEADERS, KEY, OFFSET, PARTITION, TIMESTAMP, TOPIC, VALUE
from kcompact.dumps.loops.avro.avro_record import END_OF_PART, KIND, START, record_end
from kcompact.dumps.loops.avro.avro_values import is_ascii, written_number
from kcompact.dumps.loops.compiling import loop, part
from kcompact.dumps.loops.fields import copied, is_lossy
from kcompact.dumps.loops.topics import topic_number

# Places of ``rules``.
BYTE_EXACT, TOPIC_NEEDED, WHOLE_VALUE, CONTENTS = range(4)
RULES = 4
_LARGEST_PARTITION = 2**31 - 1

_SIGNATURE = (
    "void(uint8[::1], int64[::1], int64[::1], int64[::1], int64[::1], int64[:, ::1], int64[::1],"
    " int64[:, ::1], int64[::1], int64[:, ::1], uint8[::1], int32[::1], uint8[::1], int64[::1], int64[::1],"
    " int64[:, ::1])"
)


@part
def _clear(spans: np.ndarray, rules: np.ndarray) -> None:
    for role in range(len(spans)):
        spans[role, KIND] = c.NULL
        spans[role, START] = spans[role, END_OF_PART] = 0
    if rules[WHOLE_VALUE]:
        spans[VALUE, KIND] = c.OTHER


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
    partition, timestamp, clock = -1, -1, spans[TIMESTAMP, KIND]
    if spans[PARTITION, KIND] == c.OTHER:
        partition = spans[PARTITION, START]
        if not 0 <= partition <= _LARGEST_PARTITION:
            return False
    if clock == c.OTHER:
        timestamp = max(-1, spans[TIMESTAMP, START])
    numbers[c.OFFSET, row], numbers[c.PARTITION, row] = spans[OFFSET, START], partition
    numbers[c.TIMESTAMP, row], numbers[c.CLOCK, row] = timestamp, clock
    return spans[OFFSET, KIND] == c.OTHER and 0 <= spans[OFFSET, START] <= LARGEST_OFFSET


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
    if spans[TOPIC, KIND] == c.NULL:
        return rules[TOPIC_NEEDED] == 0
    last = numbers[c.TOPIC, row - 1] if row > 0 else 0
    start, end = spans[TOPIC, START], spans[TOPIC, END_OF_PART]
    number = topic_number(data, start, end, last, topics, topic_ends, state)
    numbers[c.TOPIC, row] = number
    return number >= 0 and (number == last or is_ascii(data, start, end))


@part
def _fill_value(spans: np.ndarray, row: int, rules: np.ndarray, numbers: np.ndarray) -> bool:
    numbers[c.VALUE_KIND, row], numbers[c.FLAGS, row] = spans[VALUE, KIND], 0
    numbers[c.VALUE_START, row], numbers[c.VALUE_END, row] = spans[VALUE, START], spans[VALUE, END_OF_PART]
    start, end = spans[HEADERS, START], spans[HEADERS, END_OF_PART]
    numbers[c.HEADERS_START, row], numbers[c.HEADERS_END, row] = start, end
    # Headers that take no bytes are not the same as none.
    return rules[CONTENTS] == 0 or spans[HEADERS, KIND] == c.NULL or end > start


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
    kind, at = spans[KEY, KIND], state[c.KEY_BYTES]
    after = at
    if kind == c.OTHER:
        kind, after = c.TEXT, written_number(spans[KEY, START], keys, at)
    elif kind == c.TEXT:
        after = copied(data, spans[KEY, START], spans[KEY, END_OF_PART], keys, at)
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

    Or until one is refused, or bytes are left over after a block's records: then a refusal is counted.
    ``bases`` are positions in the dump, of each block's first record.
    """
    at, row, block, records = state[c.AT], 0, state[c.BLOCK], state[c.DONE]
    state[c.KEY_BYTES] = state[c.REFUSALS] = 0
    while block < len(starts) and row < numbers.shape[1]:
        if records == counts[block]:
            if at != ends[block]:
                state[c.REFUSALS] = 1
                break
            block += 1
            records = 0
            at = starts[block] if block < len(starts) else at
            continue
        _clear(spans, rules)
        after = record_end(data, at, ends[block], steps, branch_starts, stack, spans)
        if after < 0 or not _fill(data, spans, row, rules, numbers, keys, topics, topic_ends, state):
            state[c.REFUSALS] = 1
            break
        start = bases[block] + at - starts[block]
        numbers[c.START, row], numbers[c.END, row] = start, start + after - at
        row += 1
        records += 1
        key_ends[row] = state[c.KEY_BYTES]
        at = after
    state[c.AT], state[c.ROWS], state[c.BLOCK], state[c.DONE] = at, row, block, records
