"""Records of BEFORE that are at another offset in AFTER."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from kcompact.verify.classification.classified_rows import ClassifiedRows
from kcompact.verify.question import Question
from kcompact.verify.rows.key_rows import NOWHERE, Flags, KeyRows, Longs, content_words, key_numbers


@dataclass(frozen=True)
class Moves:
    """Columns beside ``KeyRows``; ``from_log_id`` and ``from_offset`` count where a record ``has_come``."""

    has_come: Flags
    from_log_id: Longs
    from_offset: Longs
    is_moved_away: Flags


def find_moves(classified: ClassifiedRows, question: Question) -> Moves:
    """Pair records that are not where they were with records that are where they were not.

    Within a topic; equal records (in the parts that are compared) are paired in their order.
    """
    rows = classified.rows
    arrivals = np.flatnonzero(rows.in_after & classified.arrived)
    departures = np.flatnonzero(rows.in_before & (rows.is_changed | classified.is_taken | classified.is_lost))
    moves = Moves(
        np.zeros(len(rows), np.bool_),
        np.zeros(len(rows), np.int64),
        np.zeros(len(rows), np.int64),
        np.zeros(len(rows), np.bool_),
    )
    if not len(arrivals) or not len(departures):
        return moves
    codes = _contents(rows, arrivals, departures, question)
    number = rows.per_log(question.log_numbers, len(question.logs))
    came = _ranked(codes[: len(arrivals)], number[arrivals], rows.offset[arrivals], len(codes))
    went = _ranked(codes[len(arrivals) :], number[departures], rows.offset[departures], len(codes))
    _, to, origin = np.intersect1d(came, went, assume_unique=True, return_indices=True)
    moves.has_come[arrivals[to]] = True
    moves.from_log_id[arrivals[to]] = rows.log_id[departures[origin]]
    moves.from_offset[arrivals[to]] = rows.offset[departures[origin]]
    moves.is_moved_away[departures[origin]] = True
    return moves


def _ranked(codes: Longs, log_number: Longs, offset: Longs, most: int) -> Longs:
    """A number below ``most`` squared for each content and its rank among equal ones, by log and offset."""
    order = np.lexsort((offset, log_number, codes))
    ordered = codes[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=-1))
    rank = np.arange(len(ordered)) - np.repeat(starts, np.diff(np.append(starts, len(ordered))))
    numbers = np.empty(len(codes), np.int64)
    numbers[order] = ordered * most + rank
    return numbers


def _contents(rows: KeyRows, arrivals: Longs, departures: Longs, question: Question) -> Longs:
    """A number for each record of AFTER in ``arrivals``, then of BEFORE in ``departures``."""
    tables = [
        rows.after.take(pa.array(rows.after_at[arrivals])),
        rows.before.take(pa.array(rows.before_at[departures])),
    ]
    both = pa.concat_tables(tables)
    names = sorted({topic for topic, _ in question.logs.values()})
    topics = {log_id: names.index(topic) for log_id, (topic, _) in question.logs.items()}
    topic = rows.per_log(topics, NOWHERE)[np.concatenate((arrivals, departures))]
    words = [content_words(both, name) for name in rows.differs]
    parts = np.concatenate([topic[:, None], key_numbers(both["key"])[:, None], *words], axis=1)
    codes: Longs = np.unique(parts, axis=0, return_inverse=True)[1].reshape(-1)
    return codes
