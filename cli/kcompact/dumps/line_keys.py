"""Key bytes, gathered from the lines of a window into one Arrow array."""

import numpy as np
import pyarrow as pa

from kcompact.dumps.line_window import LineWindow


def gather_keys(window: LineWindow, starts: np.ndarray, lengths: np.ndarray) -> pa.Array:
    """The bytes from ``starts`` on as a binary array; a length of -1 is null."""
    sizes = np.maximum(lengths, 0)
    offsets = np.zeros(len(lengths) + 1, np.int32)
    np.cumsum(sizes, out=offsets[1:])
    width = -(-int(sizes.max(initial=1)) // 8) * 8
    cells = window.gather(starts, width).view(np.uint8).reshape(len(starts), width)
    data = cells[np.arange(width) < sizes[:, None]]
    is_null = lengths < 0
    nulls = int(np.count_nonzero(is_null))
    valid = pa.py_buffer(np.packbits(~is_null, bitorder="little")) if nulls else None
    buffers = [valid, pa.py_buffer(offsets), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.binary(), len(lengths), buffers, nulls)


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
