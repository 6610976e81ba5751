"""What the oracle leaves is never found fault with, and one lost or stale key always is."""

import random
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

import oracle
from index_frames import index_frame, logs_of
from kcompact.dumps.record import Record
from kcompact.log.policy import Policy
from kcompact.verify.bounds import Bounds
from kcompact.verify.compaction import verify_compaction
from kcompact.verify.outcome import Outcome
from kcompact.verify.pair import EXTRA
from kcompact.verify.question import Question
from records import TIMESTAMP_MS, record

PAIRS = 1000
NOW_MS = TIMESTAMP_MS + 10**9
Pair = tuple[list[Record], list[Record]]


def random_log(rng: random.Random, topic: str) -> list[Record]:
    """A log with gaps, few keys, tombstones, empty values, records without key."""
    offset = rng.choice([0, 0, 7, 1000])
    records = []
    for _ in range(rng.randrange(1, 25)):
        key = rng.choice(["a", "b", "c", "d", "", None])
        value = rng.choice(["1", "2", "", None]) if key is not None else "x"
        young = rng.random() < 0.3
        records.append(
            record(
                key, value, offset=offset, topic=topic, timestamp_ms=NOW_MS - 1000 if young else TIMESTAMP_MS
            )
        )
        offset += rng.choice([1, 1, 1, 2, 5])
    return records


def random_pair(number: int) -> Pair:
    """BEFORE as it was when new data had come, AFTER as one or two rounds leave it."""
    rng = random.Random(number)
    log = random_log(rng, f"t{number:04}")
    settings = oracle.Settings(
        now_ms=NOW_MS - 500_000_000,
        limit=rng.choice([None, None, 1, 2, 3]),
        bound=rng.choice([None, None, log[len(log) // 2].offset]),
        null_keys=rng.choice(["drop", "keep"]),
        delete_retention_ms=rng.choice([0, 86_400_000]),
    )
    if rng.random() < 0.5:
        return log, oracle.clean(log, settings).retained
    # Cleaned up to the middle first; what the later round starts from is then BEFORE.
    half = [r for r in log if r.offset < log[len(log) // 2].offset] or log
    first = oracle.clean(half, settings)
    before = first.retained + log[len(half) :]
    later = oracle.Settings(now_ms=NOW_MS, null_keys=settings.null_keys, delete_retention_ms=0)
    return before, oracle.clean(before, later, first.checkpoint, first.horizons).retained


def verify(spark: SparkSession, pairs: list[Pair], retention_ms: int) -> Outcome:
    before = [r for pair in pairs for r in pair[0]]
    after = [r for pair in pairs for r in pair[1]]
    logs = logs_of(before, after)
    bounds = Bounds(Policy(now_ms=NOW_MS, delete_retention_ms=retention_ms))
    question = Question(logs, ("before",), "after", dict.fromkeys(logs, bounds), max_findings=PAIRS)
    return verify_compaction(
        spark, index_frame(spark, before, EXTRA), index_frame(spark, after, EXTRA), question
    )


@pytest.fixture(scope="module")
def pairs() -> list[Pair]:
    return [random_pair(number) for number in range(PAIRS)]


def test_nothing_is_found_in_right_pairs(spark: SparkSession, pairs: list[Pair]) -> None:
    outcome = verify(spark, pairs, retention_ms=0)
    assert [f for f in outcome.findings if f.check != "keyless-left"] == []
    assert outcome.holds
    assert sum(log.records_before - log.records_after for log in outcome.logs) > PAIRS


def test_a_lost_latest_value_is_always_found(spark: SparkSession, pairs: list[Pair]) -> None:
    wrong = list(_without_one(pairs))
    found = verify(spark, wrong, retention_ms=0).findings
    named = {f.topic for f in found if f.check in ("missing-key", "stale-value")}
    assert named == {before[0].topic for before, _ in wrong}


def _without_one(pairs: list[Pair]) -> Iterator[Pair]:
    for before, after in pairs:
        latest = {r.key: r.offset for r in before if r.key is not None}
        live = [r for r in after if r.value is not None and latest.get(r.key or b"") == r.offset]
        live = [r for r in live if r.key is not None]
        if live:
            yield before, [r for r in after if r is not live[-1]]
