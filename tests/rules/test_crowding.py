"""Records without end at few offsets are refused; many copies of an honest dump are not."""

import pytest

from kcompact.compact.read_dump import refuse_crowded_offsets
from kcompact.engine.passes.summaries import LogSummary
from kcompact.errors import InputError


def part(split_id: int, records: int, first_offset: int, last_offset: int, topic: str = "t") -> LogSummary:
    return LogSummary(
        split_id, ord(topic), topic, 0, records=records, first_offset=first_offset, last_offset=last_offset
    )


def test_one_offset_with_millions_of_records_is_named() -> None:
    with pytest.raises(InputError, match="t-0: 1,200,000 records at one offset, 7 to 7"):
        refuse_crowded_offsets([part(0, 600_000, 7, 7), part(1, 600_000, 7, 7)])


def test_few_offsets_with_millions_of_records_are_named() -> None:
    with pytest.raises(InputError, match="t-0: 3,000,000 records at 11 offsets, 0 to 10"):
        refuse_crowded_offsets([part(0, 2_000_000, 0, 9), part(1, 1_000_000, 10, 10)])


def test_a_thousand_copies_of_a_dump_are_not_refused() -> None:
    refuse_crowded_offsets([part(copy, 100_000, 0, 99_999) for copy in range(1_000)])


def test_a_million_copies_of_a_record_are_not_refused() -> None:
    refuse_crowded_offsets([part(0, 1_000_000, 7, 7), part(0, 1_000_000, 7, 7, "u")])
