"""Dumps without segments against the oracle, and with rolled segments against the broker model."""

import random
from dataclasses import replace
from typing import Any

import pytest

import oracle
from broker_log import ModelLog
from broker_model import roll, turn
from broker_sizes import batch_bytes
from kcompact.broker.delete_horizons import DeleteHorizon
from kcompact.broker.log_context import LogContext
from kcompact.dumps.records.record import Record
from kcompact.rules.policy import Policy
from log_frames import cleaned, retained
from random_logs import NOW_MS, random_log
from small_maps import with_map_of

SEEDS = range(1, 201)
T = ("t", 0)


def _records(seed: int) -> list[Record]:
    log = random_log(seed, transactions=False).log
    return [record for batch in log.batches() for record in batch.records]


def _kept(result: Any) -> dict[int, list[tuple[int, int]]]:
    """(offset, split position) of what stays, by log."""
    kept: dict[int, list[tuple[int, int]]] = {name: [] for name in result.logs}
    for row in retained(result):
        kept[row["log_id"]].append((row["offset"], row["position"]))
    return {name: sorted(offsets) for name, offsets in kept.items()}


# --- without segments ---------------------------------------------------------------------------------------


class Unsegmented:
    """One dump, cleaned by the oracle round by round; retention deletes record by record."""

    def __init__(self, seed: int) -> None:
        rng = random.Random(seed)
        self.records = _records(seed)
        last = self.records[-1].offset
        self.checkpoint = rng.choice([None, rng.randint(self.records[0].offset, last + 1)])
        self.stable = rng.choice([None, None, rng.randint(0, last + 1)])
        self.horizon = DeleteHorizon(rng.randint(1, last + 1), rng.choice([NOW_MS, NOW_MS + 1]))
        self.knows_horizon = rng.random() < 0.5
        self.rounds = rng.choice([1, 2, None])
        retains = rng.random() < 0.4
        self.map_limit = rng.choice([None, 1, 2, 4])
        policy = Policy(
            cleanup_policy=frozenset({"compact", "delete"} if retains else {"compact"}),
            delete_retention_ms=rng.choice([0, 1000, 2**63 - 1]),
            min_compaction_lag_ms=rng.choice([0, 0, 300]),
            retention_ms=rng.choice([None, -1, 300, 900]) if retains else None,
            retention_bytes=rng.choice([None, -1, 200, 700]) if retains else None,
            rounds=self.rounds,
            drop_tombstones=rng.random() < 0.1,
            null_keys=rng.choice(["drop", "keep"]),
            now_ms=NOW_MS,
        )
        self.policy = with_map_of(self.map_limit, policy)

    def context(self) -> LogContext:
        horizons = (self.horizon,) if self.knows_horizon else ()
        return LogContext(
            checkpoint_offset=self.checkpoint, last_stable_offset=self.stable, horizons=horizons
        )

    def expected(self) -> tuple[list[int], int | None]:
        """Offsets left, and the checkpoint."""
        left, checkpoint, played = self.records, self._start(), 0
        settings = self._settings(checkpoint)
        known = self._known()
        while left and (self.rounds is None or played < self.rounds):
            result = oracle.clean(left, settings, {T: checkpoint}, known)
            if result.checkpoint[T] == checkpoint:
                break
            left, checkpoint, known = result.retained, result.checkpoint[T], result.horizons
            played += 1
        start = self._expired(left)
        after = checkpoint if played else self.checkpoint
        return [r.offset for r in left if r.offset >= start], after if after is None else max(after, start)

    def _start(self) -> int:
        return self.records[0].offset if self.checkpoint is None else self.checkpoint

    def _settings(self, first_dirty: int) -> oracle.Settings:
        policy, end = self.policy, self.records[-1].offset + 1
        young = [
            r.offset
            for r in self.records
            if r.offset >= first_dirty and r.timestamp_ms > NOW_MS - policy.min_compaction_lag_ms
        ]
        lag = young[0] if young and policy.min_compaction_lag_ms else end
        bound = min(end, lag, end if self.stable is None else self.stable)
        return oracle.Settings(
            NOW_MS,
            policy.delete_retention_ms,
            self.map_limit,
            bound,
            drop_tombstones=policy.drop_tombstones,
            null_keys=policy.null_keys,
        )

    def _known(self) -> dict[tuple[oracle.Log, int], int]:
        stamped = [r.offset for r in self.records if r.offset < self.horizon.rewritten_end_offset]
        return {(T, o): self.horizon.delete_horizon_ms for o in stamped} if self.knows_horizon else {}

    def _expired(self, left: list[Record]) -> int:
        """Where the log starts: by size, then by age, each from the oldest record on."""
        policy, start = self.policy, self.records[0].offset
        if "delete" not in policy.cleanup_policy:
            return start
        sizes = {record.offset: _log_bytes(record) for record in left}
        gone = 0
        if policy.retention_bytes is not None and policy.retention_bytes >= 0:
            excess = sum(sizes.values()) - policy.retention_bytes
            while gone < len(left) and excess >= sizes[left[gone].offset]:
                excess -= sizes[left[gone].offset]
                gone += 1
        if policy.retention_ms is not None and policy.retention_ms >= 0:
            while gone < len(left) and left[gone].timestamp_ms < NOW_MS - policy.retention_ms:
                gone += 1
        if gone == 0:
            return start
        return left[gone].offset if gone < len(left) else self.records[-1].offset + 1


def _log_bytes(record: Record) -> int:
    return batch_bytes([record], record.offset, record.timestamp_ms)


@pytest.mark.slow
def test_unsegmented_dumps_are_cleaned_as_the_oracle_says() -> None:
    dumps = {seed: Unsegmented(seed) for seed in SEEDS}
    result = cleaned(
        {seed: dump.records for seed, dump in dumps.items()},
        {seed: dump.context() for seed, dump in dumps.items()},
        {seed: dump.policy for seed, dump in dumps.items()},
    )
    kept = _kept(result)
    for seed, dump in dumps.items():
        offsets, checkpoint = dump.expected()
        assert [offset for offset, _ in kept[seed]] == offsets, seed
        assert result.logs[seed].checkpoint_offset == checkpoint, seed
    assert sum(len(log.rounds) > 1 for log in result.logs.values()) > len(SEEDS) // 10


@pytest.mark.slow
def test_repeated_records_are_dropped_once_and_counted() -> None:
    dumps = {seed: _records(seed) for seed in SEEDS}
    twice = {}
    for seed, records in dumps.items():
        rng = random.Random(seed)
        twice[seed] = [*records, *rng.sample(records, len(records) // 2)]
    policies = dict.fromkeys(SEEDS, Policy(null_keys="drop", now_ms=NOW_MS))
    once_result = cleaned(dumps, {}, policies)
    result = cleaned(twice, {}, policies)
    # The copy that stands first in the dump is the one that counts.
    assert _kept(result) == _kept(once_result)
    for seed, log in result.logs.items():
        once = once_result.logs[seed]
        assert log.removed.total() == once.removed.total() + len(dumps[seed]) // 2
        assert log.rounds == once.rounds


def test_no_round_begins_once_what_is_left_to_clean_is_younger_than_the_maximum_lag() -> None:
    """The oldest record of the first round's dirty section says nothing of the second one's (R8)."""
    records = [
        Record("t", 0, 0, NOW_MS - 1000, b"a", b"1"),
        Record("t", 0, 1, NOW_MS - 100, b"b", b"1"),
        Record("t", 0, 2, NOW_MS, b"b", b"2"),
    ]
    policy = Policy(
        min_cleanable_dirty_ratio=1,
        max_compaction_lag_ms=500,
        respect_dirty_ratio=True,
        rounds=None,
        now_ms=NOW_MS,
    )
    result = cleaned({1: records}, {}, {1: with_map_of(1, policy)})
    assert [offset for offset, _ in _kept(result)[1]] == [0, 1, 2]
    assert result.logs[1].checkpoint_offset == 1


# --- rolled segments ----------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("index_bytes", [10_485_760, 40], ids=["by size and age", "by index"])
def test_rolled_segments_are_cleaned_as_the_model_says(index_bytes: int) -> None:
    logs, policies, expected = {}, {}, {}
    for seed in SEEDS:
        setup = random_log(seed, transactions=False)
        config = replace(
            setup.config,
            segment_bytes=random.Random(seed).choice([150, 300, 700]),
            segment_ms=random.Random(seed).choice([100, 500, 604_800_000]),
            segment_index_bytes=index_bytes,
            index_interval_bytes=0,
        )
        segments = roll(setup.log.batches(), config)
        for segment in segments:
            segment.mtime_ms = NOW_MS  # what a segment without timestamps counts as
        end = setup.log.log_end
        model = ModelLog(segments, segments[0].base_offset, end, end, setup.log.checkpoint)
        logs[seed] = [r for b in setup.log.batches() for r in b.records]
        policy = Policy(
            log_cleaner_threads=1000,  # each log is the first of its turn, as if it were alone
            **config.shared(),
            rounds=1,
            null_keys="drop",
            now_ms=NOW_MS,
        )
        policies[seed] = with_map_of(config.offset_map_limit, policy)
        turn(model, config, NOW_MS, respect_ratio=False)
        expected[seed] = model
    contexts = {
        seed: LogContext(
            checkpoint_offset=random_log(seed, transactions=False).log.checkpoint,
            log_end_offset=expected[seed].log_end,
        )
        for seed in SEEDS
    }
    result = cleaned(logs, contexts, policies)
    kept = _kept(result)
    for seed, model in expected.items():
        left = [r.offset for b in model.batches() for r in b.records]
        assert [offset for offset, _ in kept[seed]] == left, seed
        sizes = [(s.base_offset, s.size_bytes) for s in result.logs[seed].segments or ()]
        if index_bytes > 40:  # without batches, index files are estimated, and merging with them
            assert sizes == [(s.base_offset, s.size_bytes) for s in model.segments], seed
        assert result.logs[seed].checkpoint_offset == model.checkpoint, seed
