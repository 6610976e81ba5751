"""In which order files are joined, so that the offsets of every log ascend."""

import pytest

from kcompact.compact.offset_order import order_of_files
from kcompact.engine.passes.summaries import LogSummary

Span = tuple[int, int, int]
"""A log, its first and its last offset."""


@pytest.mark.parametrize(
    ("files", "order"),
    [
        ([[(1, 0, 9)], [(1, 10, 19)]], [0, 1]),
        ([[(1, 10, 19)], [(1, 0, 9)]], [1, 0]),
        ([[(1, 10, 19)], [(1, 20, 29)], [(1, 0, 9)]], [2, 0, 1]),
        ([[(1, 10, 19), (2, 5, 6)], [(1, 0, 9), (2, 0, 4)]], [1, 0]),
        ([[(1, 10, 14), (1, 15, 19)], [(1, 0, 9)]], [1, 0]),  # a file of two splits
        ([[(1, 10, 19), (2, 0, 4)], [(1, 0, 9), (2, 5, 6)]], []),  # each comes before the other
        ([[(1, 0, 4), (1, 10, 14)], [(1, 5, 9)]], []),  # one lies within the other
        ([[(1, 0, 9)], [(1, 9, 19)]], []),  # they share an offset
    ],
)
def test_the_offsets_of_every_log_ascend_from_file_to_file(files: list[list[Span]], order: list[int]) -> None:
    splits = [(file_id, *span) for file_id, spans in enumerate(files) for span in spans]
    file_ids = {split_id: file_id for split_id, (file_id, *_) in enumerate(splits)}
    summaries = [
        LogSummary(split_id, log_id, "t", log_id, first_offset=first, last_offset=last)
        for split_id, (_, log_id, first, last) in enumerate(splits)
    ]
    ranks = order_of_files(summaries, file_ids)
    assert sorted(ranks, key=lambda file_id: ranks[file_id]) == order
