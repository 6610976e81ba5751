"""Copies of a record differ where any part of their content does, and nowhere else."""

import numpy as np
import pyarrow as pa
import pytest

from index_frames import part_of_rows
from kcompact.dumps.records.indexing import index_rows
from kcompact.dumps.records.record import Record
from kcompact.dumps.records.record_contents import CONTENT_HASHES, differing_copies
from kcompact.rules.orders import repeated_places
from records import record

PLAIN = record("k", "v", offset=3)


def rows_of(*records: Record) -> pa.Table:
    entries = [(place, 10, copy) for place, copy in enumerate(records)]
    part = part_of_rows(0)._replace(hash_secret=bytes(16))
    return pa.Table.from_batches(index_rows(entries, part, CONTENT_HASHES))


@pytest.mark.parametrize(
    "other",
    [
        record("k", "w", offset=3),
        record("K", "v", offset=3),
        record(None, "v", offset=3),
        record("k", None, offset=3),
        record("k", "", offset=3),
        record("k", "v", offset=3, timestamp_ms=1),
        record("k", "v", offset=3, headers=(("a", b"1"),)),
    ],
)
def test_every_part_is_seen(other: Record) -> None:
    assert differing_copies(rows_of(PLAIN, PLAIN, other), np.array([0, 0, 0])).tolist() == [2]


def test_records_of_two_places_are_not_compared() -> None:
    others = [record("k", "w", offset=4), record("k", "v", offset=3, partition=1)]
    assert differing_copies(rows_of(PLAIN, *others), np.array([0, 1, 2])).tolist() == []


def test_places_that_hold_several_records_are_found_wherever_these_stand() -> None:
    other, elsewhere = record("a", "b", offset=9), record("k", "v", offset=3, partition=1)
    at, places = repeated_places(rows_of(other, PLAIN, elsewhere, record("c", "d", offset=5), PLAIN, other))
    by_place = {tuple(at[places == place].tolist()) for place in places.tolist()}
    assert by_place == {(0, 5), (1, 4)}
