"""What ``dirty-ratio`` says of random segmented logs, against the broker model that cleans them."""

import copy
from dataclasses import replace

import pytest

from broker_log import Config, ModelLog
from broker_model import byte_sums, cleanable_range, compaction_delay, is_eligible, roll, turn
from broker_rounds import clean_round
from kcompact.broker.log_context import LogContext
from kcompact.broker.segment_lists import Segment
from kcompact.dumps.records.record import Record
from kcompact.rules.policy import Policy
from log_scans import look
from random_logs import NOW_MS, random_log
from small_maps import with_map_of

SEEDS = range(200)


def policy_of(config: Config) -> Policy:
    policy = Policy(
        cleanup_policy=config.cleanup_policy,
        min_cleanable_dirty_ratio=config.min_cleanable_dirty_ratio,
        min_compaction_lag_ms=config.min_compaction_lag_ms,
        max_compaction_lag_ms=config.max_compaction_lag_ms,
        segment_bytes=config.segment_bytes,
        segment_ms=config.segment_ms,
        now_ms=NOW_MS,
    )
    return with_map_of(config.offset_map_limit, policy)


def contexts_of(log: ModelLog) -> LogContext:
    return LogContext(
        segments=tuple(Segment(s.base_offset, s.size_bytes, s.mtime_ms) for s in log.segments),
        log_start_offset=log.log_start,
        log_end_offset=log.log_end,
        last_stable_offset=log.last_stable,
        checkpoint_offset=log.checkpoint,
    )


def records_of(log: ModelLog) -> list[Record]:
    return [record for batch in log.batches() for record in batch.records]


@pytest.mark.everyday(50)
@pytest.mark.parametrize("seed", SEEDS)
def test_range_sums_delay_and_eligibility_are_the_model_s(seed: int) -> None:
    made = random_log(seed, transactions=False)
    expected = cleanable_range(made.log, made.config, NOW_MS)
    dirtiness = look(records_of(made.log), contexts_of(made.log), policy_of(made.config), pieces=1 + seed % 5)
    assert (dirtiness.range.first_dirty_offset, dirtiness.range.first_uncleanable_offset) == (
        expected.first_dirty,
        expected.bound,
    )
    assert dirtiness.range.checkpoint_reset == expected.reset
    assert (dirtiness.ratio.clean_bytes, dirtiness.ratio.cleanable_bytes) == byte_sums(made.log, expected)
    delay_ms = compaction_delay(made.log, made.config, expected.first_dirty, NOW_MS)
    assert dirtiness.ratio.compaction_delay_ms == delay_ms
    assert dirtiness.eligible == is_eligible(made.log, made.config, NOW_MS)


@pytest.mark.everyday(50)
@pytest.mark.parametrize("seed", SEEDS)
def test_what_would_go_goes(seed: int) -> None:
    made = random_log(seed, transactions=False)
    config = replace(made.config, offset_map_limit=None, cleanup_policy=frozenset({"compact"}))
    dirtiness = look(records_of(made.log), contexts_of(made.log), policy_of(config))
    log = copy.deepcopy(made.log)
    if not dirtiness.ratio.cleanable_bytes:
        assert dirtiness.gain.removable_records == 0
        return
    done = clean_round(log, config, NOW_MS, cleanable_range(log, config, NOW_MS))
    assert dirtiness.gain.removable_records == len(records_of(made.log)) - len(records_of(log))
    assert dirtiness.gain.keyless_records == done.invalid
    assert dirtiness.gain.map_entries == done.map_entries


@pytest.mark.everyday(50)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_small_map_needs_the_model_s_rounds(seed: int) -> None:
    made = random_log(seed, transactions=False)
    config = replace(made.config, cleanup_policy=frozenset({"compact"}), delete_retention_ms=10**9)
    dirtiness = look(records_of(made.log), contexts_of(made.log), policy_of(config))
    rounds = turn(copy.deepcopy(made.log), config, NOW_MS, rounds=None, respect_ratio=False)
    assert dirtiness.gain.rounds == len(rounds)


@pytest.mark.parametrize("seed", SEEDS)
def test_rolled_segments_are_the_model_s(seed: int) -> None:
    made = random_log(seed, transactions=False)
    config = replace(made.config, segment_ms=500)
    rolled = roll(made.log.batches(), config)
    context = replace(contexts_of(made.log), segments=None)
    expected = cleanable_range(
        replace(made.log, segments=rolled), replace(config, max_compaction_lag_ms=2**63 - 1), NOW_MS
    )
    dirtiness = look(records_of(made.log), context, policy_of(config))
    assert [s.base_offset for s in dirtiness.segments or ()] == [s.base_offset for s in rolled]
    assert dirtiness.range.first_uncleanable_offset == expected.bound
