"""The engine against the broker model on random logs, under all policies in combination."""

from dataclasses import dataclass, replace
from typing import Any

import pytest

from broker_log import ModelLog, Round
from broker_model import turn
from kcompact.digits import LONG_MAX
from kcompact.rules.cleaned_log import LogCleaning
from kcompact.rules.policy import Policy
from kcompact.rules.verdicts import Verdict
from log_frames import cleaned, retained
from model_context import contexts_of
from random_logs import NOW_MS, RandomLog, aborting_log, random_log
from small_maps import with_map_of

FEW, OTHERS = range(1, 9), range(9, 301)


@dataclass(frozen=True)
class Expected:
    """A random log and what the model makes of it."""

    setup: RandomLog
    after: ModelLog
    rounds: list[Round]


def _copy(log: ModelLog) -> ModelLog:
    return replace(log, segments=[replace(s, batches=[b.copy() for b in s.batches]) for s in log.segments])


def _expected(setup: RandomLog) -> Expected:
    log = _copy(setup.log)
    rounds = turn(log, setup.config, NOW_MS, rounds=setup.rounds, respect_ratio=setup.respect_ratio)
    return Expected(setup, log, rounds)


def _policy(setup: RandomLog) -> Policy:
    same = setup.config.shared()
    more = {"producer_id_expiration_ms": LONG_MAX, "now_ms": NOW_MS, "null_keys": "drop"}
    policy = Policy(**same | more, rounds=setup.rounds, respect_dirty_ratio=setup.respect_ratio)
    return with_map_of(setup.config.offset_map_limit, policy)


KINDS = {
    "batches": lambda seed: random_log(seed, transactions=True),
    "records": lambda seed: random_log(seed, transactions=False),
    "aborts": aborting_log,
}


LOGS = [
    pytest.param((kind, seeds), id=f"{kind} {seeds.start}", marks=[pytest.mark.slow] * (seeds is OTHERS))
    for kind in KINDS
    for seeds in (FEW, OTHERS)
]


@pytest.fixture(scope="module", params=LOGS)
def played(request: pytest.FixtureRequest) -> Any:
    kind, seeds = request.param
    expected = {seed: _expected(KINDS[kind](seed)) for seed in seeds}
    logs, contexts, policies = {}, {}, {}
    for seed, model in expected.items():
        logs[seed] = [r for b in model.setup.log.batches() for r in b.records]
        contexts[seed] = contexts_of(model.setup.log, with_batches=kind != "records")
        policies[seed] = _policy(model.setup)
    results = {}
    for seed, model in expected.items():  # each the only log of its broker: a turn goes over all logs
        result = cleaned({seed: logs[seed]}, {seed: contexts[seed]}, {seed: policies[seed]})
        if not overtaken(result.logs[seed]):
            results[seed] = model, result.logs[seed], sorted(row["offset"] for row in retained(result))
    return results


def overtaken(cleaning: LogCleaning) -> bool:
    """Whether retention has moved the log start beyond the next round: the run ends there, and says so."""
    return any("overtaken" in note for note in cleaning.notes)


def test_records_checkpoint_and_log_start_are_the_models(played: Any) -> None:
    for seed, (expected, cleaning, kept) in played.items():
        log = expected.after
        offsets = [r.offset for b in log.batches() for r in b.records if r.offset >= log.log_start]
        assert kept == offsets, seed
        assert cleaning.checkpoint_offset == log.checkpoint, seed
        assert cleaning.log_start_offset == log.log_start, seed


def test_rounds_are_the_models(played: Any) -> None:
    for seed, (expected, cleaning, _) in played.items():
        assert [_figures(model_round) for model_round in expected.rounds] == _engine_figures(cleaning), seed


def _figures(model: Round) -> tuple[int, ...]:
    span = (model.first_dirty, model.next_offset, model.map_entries)
    messages = (model.messages_read, model.messages_written, model.invalid)
    return (*span, *messages, model.bytes_read, model.bytes_written)


def _engine_figures(cleaning: LogCleaning) -> list[tuple[int, ...]]:
    return [
        (
            engine_round.span.first_dirty_offset,
            engine_round.span.next_offset,
            engine_round.map_entries,
            engine_round.counts.messages_read,
            engine_round.counts.messages_written,
            engine_round.counts.removed[Verdict.KEYLESS],
            engine_round.sizes.bytes_read,
            engine_round.sizes.bytes_written,
        )
        for engine_round in cleaning.rounds
    ]


def test_segments_are_the_models(played: Any) -> None:
    for seed, (expected, cleaning, _) in played.items():
        sizes = [(s.base_offset, s.size_bytes) for s in cleaning.segments or ()]
        assert sizes == [(s.base_offset, s.size_bytes) for s in expected.after.segments], seed


def test_the_random_logs_are_worth_it(played: Any, request: pytest.FixtureRequest) -> None:
    """Most logs are cleaned, many in several rounds, some are cut by retention or overlook data."""
    _, seeds = request.node.callspec.params["played"]
    assert len(played) >= len(seeds) - max(1, len(seeds) // 20)
    logs = [log for _, log, _ in played.values()]
    assert sum(bool(log.rounds) for log in logs) > len(seeds) // 3
    assert sum(len(log.rounds) > 1 for log in logs) > len(seeds) // 20
    are_cut = sum(log.log_start_offset > log.bounds.log_start_offset for log in logs)
    overlook = sum(any(r.overlooked for r in expected.rounds) for expected, _, _ in played.values())
    assert max(are_cut, overlook) > len(seeds) // 20
