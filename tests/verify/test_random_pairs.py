"""What the oracle leaves is never found fault with, and one lost or stale key always is."""

from collections.abc import Iterator

import pytest

from kcompact.rules.policy import Policy
from kcompact.verify.classification.bounds import Bounds
from kcompact.verify.outcome import VerifyOutcome
from random_pairs import NOW_MS, Pair, null_keys_of, random_pair
from verify_here import judge_pair, question_of

PAIRS = 1000
LOST_WITHOUT_KEY = {"keyless-lost", "lost-above-end"}


def verify(pairs: list[Pair], retention_ms: int, null_keys: str) -> VerifyOutcome:
    before = [r for pair in pairs for r in pair[0]]
    after = [r for pair in pairs for r in pair[1]]
    bounds = Bounds(Policy(now_ms=NOW_MS, delete_retention_ms=retention_ms, null_keys=null_keys))
    return judge_pair(question_of(before, after, bounds), before, after)


@pytest.fixture(scope="module", params=["drop", "keep"])
def null_keys(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def pairs(null_keys: str) -> list[Pair]:
    return [random_pair(number) for number in range(PAIRS) if null_keys_of(number) == null_keys]


@pytest.mark.everyday(1)
def test_nothing_is_found_in_right_pairs(pairs: list[Pair], null_keys: str) -> None:
    outcome = verify(pairs, retention_ms=0, null_keys=null_keys)
    assert outcome.findings == ()
    assert outcome.holds
    assert sum(log.records_before - log.records_after for log in outcome.logs) > PAIRS // 2


@pytest.mark.everyday(1)
def test_a_lost_latest_value_is_always_found(pairs: list[Pair], null_keys: str) -> None:
    wrong = list(_without_one(pairs))
    findings = verify(wrong, 0, null_keys).findings
    named = {f.topic for f in findings if f.check in ("missing-log", "missing-key", "stale-value")}
    assert named == {before[0].topic for before, _ in wrong}


def test_a_lost_record_without_a_key_is_found_where_such_records_were_to_stay(
    pairs: list[Pair], null_keys: str
) -> None:
    keyless = [next((r for r in after if r.key is None), None) for _, after in pairs]
    wrong = [
        (before, [r for r in after if r is not lost])
        for (before, after), lost in zip(pairs, keyless, strict=True)
        if lost is not None and len(after) > 1
    ]
    named = {f.topic for f in verify(wrong, 0, null_keys).findings if f.check in LOST_WITHOUT_KEY}
    assert named == ({before[0].topic for before, _ in wrong} if null_keys == "keep" else set())
    assert wrong


def _without_one(pairs: list[Pair]) -> Iterator[Pair]:
    for before, after in pairs:
        latest = {r.key: r.offset for r in before if r.key is not None}
        live = [r for r in after if r.value is not None and latest.get(r.key or b"") == r.offset]
        live = [r for r in live if r.key is not None]
        if live:
            yield before, [r for r in after if r is not live[-1]]
