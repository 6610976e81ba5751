"""A loop over the records of unpacked Avro blocks, by the steps of ``avro_program``.

It stops at a record that it does not accept in full, as only the reference knows where that record ends.
"""

from typing import NamedTuple

import numpy as np
from numba import types

from kcompact.digits import LARGEST_OFFSET
from kcompact.dumps.loops import columns as c
from kcompact.dumps.loops.avro.avro_program import (
    HEADERS,
    KEY,
    OFFSET,
    PARTITION,
    TIMESTAMP,
    TOPIC,
    VALUE,
    AvroProgram,
)
from kcompact.dumps.loops.avro.avro_record import (
    END_OF_PART,
    KIND,
    START,
    is_ascii,
    record_end,
    written_number,
)
from kcompact.dumps.loops.columns import Columns
from kcompact.dumps.loops.compiling import loop, part
from kcompact.dumps.loops.fields import (
    BYTES,
    COLUMNS,
    LARGEST_PARTITION,
    NUMBERS,
    TABLE,
    copied,
    is_lossy,
    topic_number,
)

# Places of ``rules``.
BYTE_EXACT, TOPIC_NEEDED, WHOLE_VALUE, CONTENTS = range(4)
RULES = 4


class UnpackedBlocks(NamedTuple):
    """Blocks side by side in one buffer: the start and end of each, and its number of records.

    ``bases`` are the index positions of each block's first record.
    """

    starts: np.ndarray
    ends: np.ndarray
    counts: np.ndarray
    bases: np.ndarray


_BLOCKS = types.NamedUniTuple(NUMBERS, 4, UnpackedBlocks)
_PROGRAM = types.NamedTuple([TABLE, NUMBERS, types.int64], AvroProgram)


@part
def _clear(spans: np.ndarray, rules: np.ndarray) -> None:
    for role in range(len(spans)):
        spans[role, KIND] = c.NULL
        spans[role, START] = spans[role, END_OF_PART] = 0
    if rules[WHOLE_VALUE]:
        spans[VALUE, KIND] = c.OTHER


@part
def _fill(data: np.ndarray, spans: np.ndarray, row: int, rules: np.ndarray, out: Columns) -> bool:
    """Fill in a row; False where only the reference knows what the record says."""
    return (
        _fill_numbers(spans, row, out)
        and _fill_topic(data, spans, row, rules, out)
        and _fill_value(spans, row, rules, out)
        and _fill_key(data, spans, row, rules, out)
    )


@part
def _fill_numbers(spans: np.ndarray, row: int, out: Columns) -> bool:
    partition, timestamp, clock = -1, -1, spans[TIMESTAMP, KIND]
    if spans[PARTITION, KIND] == c.OTHER:
        partition = spans[PARTITION, START]
        if not 0 <= partition <= LARGEST_PARTITION:
            return False
    if clock == c.OTHER:
        timestamp = max(-1, spans[TIMESTAMP, START])
    out.numbers[c.OFFSET, row], out.numbers[c.PARTITION, row] = spans[OFFSET, START], partition
    out.numbers[c.TIMESTAMP, row], out.numbers[c.CLOCK, row] = timestamp, clock
    return spans[OFFSET, KIND] == c.OTHER and 0 <= spans[OFFSET, START] <= LARGEST_OFFSET


@part
def _fill_topic(data: np.ndarray, spans: np.ndarray, row: int, rules: np.ndarray, out: Columns) -> bool:
    out.numbers[c.TOPIC, row] = 0
    if spans[TOPIC, KIND] == c.NULL:
        return rules[TOPIC_NEEDED] == 0
    last = out.numbers[c.TOPIC, row - 1] if row > 0 else 0
    start, end = spans[TOPIC, START], spans[TOPIC, END_OF_PART]
    number = topic_number(data, start, end, row, out)
    out.numbers[c.TOPIC, row] = number
    return number >= 0 and (number == last or is_ascii(data, start, end))


@part
def _fill_value(spans: np.ndarray, row: int, rules: np.ndarray, out: Columns) -> bool:
    numbers, value, headers = out.numbers, spans[VALUE], spans[HEADERS]
    numbers[c.VALUE_KIND, row], numbers[c.FLAGS, row] = value[KIND], 0
    numbers[c.VALUE_START, row], numbers[c.VALUE_END, row] = value[START], value[END_OF_PART]
    numbers[c.HEADERS_START, row], numbers[c.HEADERS_END, row] = headers[START], headers[END_OF_PART]
    # Headers that take no bytes are left to the reference, as columns show them like none.
    return rules[CONTENTS] == 0 or headers[KIND] == c.NULL or headers[END_OF_PART] > headers[START]


@part
def _fill_key(data: np.ndarray, spans: np.ndarray, row: int, rules: np.ndarray, out: Columns) -> bool:
    kind, at = spans[KEY, KIND], out.state[c.KEY_BYTES]
    after = at
    if kind == c.OTHER:
        kind, after = c.TEXT, written_number(spans[KEY, START], out.keys, at)
    elif kind == c.TEXT:
        after = copied(data, spans[KEY, START], spans[KEY, END_OF_PART], out.keys, at)
    if after < 0 or (rules[BYTE_EXACT] == 0 and is_lossy(out.keys, at, after)):
        return False
    out.numbers[c.KEY_KIND, row] = kind
    out.state[c.KEY_BYTES] = after
    return True


@loop(types.void(BYTES, _BLOCKS, _PROGRAM, TABLE, NUMBERS, TABLE, COLUMNS))
def scan_avro_blocks(
    data: np.ndarray,
    blocks: UnpackedBlocks,
    program: AvroProgram,
    stack: np.ndarray,
    rules: np.ndarray,
    spans: np.ndarray,
    out: Columns,
) -> None:
    """Read records of blocks until the columns are full, or a record is refused.

    Bytes left over after a block's records are refused, too; ``state[REFUSALS]`` is 1 for either.
    """
    state, row = out.state, 0
    at, block, records = state[c.AT], state[c.BLOCK], state[c.DONE]
    state[c.KEY_BYTES] = state[c.REFUSALS] = 0
    while block < len(blocks.starts) and row < out.numbers.shape[1]:
        if records == blocks.counts[block]:
            if at != blocks.ends[block]:
                state[c.REFUSALS] = 1
                break
            block += 1
            records = 0
            at = blocks.starts[block] if block < len(blocks.starts) else at
            continue
        _clear(spans, rules)
        after = record_end(data, at, blocks.ends[block], program, stack, spans)
        if after < 0 or not _fill(data, spans, row, rules, out):
            state[c.REFUSALS] = 1
            break
        start = blocks.bases[block] + at - blocks.starts[block]
        out.numbers[c.START, row], out.numbers[c.END, row] = start, start + after - at
        row += 1
        records += 1
        out.key_ends[row] = state[c.KEY_BYTES]
        at = after
    state[c.AT], state[c.ROWS], state[c.BLOCK], state[c.DONE] = at, row, block, records
