"""The offset map: the latest record of each (log, key), by a hash of the key as in Kafka's SkimpyOffsetMap.

The hash is SipHash-1-3 of 128 bits, with a secret of its own in each task, so that nobody can make a dump in
which two keys have the same hash. Memory is prefetched for ROWS_AT_A_TIME rows at once: otherwise most of the
time would be spent waiting for it.
"""

import numpy as np
from numba import types

from kcompact.dumps.loops.compiling import array_type, int64, loop, part
from kcompact.dumps.loops.fields import copied
from kcompact.dumps.loops.hash_loops import hash_of
from kcompact.dumps.loops.words import prefetched

# The first columns of ``groups``; the columns of rows follow.
HASH, MORE_HASH = range(2)
FIRST_COLUMN = 2
LOG_ID = 0  # of rows
KEPT, SUM, MIN, MAX, LATEST, SECOND = range(6)  # how two rows of a key are merged, column by column
# Places of ``state``.
GROUPS, KEY_BYTES = range(2)
ROWS_AT_A_TIME = 128
SLOTS_PER_GROUP = 2

_LOW, _HALF = np.uint64(0xFFFFFFFF), np.uint64(32)
_ONE, _FREE = np.uint64(1), np.uint64(0)

_SIGNATURE = types.int64(
    array_type(types.uint8),
    array_type(types.int32),
    array_type(types.int64, 2),
    types.int64,
    array_type(types.int64),
    types.int64,
    array_type(types.int64),
    array_type(types.int64, 2, written=True),
    array_type(types.uint64),
    array_type(types.int64, 2, written=True),
    array_type(types.uint64, written=True),
    array_type(types.int32, written=True),
    array_type(types.uint8, written=True),
    array_type(types.uint64, 2, written=True),
    array_type(types.int64, written=True),
)


@part
def _group_slot(slots: np.ndarray, groups: np.ndarray, word: np.uint64, more: np.uint64) -> tuple[int, int]:
    """The group with this hash, or -1, and the slot that holds its number or is free for it."""
    mask = np.uint64(len(slots) - 1)
    slot = word & mask
    while slots[slot] != _FREE:
        if slots[slot] >> _HALF == word >> _HALF:
            group = int64(slots[slot] & _LOW) - 1
            if np.uint64(groups[group, HASH]) == word and np.uint64(groups[group, MORE_HASH]) == more:
                return group, int64(slot)
        slot = (slot + _ONE) & mask
    return -1, int64(slot)


@part
def _hash_rows(
    keys: np.ndarray,
    key_offsets: np.ndarray,
    rows: np.ndarray,
    first: int,
    stop: int,
    secret: np.ndarray,
    slots: np.ndarray,
    groups: np.ndarray,
    hashes: np.ndarray,
) -> None:
    """Compute the hashes of rows [first, stop), and prefetch their slots and groups."""
    mask = np.uint64(len(slots) - 1)
    for at in range(first, stop):
        log_id = np.uint64(rows[LOG_ID, at])
        word, more = hash_of(keys, key_offsets[at], key_offsets[at + 1], log_id, secret)
        hashes[at - first, 0], hashes[at - first, 1] = word, more
        prefetched(slots, int64(word & mask))
    for at in range(first, stop):
        slot = slots[hashes[at - first, 0] & mask]
        if slot != _FREE:
            prefetched(groups, int64(slot & _LOW) - 1)


@part
def _merge(
    groups: np.ndarray,
    group: int,
    rows: np.ndarray,
    at: int,
    rules: np.ndarray,
    last_offset: int,
    fields: np.ndarray,
    before: np.ndarray,
) -> None:
    """Merge a row into its group, and store the group's ``fields`` before that in ``before``.

    The latest record is the one with the greatest offset.
    """
    for place in range(len(fields)):
        before[place, at] = groups[group, FIRST_COLUMN + fields[place]]
    known_offset, new_offset = groups[group, FIRST_COLUMN + last_offset], rows[last_offset, at]
    is_latest = new_offset >= known_offset
    for column in range(len(rules)):
        rule, old, new = rules[column], groups[group, FIRST_COLUMN + column], rows[column, at]
        if rule == SUM:
            old += new
        elif rule == SECOND:
            old = max(old, new, min(known_offset, new_offset))
        elif (rule == LATEST and is_latest) or (rule == MAX and new > old) or (rule == MIN and new < old):
            old = new
        groups[group, FIRST_COLUMN + column] = old


@part
def _is_added(
    keys: np.ndarray,
    key_offsets: np.ndarray,
    rows: np.ndarray,
    at: int,
    word: np.uint64,
    more: np.uint64,
    columns: int,
    groups: np.ndarray,
    key_ends: np.ndarray,
    key_bytes: np.ndarray,
    state: np.ndarray,
) -> bool:
    """Add a group with the key, hash and columns of a row; return False if there is no room for it."""
    group, place, start, end = state[GROUPS], state[KEY_BYTES], key_offsets[at], key_offsets[at + 1]
    if group == len(groups) or end - start > len(key_bytes) - place:
        return False
    place = copied(keys, start, end, key_bytes, place)
    key_ends[group + 1], state[KEY_BYTES], state[GROUPS] = place, place, group + 1
    groups[group, HASH], groups[group, MORE_HASH] = int64(word), int64(more)
    for column in range(columns):
        groups[group, FIRST_COLUMN + column] = rows[column, at]
    return True


@loop(_SIGNATURE)
def put_rows(
    keys: np.ndarray,
    key_offsets: np.ndarray,
    rows: np.ndarray,
    first: int,
    rules: np.ndarray,
    last_offset: int,
    fields: np.ndarray,
    before: np.ndarray,
    secret: np.ndarray,
    groups: np.ndarray,
    slots: np.ndarray,
    key_ends: np.ndarray,
    key_bytes: np.ndarray,
    hashes: np.ndarray,
    state: np.ndarray,
) -> int:
    """Merge rows into the map from ``first`` on; return the index of the first one that it has no room for.

    The key of row i is ``keys[key_offsets[i]:key_offsets[i + 1]]``; that of group i ends in ``key_bytes`` at
    ``key_ends[i + 1]``. ``rules`` says how each column is merged; column ``last_offset`` has the offsets.
    ``before`` gets the columns ``fields`` of each row's group as they were before the row. ``slots``, of a
    length that is a power of two, have 32 bits of the hash above a group's number, which is from 1 on.
    """
    while first < rows.shape[1]:
        stop = min(first + ROWS_AT_A_TIME, rows.shape[1])
        _hash_rows(keys, key_offsets, rows, first, stop, secret, slots, groups, hashes)
        for at in range(first, stop):
            word, more = hashes[at - first, 0], hashes[at - first, 1]
            group, free = _group_slot(slots, groups, word, more)
            if group >= 0:
                _merge(groups, group, rows, at, rules, last_offset, fields, before)
            elif _is_added(
                keys, key_offsets, rows, at, word, more, len(rules), groups, key_ends, key_bytes, state
            ):
                slots[free] = ((word >> _HALF) << _HALF) | np.uint64(state[GROUPS])
            else:
                return at
        first = stop
    return first
