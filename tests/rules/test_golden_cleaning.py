"""The engine against a real broker: every golden case."""

from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

import log_frames
from broker_log import Config
from golden_cases import GoldenCase, Log, LoggedRound, golden_cases
from golden_model import config_of
from kcompact.broker.log_context import LogContext
from kcompact.cleaner.cleaning import Cleaning
from kcompact.dumps.records.record import Record
from kcompact.rules.cleaned_log import LogCleaning
from kcompact.rules.policy import Policy
from kcompact.rules.verdicts import Verdict
from log_frames import log_id
from packed_batches import packed
from small_maps import with_map_of

CASES = golden_cases()
PAIRS = [(case, i) for case in CASES for i in range(len(case.pairs))]
EVERYDAY = {"w05", "w07", "w10", "w18", "w24"}


def is_everyday(case: GoldenCase) -> bool:
    return case.name[:3] in EVERYDAY


CASE_BY_CASE = pytest.mark.parametrize(
    ("case", "i"),
    [
        pytest.param(
            case,
            i,
            id=f"{case.name}-{case.pairs[i][1]}",
            marks=[pytest.mark.slow] * (not is_everyday(case)),
        )
        for case, i in PAIRS
    ],
)

# 70 records below the log start lie on disk, where no consumer can see their keys: two of them stayed.
UNSEEN_WRITTEN = {("w18b-log-start-beyond-checkpoint", 1): 2}

# What records and segments alone cannot tell: horizons (L8), aborted data (L11), markers, batches (L9).
NEEDS_BATCHES = {
    ("w05-two-stage-deletion", 1),
    ("w10-transactions", 0),
    ("w22-full-map-tombstones", 1),
    ("w22-full-map-tombstones", 2),
    ("w22-full-map-tombstones", 3),
    ("w27-full-map-transactions", 0),
    ("w27-full-map-transactions", 1),
    ("w31-horizon-stays", 2),
}

# Several rounds of one log, where horizons matter: what --state remembers stands for --batches.
CHAINED = [
    case
    for case in CASES
    if case.name[:3] in {"w05", "w08", "w12", "w22", "w31", "w32"} and case.batches(case.pairs[0][0])
]


def policy_of(case: GoldenCase, i: int, log: Log) -> Policy:
    """The configs under which a pair's round ran, and its clock."""
    config: Config = config_of(case.configs(i, log[0]), offset_map_limit=case.offset_map_limit)
    logged = logged_rounds(case, i, log)
    taken_ms = case.facts["stages"][case.pairs[i][1]]["takenAtMs"]
    now_ms = logged[0].now_ms if logged else taken_ms
    same = {**config.shared(), "log_cleaner_threads": BROKERS}
    policy = Policy(**same, respect_dirty_ratio=True, null_keys="drop", now_ms=now_ms)
    return with_map_of(config.offset_map_limit, policy)


def logged_rounds(case: GoldenCase, i: int, log: Log) -> list[LoggedRound]:
    return [logged for logged in case.rounds(i) if logged.log == log]


def contexts_of(case: GoldenCase, i: int, log: Log, *, with_batches: bool) -> LogContext:
    stage = case.pairs[i][0]
    facts = case.stage_log(stage, log)
    table = case.batches(stage) if with_batches else None
    return LogContext(
        segments=facts.segments,
        batches=packed(table[log]) if table else None,
        log_start_offset=facts.log_start_offset,
        log_end_offset=facts.log_end_offset,
        last_stable_offset=facts.last_stable_offset,
        checkpoint_offset=case.checkpoint_before(i).get(log),
    )


BROKERS = 10_000
"""Threads for all cases at once: each had a broker of its own, whose first turn took its only log."""


def records_of(case: GoldenCase, i: int, log: Log) -> list[Record]:
    return [r for r in case.records(case.pairs[i][0]) if (r.topic, r.partition) == log]


LARGE = 5_000  # records


class Cleaned:
    """Cleanings of several logs each, and the offsets they keep of each."""

    def __init__(self, *results: Cleaning) -> None:
        self.logs = {name: log for result in results for name, log in result.logs.items()}
        self.kept: dict[int, list[int]] = {name: [] for name in self.logs}
        for result in results:
            for row in log_frames.retained(result):
                self.kept[row["log_id"]].append(row["offset"])


@cache
def cleaned(*, are_everyday: bool) -> Cleaned:
    """The golden cases of the everyday loop at once, or all others."""
    logs: dict[int, list[Record]] = {}
    contexts: dict[int, LogContext] = {}
    policies: dict[int, Policy] = {}
    for case, i in PAIRS:
        for log in case.logs if is_everyday(case) is are_everyday else ():
            for with_batches in (True, False):
                if not with_batches and (case.batches(case.pairs[i][0]) is None):
                    continue
                name = log_id(case.name, i, log, with_batches)
                logs[name] = records_of(case, i, log)
                contexts[name] = contexts_of(case, i, log, with_batches=with_batches)
                policies[name] = policy_of(case, i, log)
    # Large logs by themselves: all are cut alike, and small ones should be cut, too.
    parts = [
        {name: records for name, records in logs.items() if (len(records) > LARGE) is is_large}
        for is_large in (False, True)
    ]
    return Cleaned(
        *(
            log_frames.cleaned(part, contexts, {name: policies[name] for name in part})
            for part in parts
            if part
        )
    )


def cleaned_with(case: GoldenCase) -> Cleaned:
    return cleaned(are_everyday=is_everyday(case))


@CASE_BY_CASE
def test_engine_leaves_what_the_broker_left(case: GoldenCase, i: int) -> None:
    after, result = case.pairs[i][1], cleaned_with(case)
    offsets, checkpoint = case.offsets(after), case.checkpoint(after)
    for log in case.logs:
        name = log_id(case.name, i, log, True)
        cleaning, expected = result.logs[name], case.stage_log(after, log)
        assert sorted(result.kept[name]) == offsets[log]
        assert cleaning.checkpoint_offset == checkpoint.get(log)
        assert cleaning.log_start_offset == expected.log_start_offset
        assert [s.base_offset for s in cleaning.segments or ()] == [s.base_offset for s in expected.segments]
        check_rounds(cleaning, logged_rounds(case, i, log), UNSEEN_WRITTEN.get((case.name, i), 0))


def check_rounds(cleaning: LogCleaning, logged: list[LoggedRound], unseen_written: int = 0) -> None:
    assert len(cleaning.rounds) == len(logged)
    for round_, broker in zip(cleaning.rounds, logged, strict=True):
        assert round_.span.first_dirty_offset == broker.first_dirty_offset
        assert round_.span.next_offset == broker.next_dirty_offset
        assert round_.counts.messages_read == broker.messages_read
        assert round_.counts.messages_written + unseen_written == broker.messages_written
        assert round_.counts.removed[Verdict.KEYLESS] == broker.invalid_messages_read


@CASE_BY_CASE
def test_segment_sizes_are_the_brokers(case: GoldenCase, i: int) -> None:
    if case.name[:3] in {"w18", "w20"}:  # unseen records; producers idle for years
        return
    error = 0.02 if case.name.startswith("w09") else 0  # sizes of compressed batches are estimated
    for log in case.logs:
        cleaning = cleaned_with(case).logs[log_id(case.name, i, log, True)]
        expected = [segment.size_bytes for segment in case.stage_log(case.pairs[i][1], log).segments]
        sizes = [segment.size_bytes for segment in cleaning.segments or ()]
        assert sizes == pytest.approx(expected, rel=error, abs=0)


@CASE_BY_CASE
def test_records_and_segments_are_enough_without_horizons_and_transactions(case: GoldenCase, i: int) -> None:
    kept = cleaned_with(case).kept
    for log in case.logs:
        name = log_id(case.name, i, log, False)
        if name in kept:
            is_broker = sorted(kept[name]) == case.offsets(case.pairs[i][1])[log]
            assert is_broker == ((case.name, i) not in NEEDS_BATCHES)


@pytest.fixture(scope="module")
def chained() -> Iterator[dict[tuple[str, int, Log], tuple[LogCleaning, list[int]]]]:
    """Pair after pair with the checkpoint and the horizons that the run before left, and no batches."""
    results: dict[tuple[str, int, Log], tuple[LogCleaning, list[int]]] = {}
    for i in range(max(len(case.pairs) for case in CHAINED)):
        logs, context, policies = {}, {}, {}
        present = [(case, log) for case in CHAINED if i < len(case.pairs) for log in case.logs]
        for case, log in present:
            name = log_id(case.name, log)
            logs[name] = records_of(case, i, log)
            facts = contexts_of(case, i, log, with_batches=False)
            before = results[case.name, i - 1, log][0] if i else None
            context[name] = LogContext(
                segments=facts.segments,
                log_end_offset=facts.log_end_offset,
                checkpoint_offset=before.checkpoint_offset if before else None,
                horizons=before.horizons if before else (),
            )
            policies[name] = policy_of(case, i, log)
        result = Cleaned(log_frames.cleaned(logs, context, policies))
        for case, log in present:
            name = log_id(case.name, log)
            results[case.name, i, log] = result.logs[name], sorted(result.kept[name])
    return results


@pytest.mark.slow
@pytest.mark.parametrize("case", CHAINED, ids=lambda case: case.name)
def test_remembered_horizons_stand_for_batches(chained: Any, case: GoldenCase) -> None:
    for i, (_, after) in enumerate(case.pairs):
        for log in case.logs:
            cleaning, kept = chained[case.name, i, log]
            assert kept == case.offsets(after)[log]
            assert cleaning.checkpoint_offset == case.checkpoint(after).get(log)
            check_rounds(cleaning, logged_rounds(case, i, log))
