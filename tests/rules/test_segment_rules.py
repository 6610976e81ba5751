"""Merging, retention, ratios and the map's size: numbers from Kafka's own tests (G04-G08, I, L01)."""

from dataclasses import replace

import pytest

from kcompact.rules.capacity import ENTRY_BYTES, buffer_bytes_for, map_limit, map_slots
from kcompact.rules.files.retention import delete_old_segments
from kcompact.rules.files.segments import SegmentState, group_segments
from kcompact.rules.policy import Policy
from kcompact.rules.range import LogBounds, segmented_range
from kcompact.rules.ratio import segmented_ratio

LARGEST = 2**31 - 1


@pytest.mark.parametrize(
    ("segments", "segment_bytes", "uncleanable", "groups"),
    [
        ([(0, 284), (10, 284), (20, 284), (30, 284)], LARGEST, 40, [[0, 10, 20, 30]]),
        ([(0, 284), (10, 284), (20, 284), (30, 284)], 1, 40, [[0], [10], [20], [30]]),
        ([(0, 400), (10, 400), (20, 200), (30, 600), (40, 401)], 1000, 50, [[0, 10, 20], [30], [40]]),
        ([(0, 300), (5, 100)], LARGEST, 2147483648, [[0, 5]]),
        (
            [(0, 0), (2147483648, 0), (4294967296, 71)],
            LARGEST,
            6442450944,
            [[0, 2147483648], [4294967296]],
        ),
        ([(0, 144), (1073741823, 144)], LARGEST, 2147483649, [[0], [1073741823]]),
        ([(2**40, 284), (2**40 + 10, 284)], LARGEST, 2**40 + 20, [[2**40, 2**40 + 10]]),
    ],
    ids=["I01", "I02", "I04", "I05", "I07", "I08", "I01 at large offsets"],
)
def test_segments_merge_by_their_sizes_before_the_round(
    segments: list[tuple[int, int]], segment_bytes: int, uncleanable: int, groups: list[list[int]]
) -> None:
    states = [SegmentState(base, size) for base, size in segments]
    merged = group_segments(states, Policy(segment_bytes=segment_bytes), uncleanable)
    assert [[segment.base_offset for segment in group] for group in merged] == groups


def test_index_sizes_limit_merging() -> None:
    states = [SegmentState(10 * i, 100, offset_index_bytes=80, time_index_bytes=120) for i in range(4)]
    merged = group_segments(states, Policy(segment_index_bytes=240), 40)
    assert [len(group) for group in merged] == [2, 2]


class _CountedBytes(int):
    additions = 0

    def __radd__(self, before: int) -> int:
        _CountedBytes.additions += 1
        return int(before) + int(self)


def test_the_size_of_a_segment_is_added_once_however_many_merge_into_one() -> None:
    states = [SegmentState(i, _CountedBytes(1)) for i in range(100)]
    merged = group_segments(states, Policy(segment_bytes=100), 100)
    assert [len(group) for group in merged] == [100]
    assert _CountedBytes.additions <= len(states)


COMPACT_DELETE = frozenset({"compact", "delete"})
THREE = [SegmentState(base, 500, largest_timestamp_ms=10) for base in (0, 5, 10)]
BOUNDS = LogBounds(0, 15, 15)


def _left(policy: Policy, bounds: LogBounds = BOUNDS) -> tuple[list[int], int]:
    segments, bounds = delete_old_segments(THREE, bounds, policy)
    return [segment.base_offset for segment in segments], bounds.log_start_offset


def test_all_expired_segments_go_the_active_one_too() -> None:  # I11
    policy = Policy(cleanup_policy=COMPACT_DELETE, retention_ms=10_000, now_ms=1_000_000)
    assert _left(policy) == ([15], 15)


@pytest.mark.parametrize(("limit", "left"), [(1000, [5, 10]), (1500, [0, 5, 10]), (1100, [0, 5, 10])])
def test_size_takes_only_what_the_excess_covers_whole(limit: int, left: list[int]) -> None:  # I13
    policy = Policy(cleanup_policy=COMPACT_DELETE, retention_bytes=limit)
    assert _left(policy) == (left, left[0])


@pytest.mark.parametrize(("log_start", "left"), [(5, [5, 10]), (4, [0, 5, 10])])
def test_segments_below_the_log_start_go_under_any_policy(log_start: int, left: list[int]) -> None:  # I14
    assert _left(Policy(), replace(BOUNDS, log_start_offset=log_start)) == (left, log_start)


def test_retention_needs_delete_in_the_policy() -> None:
    assert _left(Policy(retention_ms=0, retention_bytes=0, now_ms=1_000_000)) == ([0, 5, 10], 0)


def test_a_segment_emptied_by_compaction_stops_time_retention() -> None:
    segments = [THREE[0], SegmentState(5, 0), THREE[2]]
    policy = Policy(cleanup_policy=COMPACT_DELETE, retention_ms=10_000, now_ms=1_000_000)
    left, _ = delete_old_segments(segments, BOUNDS, policy)
    assert [segment.base_offset for segment in left] == [5, 10]


def test_an_emptied_segment_with_an_old_file_goes() -> None:
    segments = [THREE[0], SegmentState(5, 0, mtime_ms=10), THREE[2]]
    policy = Policy(cleanup_policy=COMPACT_DELETE, retention_ms=10_000, now_ms=1_000_000)
    _, bounds = delete_old_segments(segments, BOUNDS, policy)
    assert bounds.log_start_offset == 15


def _wishing_well(records: int) -> list[SegmentState]:
    """G04: key-N=value-N at offset N; a roll after records 0, 5, 10, ... and one at the end."""
    bases = [0, *range(1, records, 5), records]
    ends = [*bases[1:], records]
    return [
        SegmentState(base, sum(80 if n < 10 else 82 for n in range(base, end)))
        for base, end in zip(bases, ends, strict=True)
    ]


@pytest.mark.parametrize(
    ("records", "log_start", "checkpoint", "clean", "cleanable", "reset"),
    [
        (20, 0, 20, 1620, 0, False),
        (25, 0, 20, 1702, 738, False),
        (30, 0, 20, 1702, 1148, False),
        (20, 20, 15, 1620, 0, True),
        (20, 15, 10, 1292, 738, True),
        (25, 0, 5, 480, 1950, False),
    ],
    ids=["G04-p0", "G04-p1", "G04-p2", "G07", "G08-foo-0", "G08-foo-1"],
)
def test_byte_sums(
    records: int, log_start: int, checkpoint: int, clean: int, cleanable: int, *, reset: bool
) -> None:
    segments, policy = _wishing_well(records), Policy()
    cleanable_range = segmented_range(segments, LogBounds(log_start, records, records), checkpoint, policy)
    ratio = segmented_ratio(segments, cleanable_range, policy)
    assert (ratio.clean_bytes, ratio.cleanable_bytes) == (clean, cleanable)
    assert cleanable_range.checkpoint_reset == reset


@pytest.mark.parametrize(
    ("buffer_bytes", "threads", "slots", "limit"),
    [
        (4096, 1, 170, 153),
        (134_217_728, 1, 5_592_405, 5_033_164),
        (134_217_728, 2, 2_796_202, 2_516_581),
        (134_217_728, 4, 1_398_101, 1_258_290),
        (4 << 20, 1, 174_762, 157_285),
        (1 << 40, 1, 89_478_485, 80_530_636),
    ],
)
def test_size_of_the_offset_map(buffer_bytes: int, threads: int, slots: int, limit: int) -> None:  # L01
    policy = Policy(log_cleaner_dedupe_buffer_size=buffer_bytes, log_cleaner_threads=threads)
    assert (map_slots(policy), map_limit(policy)) == (slots, limit)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("keys", [100_000, 157_285, 157_286, 5_033_164, 80_530_636])
def test_the_smallest_buffer_that_holds_so_many_keys(keys: int, threads: int) -> None:
    policy = Policy(log_cleaner_threads=threads)
    needed = buffer_bytes_for(keys, policy)
    assert needed is not None
    enough = replace(policy, log_cleaner_dedupe_buffer_size=needed)
    too_small = replace(policy, log_cleaner_dedupe_buffer_size=needed - ENTRY_BYTES * threads)
    assert (map_limit(too_small) or 0) < keys <= (map_limit(enough) or 0)


def test_a_broker_takes_no_buffer_of_a_mebibyte_and_none_beyond_an_int() -> None:
    assert buffer_bytes_for(68, Policy()) == (1 << 20) + 1
    assert buffer_bytes_for(80_530_637, Policy()) is None
