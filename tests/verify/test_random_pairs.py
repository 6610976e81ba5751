"""What the oracle leaves is never found fault with, and one lost or stale key always is."""

from collections.abc import Iterator

import pytest

from kcompact.rules.policy import Policy
from kcompact.verify.classification.bounds import Bounds
from kcompact.verify.outcome import VerifyOutcome
from random_pairs import NOW_MS, Pair, random_pair
from verify_here import judge_pair, question_of

PAIRS = 1000


def verify(pairs: list[Pair], retention_ms: int) -> VerifyOutcome:
    before = [r for pair in pairs for r in pair[0]]
    after = [r for pair in pairs for r in pair[1]]
    bounds = Bounds(Policy(now_ms=NOW_MS, delete_retention_ms=retention_ms, null_keys="keep"))
    return judge_pair(question_of(before, after, bounds), before, after)


@pytest.fixture(scope="module")
def pairs() -> list[Pair]:
    return [random_pair(number) for number in range(PAIRS)]


def test_nothing_is_found_in_right_pairs(pairs: list[Pair]) -> None:
    outcome = verify(pairs, retention_ms=0)
    assert [f for f in outcome.findings if f.check != "keyless-left"] == []
    assert outcome.holds
    assert sum(log.records_before - log.records_after for log in outcome.logs) > PAIRS


def test_a_lost_latest_value_is_always_found(pairs: list[Pair]) -> None:
    wrong = list(_without_one(pairs))
    findings = verify(wrong, retention_ms=0).findings
    named = {f.topic for f in findings if f.check in ("missing-log", "missing-key", "stale-value")}
    assert named == {before[0].topic for before, _ in wrong}


def _without_one(pairs: list[Pair]) -> Iterator[Pair]:
    for before, after in pairs:
        latest = {r.key: r.offset for r in before if r.key is not None}
        live = [r for r in after if r.value is not None and latest.get(r.key or b"") == r.offset]
        live = [r for r in live if r.key is not None]
        if live:
            yield before, [r for r in after if r is not live[-1]]
