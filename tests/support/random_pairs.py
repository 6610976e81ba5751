"""Pairs of a random log and the records that one or two rounds of the oracle leave of it."""

import random

import oracle
from kcompact.dumps.records.record import Record
from records import TIMESTAMP_MS, record

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


def null_keys_of(number: int) -> str:
    """Whether the rounds of a pair drop records without a key, or keep them."""
    return "keep" if number % 2 else "drop"


def random_pair(number: int) -> Pair:
    """BEFORE, and AFTER as one round leaves it, or as a second round does if BEFORE is cleaned in part."""
    rng = random.Random(number)
    log = random_log(rng, f"t{number:04}")
    settings = oracle.Settings(
        now_ms=NOW_MS - 500_000_000,
        limit=rng.choice([None, None, 1, 2, 3]),
        bound=rng.choice([None, None, log[len(log) // 2].offset]),
        null_keys=null_keys_of(number),
        delete_retention_ms=rng.choice([0, 86_400_000]),
    )
    if rng.random() < 0.5:
        return log, oracle.clean(log, settings).retained
    # The first round cleans the first half. BEFORE is its output with the second half, for the later round.
    half = [r for r in log if r.offset < log[len(log) // 2].offset] or log
    first = oracle.clean(half, settings)
    before = first.retained + log[len(half) :]
    later = oracle.Settings(now_ms=NOW_MS, null_keys=settings.null_keys, delete_retention_ms=0)
    return before, oracle.clean(before, later, first.checkpoint, first.horizons).retained
