"""What is told about a log must fit its records; what had to be assumed is said."""

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from kcompact.broker.batches import PackedBatches
from kcompact.broker.delete_horizons import DeleteHorizon
from kcompact.broker.log_context import LogContext
from kcompact.broker.segment_lists import Segment
from kcompact.dumps.records.record import Record
from kcompact.errors import InputError
from kcompact.rules.cleaned_log import LogCleaning
from kcompact.rules.policy import Policy
from kcompact.rules.verdicts import Verdict
from log_frames import cleaned, retained
from packed_batches import ListedBatch, packed
from small_maps import with_map_of

RECORDS = [Record("t", 0, offset, 1000, b"k%d" % (offset % 3), b"v") for offset in range(10, 20)]
POLICY = Policy(now_ms=5000, null_keys="drop")


def log_cleaned(context: LogContext, records: list[Record] = RECORDS, policy: Policy = POLICY) -> LogCleaning:
    return cleaned({1: records}, {1: context}, {1: policy}, {1: "t-0"}).logs[1]


def _batches(counts: dict[int, int], *before: ListedBatch) -> PackedBatches:
    after = (ListedBatch(base, base + count - 1, count, 100) for base, count in counts.items())
    return packed([*before, *after])


@pytest.mark.parametrize(
    ("context", "message"),
    [
        (
            LogContext(segments=(Segment(12, 100), Segment(20, 0))),
            "t-0: the first segment given starts at 12",
        ),
        (LogContext(log_end_offset=15), "t-0: by --log-end-offset the log ends at 15"),
        (
            LogContext(batches=_batches({10: 5, 15: 1, 16: 4}), log_end_offset=15),
            "t-0: by --log-end-offset the log ends at 15, but the dump holds offset 19",
        ),
        (
            LogContext(batches=_batches({15: 5}, ListedBatch(10, 14, 4, 100))),
            "t-0: by --batches the batch at offset 10 holds 4 records, but the dump holds 5",
        ),
    ],
    ids=["segments", "log end", "log end with batches", "batches"],
)
def test_what_does_not_fit_is_refused(context: LogContext, message: str) -> None:
    with pytest.raises(InputError) as refusal:
        log_cleaned(context)
    assert refusal.value.message.startswith(message)
    assert refusal.value.hint


@pytest.mark.parametrize(
    "context",
    [
        LogContext(segments=(Segment(12, 100), Segment(18, 50))),
        LogContext(batches=_batches({12: 4, 16: 4})),
    ],
    ids=["segments", "batches"],
)
def test_records_below_the_log_start_go_though_no_segment_holds_them(context: LogContext) -> None:
    """As in the output of a night before retention, beside the segments of a night after it."""
    context = replace(context, log_start_offset=12)
    policy = replace(POLICY, null_keys="keep")
    offsets = [
        [row["offset"] for row in retained(cleaned({1: records}, {1: context}, {1: policy}))]
        for records in ([Record("t", 0, 10, 1000, b"alone", b"v"), *RECORDS[1:]], RECORDS[2:])
    ]
    assert offsets[0] == offsets[1]
    assert min(offsets[0]) >= 12


def test_a_checkpoint_beyond_the_dump_raises_the_log_end() -> None:
    log = log_cleaned(LogContext(checkpoint_offset=50))
    assert (log.bounds.log_end_offset, log.checkpoint_offset, log.rounds) == (50, 50, ())
    assert "the checkpoint 50 lies beyond the last record" in log.notes[0]


def test_a_checkpoint_beyond_the_told_log_end_is_reset() -> None:
    log = log_cleaned(LogContext(checkpoint_offset=50, log_end_offset=20))
    assert log.rounds[0].span.first_dirty_offset == 10
    assert log.checkpoint_offset == 20
    assert "is reset to the log start" in log.notes[0]


def test_control_records_without_batches_stay_and_are_counted() -> None:
    marker = Record("t", 0, 20, 1000, b"\0\0\0\1", b"\0\0\0\0\0\0", is_control=True)
    log = log_cleaned(LogContext(), [*RECORDS, marker])
    assert log.rounds[0].counts.messages_written == 4
    assert log.notes == (
        "1 control records stay: without --batches nobody knows whose transactions they end",
    )


def test_a_dump_younger_than_its_batches_is_cleaned_whole() -> None:
    log = log_cleaned(LogContext(batches=_batches({10: 5})))
    assert log.rounds[0].span.next_offset == 20
    assert log.rounds[0].counts.messages_read == 10
    assert log.notes == ("5 records are in no batch given: each counts as a batch of its own",)


def test_records_below_the_first_one_in_the_dump_move_the_log_start() -> None:
    log = log_cleaned(LogContext(batches=_batches({0: 5, 5: 5, 10: 10})))
    assert log.bounds.log_start_offset == 10
    assert log.rounds[0].counts.messages_read == 20
    assert "10 records of the batches given are not in the dump" in log.notes[0]


@pytest.mark.parametrize(
    "told",
    [{}, {"segments": (Segment(10, 500), Segment(15, 500), Segment(20, 0))}, {"batches": _batches({10: 10})}],
    ids=["no segments", "within a segment", "within a batch"],
)
def test_records_before_a_told_log_start_are_counted(told: dict[str, Any]) -> None:
    """The map is made of 18 and 19, which supersede 12, 15 and 10, 13, 16; nothing does 11, 14 and 17."""
    log = log_cleaned(LogContext(log_start_offset=18, **told))
    assert +Counter(log.removed) == {Verdict.SUPERSEDED: 5, Verdict.EXPIRED: 3}


def test_retention_behind_several_rounds_is_said() -> None:
    retained = Policy(frozenset({"compact", "delete"}), rounds=None, retention_ms=-1, now_ms=5000)
    policy = with_map_of(1, retained)
    log = log_cleaned(LogContext(), policy=policy)
    assert log.notes == (
        f"retention ran once, after the last of {len(log.rounds)} rounds; a broker runs it after each",
    )


def test_horizons_of_given_batches_become_intervals() -> None:
    """A later run with the state alone knows what the broker had stamped before."""
    tombstones = [Record("t", 0, offset, 1000, b"k%d" % offset, None) for offset in range(4)]
    horizons = (7000, 7000, 9000, None)
    batches = packed(
        ListedBatch(offset, offset, 1, 69, max_timestamp_ms=1000, delete_horizon_ms=ms)
        for offset, ms in enumerate(horizons)
    )
    context = LogContext(batches=batches, checkpoint_offset=3)
    log = log_cleaned(context, tombstones, Policy(delete_retention_ms=6000, now_ms=5000))
    assert log.horizons == (DeleteHorizon(2, 7000), DeleteHorizon(3, 9000), DeleteHorizon(4, 11_000))
