"""Key bytes, gathered from the lines of a window into one Arrow array."""

import numpy as np
import pyarrow as pa

from kcompact.dumps.line_window import LineWindow


def gather_keys(window: LineWindow, starts: np.ndarray, lengths: np.ndarray) -> pa.Array:
    """The bytes from ``starts`` on as a binary array; a length of -1 is null.

    Starts ascend, but for lengths that are not positive. Arrow copies: seen as an array of keys and what lies
    between them, every second element is wanted.
    """
    if not len(starts):
        return pa.array([], pa.binary())
    bounds = np.empty(2 * len(starts) + 1, np.int64)
    bounds[:-1:2] = np.maximum.accumulate(starts)
    bounds[1::2] = bounds[:-1:2] + np.maximum(lengths, 0)
    bounds[-1] = bounds[-2]
    buffers = [None, pa.py_buffer(bounds), pa.py_buffer(window.data)]
    ranges = pa.Array.from_buffers(pa.large_binary(), 2 * len(starts), buffers)
    wanted = pa.array(np.arange(0, 2 * len(starts), 2), mask=lengths < 0)
    return ranges.take(wanted).cast(pa.binary())


def replace_keys(keys: pa.Array, lines: np.ndarray, others: dict[int, bytes | None]) -> pa.Array:
    """The keys of ``lines`` (ascending line numbers), but for lines that ``others`` tells the keys of."""
    numbers = np.array(sorted(others), np.int64)
    numbers = numbers[np.isin(numbers, lines)]
    if not len(numbers):
        return keys
    places = np.arange(len(lines))
    places[np.searchsorted(lines, numbers)] = len(lines) + np.arange(len(numbers))
    told = pa.array([others[number] for number in numbers.tolist()], pa.binary())
    return pa.concat_arrays([keys, told]).take(pa.array(places))
