"""Wrong pairs are found under the right name; right ones are not found fault with."""

from collections import Counter

import pytest

from kcompact.dumps.records.record import Record
from kcompact.rules.policy import Policy
from kcompact.verify.classification.bounds import Bounds
from kcompact.verify.outcome import VerifyOutcome
from mutations import AFTER, BEFORE, MUTATIONS, NOW_MS, Mutation, at, ordered
from records import record
from verify_here import judge_pair, question_of, rows_of

BOUNDS = Bounds(Policy(now_ms=NOW_MS))


def verify(before: list[Record], after: list[Record], bounds: Bounds = BOUNDS) -> VerifyOutcome:
    return judge_pair(question_of(before, after, bounds), before, after)


@pytest.fixture(scope="module")
def mutated() -> dict[str, Counter[str]]:
    """All wrong pairs in one run, each as a topic of its own."""
    before, after = [], []
    for mutation in MUTATIONS:
        before += [r._replace(topic=mutation.name) for r in BEFORE]
        after += [r._replace(topic=mutation.name) for r in mutation.after()]
    counts: dict[str, Counter[str]] = {mutation.name: Counter() for mutation in MUTATIONS}
    for finding in verify(before, after).findings:
        counts[finding.topic][finding.check] += 1
    return counts


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_a_wrong_pair_is_found_under_the_right_name(
    mutation: Mutation, mutated: dict[str, Counter[str]]
) -> None:
    assert mutated[mutation.name] == mutation.found


def test_a_right_pair_holds() -> None:
    outcome = verify(BEFORE, AFTER)
    assert outcome.holds
    assert outcome.findings == ()
    first, second = outcome.logs
    assert first.removed == {"keyless": 1, "superseded": 9, "tombstone_assumed_expired": 1}
    assert second.removed == {"superseded": 1}
    assert (first.records_before, first.records_after, first.cleaned_end_offset) == (20, 9, 20)


def test_nothing_removed_holds() -> None:
    outcome = verify(BEFORE, BEFORE)
    assert outcome.findings == ()
    assert [log.cleaned_end_offset for log in outcome.logs] == [0, 0]


def test_order_counts_unless_before_has_the_record_behind_a_larger_offset_too() -> None:
    a, b = record("a", "1", offset=0), record("b", "1", offset=1)
    for before, count in {(a, b): 1, (a, a, b): 1, (b, a): 0}.items():  # a copy of itself is no larger offset
        checks = [finding.check for finding in verify([*before], [b, a]).findings]
        assert checks == ["reordered-records"] * count, before


def test_a_duplicate_that_no_removal_shows_to_be_below_the_end_is_not_noted() -> None:
    # j=1 went for j deleted at 19: all ends from 20 on explain it, and 20 leaves j deleted where it is.
    outcome = verify(BEFORE, ordered([*AFTER, at(19)]))
    assert outcome.findings == ()
    assert outcome.logs[0].cleaned_end_offset == 20


@pytest.mark.parametrize(("retention_bytes", "lost"), [(1_500, 0), (3_000, 6)])
def test_retention_saw_the_log_before_it_was_cleaned(retention_bytes: int, lost: int) -> None:
    # Of some 170 bytes each, 12 stood behind the 8 that are gone, 18 behind the second of them.
    before = [record(f"k{n}", "v" * 100, offset=n) for n in range(10)]
    before += [record("x", "v" * 100, offset=n) for n in range(10, 20)]
    policy = Policy(
        now_ms=NOW_MS, cleanup_policy=frozenset({"compact", "delete"}), retention_bytes=retention_bytes
    )
    outcome = verify(before, [*before[8:10], before[19]], Bounds(policy))
    assert Counter(finding.check for finding in outcome.findings)["missing-key"] == lost


@pytest.mark.parametrize(("first_kept", "lost"), [(150, 0), (151, 1)])
def test_retention_is_followed_to_the_offset_in_a_log_of_many_offsets(first_kept: int, lost: int) -> None:
    before = [record(f"k{n:03}", "v" * 100, offset=10**9 + n * 1_000) for n in range(200)]
    (record_bytes,) = set(rows_of(before)["log_bytes"].to_pylist())
    policy = Policy(
        now_ms=NOW_MS, cleanup_policy=frozenset({"compact", "delete"}), retention_bytes=50 * record_bytes
    )
    outcome = verify(before, before[first_kept:], Bounds(policy))
    assert Counter(finding.check for finding in outcome.findings)["missing-key"] == lost
