"""The arrays that loops fill: columns of numbers about the records that they read, and the bytes of keys."""

from typing import NamedTuple

import numpy as np

# Rows of one call: few, so that columns stay small. With a power of two, all columns would compete for the
# same part of the processor's cache.
MOST_ROWS = (1 << 15) + 8
MOST_REFUSED = 1 << 12
MOST_TOPICS = 1 << 12
TOPIC_SLOT_BITS = 13  # twice as many slots as topics, which keeps searches short
_TOPIC_BYTES = MOST_TOPICS * 256  # Kafka's names have at most 249

# Rows of ``Columns.numbers``.
START, END, OFFSET, PARTITION, TOPIC, TIMESTAMP, CLOCK, KEY_KIND, VALUE_KIND = range(9)
VALUE_START, VALUE_END, HEADERS_START, HEADERS_END, FLAGS = range(9, 14)
NUMBERS = 14

# Kinds of fields. A CLOCK is MISSING, NULL, OTHER (a number, as it is), TEXT (a date and time, read as
# milliseconds) or ZONELESS (the same without a time zone).
MISSING, NULL, EMPTY, TEXT, OTHER, LITERAL, ZONELESS = range(7)

# FLAGS.
VALUE_ESCAPED, QUOTED, HEADERS_ESCAPED, FREELY_QUOTED, NULL_WORD, NULL_SIGN = 1, 2, 4, 8, 16, 32
KEY_NULL_WORD, KEY_NULL_SIGN, CR_LF, QUOTED_WORD = 64, 128, 256, 512
DOUBTFUL_HEADERS, UPPER_LITERAL, KEY_UPPER_LITERAL = 1024, 2048, 4096

# Places of ``Columns.state``.
AT, ROWS, REFUSALS, KEY_BYTES, TOPICS, IS_UNFINISHED, BLOCK, DONE = range(8)
"""BLOCK is the number of the Avro block that AT is in, DONE how many of its records have rows."""


class Columns(NamedTuple):
    """The arrays that each call of a loop fills from the first row on.

    * ``numbers``: a row for each column, START and following.
    * ``keys``, ``key_ends``: the keys one after another; that of row i ends at ``key_ends[i + 1]``.
    * ``refused``: start and end of each record that the loop leaves to the reference reader.
    * ``topics``, ``topic_ends``: the names of topics met so far, numbered from 1; 0 is the file's own topic.
    * ``topic_slots``: a hash table of these numbers; 0 is a free slot.
    * ``state``: the places AT and following.
    """

    numbers: np.ndarray
    keys: np.ndarray
    key_ends: np.ndarray
    refused: np.ndarray
    topics: np.ndarray
    topic_ends: np.ndarray
    topic_slots: np.ndarray
    state: np.ndarray

    def with_room(self, window_bytes: int) -> "Columns":
        """The columns with room for all keys of a window of ``window_bytes``."""
        has_room = len(self.keys) >= window_bytes
        return self if has_room else self._replace(keys=np.zeros(window_bytes, np.uint8))

    def topic(self, number: int) -> bytes:
        """The bytes of a topic's name as the dump spells it; ``number`` is from 1 on."""
        start, end = self.topic_ends[number - 1 : number + 1]
        return self.topics[start:end].tobytes()


def new_columns() -> Columns:
    """Columns before the first call of a loop, without room for keys."""
    return Columns(
        numbers=np.zeros((NUMBERS, MOST_ROWS), np.int64),
        keys=np.zeros(0, np.uint8),
        key_ends=np.zeros(MOST_ROWS + 1, np.int32),
        refused=np.zeros((MOST_REFUSED, 2), np.int64),
        topics=np.zeros(_TOPIC_BYTES, np.uint8),
        topic_ends=np.zeros(MOST_TOPICS + 1, np.int64),
        topic_slots=np.zeros(1 << TOPIC_SLOT_BITS, np.int64),
        state=np.array((0, 0, 0, 0, 1, 0, 0, 0), np.int64),
    )
