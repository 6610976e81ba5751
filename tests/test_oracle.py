"""The oracle itself, against a few logs worked out by hand from Kafka's documentation of compaction."""

import pytest

from kcompact.dumps.records.record import Record
from oracle import Settings, clean

T = ("t", 0)


def log(text: str) -> list[Record]:
    """``a=1 a=~ ~=x``: one record each, offsets from 0; ``~`` is null."""
    pairs = (word.split("=") for word in text.split())
    return [Record("t", 0, i, 1000, _side(key), _side(value)) for i, (key, value) in enumerate(pairs)]


def _side(word: str) -> bytes | None:
    return None if word == "~" else word.encode()


def kept(result_offsets: dict[tuple[tuple[str, int], int], str]) -> list[int]:
    return [offset for (_, offset), verdict in result_offsets.items() if verdict == "retained"]


def test_latest_value_of_each_key_stays() -> None:
    result = clean(log("a=1 b=1 a=2 ~=x b=~"), Settings(now_ms=10, delete_retention_ms=5))
    assert kept(result.verdicts) == [2, 4]
    assert result.verdicts[T, 3] == "keyless"
    assert result.checkpoint == {T: 5}
    assert result.horizons == {(T, 4): 15}


def test_tombstone_goes_in_a_later_round_at_its_horizon() -> None:
    first = clean(log("a=1 a=~"), Settings(now_ms=10, delete_retention_ms=5))
    longer = [*first.retained, Record("t", 0, 2, 1000, b"b", b"1")]
    early = clean(longer, Settings(now_ms=14), first.checkpoint, first.horizons)
    assert kept(early.verdicts) == [1, 2]
    due = clean(longer, Settings(now_ms=15), first.checkpoint, first.horizons)
    assert due.verdicts[T, 1] == "expired_tombstone"
    assert due.horizons == {}


def test_nothing_dirty_means_nothing_happens() -> None:
    first = clean(log("a=1 a=~"), Settings(now_ms=10, delete_retention_ms=0))
    again = clean(first.retained, Settings(now_ms=99), first.checkpoint, first.horizons)
    assert kept(again.verdicts) == [1]


def test_full_map_stops_before_the_next_keyed_record() -> None:
    result = clean(log("a=1 b=1 a=2 a=3"), Settings(limit=2))
    assert kept(result.verdicts) == [0, 1, 2, 3]
    assert result.checkpoint == {T: 2}


def test_repeated_offset_with_other_content_is_refused() -> None:
    with pytest.raises(ValueError, match="offset 0 twice"):
        clean([*log("a=1"), *log("a=2")], Settings())
