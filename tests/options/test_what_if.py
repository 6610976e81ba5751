import pytest

from kcompact.errors import PolicyError
from kcompact.options.policy_options import PolicyOptions
from kcompact.options.what_if import split_lists


def test_without_lists_there_is_nothing_to_ask() -> None:
    options = PolicyOptions(cleanup_policy="compact,delete", segment_bytes="1MiB")
    assert split_lists(options) == (options, [])


def test_a_list_makes_one_row_per_value_and_leaves_the_option_unsaid() -> None:
    plain, rows = split_lists(PolicyOptions(segment_bytes="16MiB, 64MiB", min_compaction_lag_ms="1d"))
    assert plain == PolicyOptions(min_compaction_lag_ms="1d")
    assert [row.values for row in rows] == [(("segment.bytes", "16MiB"),), (("segment.bytes", "64MiB"),)]
    assert [row.options.segment_bytes for row in rows] == ["16MiB", "64MiB"]
    assert {row.options.min_compaction_lag_ms for row in rows} == {"1d"}
    assert all(row.rerolls for row in rows)


def test_several_lists_are_combined() -> None:
    _, rows = split_lists(PolicyOptions(min_cleanable_dirty_ratio="0.1,0.5", min_compaction_lag_ms="0,1d"))
    assert [tuple(text for _, text in row.values) for row in rows] == [
        *(("0.1", "0"), ("0.1", "1d")),
        *(("0.5", "0"), ("0.5", "1d")),
    ]
    assert not any(row.rerolls for row in rows)


def test_too_many_combinations_are_refused() -> None:
    many = ",".join(map(str, range(15)))
    with pytest.raises(PolicyError, match="225 combinations"):
        split_lists(PolicyOptions(min_compaction_lag_ms=many, delete_retention_ms=many))
