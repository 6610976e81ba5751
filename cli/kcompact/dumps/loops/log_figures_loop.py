"""Figures of each log (counts, bounds, runs of offsets), in one pass over rows of several logs."""

import numpy as np
from numba import types

from kcompact.dumps.loops.compiling import array_type, int64, loop, part

# Columns of ``figures``; RUN_START and RUN_END are of the run that is still open.
RECORDS, RECORD_BYTES, FIRST_OFFSET, LAST_OFFSET, ASCENDING, TOMBSTONES = range(6)
MIN_TIMESTAMP, MAX_TIMESTAMP, LOG_BYTES, RUN_START, RUN_END = range(6, 11)
FIGURES = 11
# Places of ``state``.
LOGS, RUNS = range(2)
SLOTS_PER_LOG = 2

_UNKNOWN = -1

_SIGNATURE = types.int64(
    array_type(types.int64),
    array_type(types.int64),
    array_type(types.int64),
    array_type(types.int32),
    array_type(types.int32),
    array_type(types.bool_),
    types.int64,
    array_type(types.int64, written=True),
    array_type(types.int64, 2, written=True),
    array_type(types.int32, written=True),
    array_type(types.int64, 2, written=True),
    array_type(types.int64, written=True),
)


@part
def _number_of(log_id: int, logs: np.ndarray, slots: np.ndarray, state: np.ndarray) -> int:
    """The number of a log; a new one gets the next number. _UNKNOWN if there is no room for it."""
    mask = len(slots) - 1
    slot = log_id & mask  # log ids are hashes
    while slots[slot] != 0:
        if logs[slots[slot] - 1] == log_id:
            return slots[slot] - 1
        slot = (slot + 1) & mask
    number = state[LOGS]
    if number == len(logs):
        return _UNKNOWN
    logs[number] = log_id
    state[LOGS] = slots[slot] = number + 1
    return int64(number)


@part
def _start(figures: np.ndarray, number: int, offset: int) -> None:
    for figure in range(FIGURES):
        figures[number, figure] = 0
    figures[number, FIRST_OFFSET], figures[number, LAST_OFFSET] = offset, offset - 1
    figures[number, RUN_START] = figures[number, RUN_END] = offset
    figures[number, ASCENDING] = 1
    figures[number, MIN_TIMESTAMP] = figures[number, MAX_TIMESTAMP] = -1


@part
def _count_offset(figures: np.ndarray, number: int, offset: int, runs: np.ndarray, state: np.ndarray) -> None:
    if offset <= figures[number, LAST_OFFSET]:
        figures[number, ASCENDING] = 0
        figures[number, FIRST_OFFSET] = min(figures[number, FIRST_OFFSET], offset)
    else:
        figures[number, LAST_OFFSET] = offset
    if offset != figures[number, RUN_END]:
        run = state[RUNS]
        runs[run, 0], runs[run, 1] = number, figures[number, RUN_START]
        runs[run, 2] = figures[number, RUN_END]
        state[RUNS] = run + 1
        figures[number, RUN_START] = offset
    figures[number, RUN_END] = offset + 1


@part
def _count_timestamp(figures: np.ndarray, number: int, timestamp: int) -> None:
    if timestamp < 0:
        return
    figures[number, MAX_TIMESTAMP] = max(figures[number, MAX_TIMESTAMP], timestamp)
    if figures[number, MIN_TIMESTAMP] < 0 or timestamp < figures[number, MIN_TIMESTAMP]:
        figures[number, MIN_TIMESTAMP] = timestamp


@loop(_SIGNATURE)
def count_rows(
    log_ids: np.ndarray,
    offsets: np.ndarray,
    timestamps: np.ndarray,
    record_bytes: np.ndarray,
    log_bytes: np.ndarray,
    is_tombstone: np.ndarray,
    first: int,
    logs: np.ndarray,
    figures: np.ndarray,
    slots: np.ndarray,
    runs: np.ndarray,
    state: np.ndarray,
) -> int:
    """Count rows from ``first`` on; return the index of the first one whose log there is no room for.

    * ``log_bytes``: empty if nobody asks for them.
    * ``logs``, ``figures``: the id of each log, and its row of figures.
    * ``slots``: a hash table of the numbers of logs from 1 on, of a length that is a power of two.
    * ``runs``: gets (number of the log, start, end) of each run of consecutive offsets that has ended; it has
      room for as many as there are rows.
    """
    for at in range(first, len(log_ids)):
        logs_before = state[LOGS]
        number = _number_of(log_ids[at], logs, slots, state)
        if number == _UNKNOWN:
            return at
        if number == logs_before:
            _start(figures, number, offsets[at])
        figures[number, RECORDS] += 1
        figures[number, RECORD_BYTES] += record_bytes[at]
        figures[number, TOMBSTONES] += is_tombstone[at]
        if len(log_bytes):
            figures[number, LOG_BYTES] += log_bytes[at]
        _count_offset(figures, number, offsets[at], runs, state)
        _count_timestamp(figures, number, timestamps[at])
    return len(log_ids)
