"""Records of BEFORE that stand somewhere else in AFTER."""

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
    arrived = np.flatnonzero(rows.in_after & classified.arrived)
    left = np.flatnonzero(rows.in_before & (rows.is_changed | classified.is_taken | classified.is_lost))
    moves = Moves(
        np.zeros(len(rows), np.bool_),
        np.zeros(len(rows), np.int64),
        np.zeros(len(rows), np.int64),
        np.zeros(len(rows), np.bool_),
    )
    if not len(arrived) or not len(left):
        return moves
    codes = _contents(rows, arrived, left, question)
    number = rows.per_log(question.log_numbers, len(question.logs))
    came = _ranked(codes[: len(arrived)], number[arrived], rows.offset[arrived], len(codes))
    went = _ranked(codes[len(arrived) :], number[left], rows.offset[left], len(codes))
    _, to, origin = np.intersect1d(came, went, assume_unique=True, return_indices=True)
    moves.has_come[arrived[to]] = True
    moves.from_log_id[arrived[to]] = rows.log_id[left[origin]]
    moves.from_offset[arrived[to]] = rows.offset[left[origin]]
    moves.is_moved_away[left[origin]] = True
    return moves


def _ranked(codes: Longs, log_number: Longs, offset: Longs, most: int) -> Longs:
    """A number below ``most`` squared for each content and its rank among equal ones, by log and offset."""
    order = np.lexsort((offset, log_number, codes))
    ordered = codes[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=-1))
    rank = np.arange(len(ordered)) - np.repeat(starts, np.diff(np.append(starts, len(ordered))))
    found = np.empty(len(codes), np.int64)
    found[order] = ordered * most + rank
    return found


def _contents(rows: KeyRows, arrived: Longs, left: Longs, question: Question) -> Longs:
    """A number for each: of AFTER's records that ``arrived``, then of BEFORE's that ``left``."""
    tables = [
        rows.after.take(pa.array(rows.after_at[arrived])),
        rows.before.take(pa.array(rows.before_at[left])),
    ]
    both = pa.concat_tables(tables)
    names = sorted({topic for topic, _ in question.logs.values()})
    topics = {log_id: names.index(topic) for log_id, (topic, _) in question.logs.items()}
    topic = rows.per_log(topics, NOWHERE)[np.concatenate((arrived, left))]
    words = [content_words(both, name) for name in rows.differs]
    parts = np.concatenate([topic[:, None], key_numbers(both["key"])[:, None], *words], axis=1)
    codes: Longs = np.unique(parts, axis=0, return_inverse=True)[1].reshape(-1)
    return codes
