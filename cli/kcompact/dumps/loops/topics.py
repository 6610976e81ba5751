"""Topics by number: nearly every record has the topic of the one before."""

import numpy as np

from kcompact.dumps.loops import columns as c
from kcompact.dumps.loops.compiling import part

REFUSED = -1


@part
def topic_number(
    data: np.ndarray, start: int, end: int, last: int, topics: np.ndarray, ends: np.ndarray, state: np.ndarray
) -> int:
    """The number of the topic that a range spells, which may be new; REFUSED where there are too many."""
    if last > 0 and _is_topic(data, start, end, last, topics, ends):
        return last
    count = state[c.TOPICS]
    for number in range(1, count):
        if _is_topic(data, start, end, number, topics, ends):
            return number
    at = ends[count - 1]
    if count == c.MOST_TOPICS or end - start > len(topics) - at:
        return REFUSED
    for place in range(start, end):
        topics[at] = data[place]
        at += 1
    ends[count] = at
    state[c.TOPICS] = count + 1
    return count


@part
def _is_topic(
    data: np.ndarray, start: int, end: int, number: int, topics: np.ndarray, ends: np.ndarray
) -> bool:
    first = ends[number - 1]
    if ends[number] - first != end - start:
        return False
    for place in range(end - start):
        if data[start + place] != topics[first + place]:
            return False
    return True
