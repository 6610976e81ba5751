"""Two dumps hold the same state, or every key that differs is named."""

from index_frames import logs_of
from kcompact.dumps.records.record import Record
from kcompact.verify.outcome import VerifyOutcome
from kcompact.verify.same_state import StateQuestion, verify_state
from records import TIMESTAMP_MS, record, tombstone
from verify_here import pairs_of, rows_of

A = [
    record("a", "1", offset=0),
    record("b", "1", offset=1),
    tombstone("b", offset=2),
    record("a", "2", offset=3),
    record("c", "1", offset=4),
    record("gone", "1", offset=5),
    tombstone("gone", offset=6),
    record(None, "no key", offset=7),
]


def verify(a: list[Record], b: list[Record], *, ignore_partitions: bool = False) -> VerifyOutcome:
    question = StateQuestion(logs_of(a), logs_of(b), (("a",), "b"), ignore_partitions=ignore_partitions)
    return verify_state(pairs_of(rows_of(a), rows_of(b), receivers=3), question)


def checks(outcome: VerifyOutcome) -> dict[bytes | None, str]:
    assert len(outcome.findings) == sum(outcome.counts.values())
    return {finding.key: finding.check for finding in outcome.findings}


def test_other_offsets_times_and_headers_are_the_same_state() -> None:
    restored = [
        record("a", "2", offset=40, timestamp_ms=5, headers=(("h", b"1"),)),
        record("c", "1", offset=41),
    ]
    outcome = verify(A, restored)
    assert outcome.holds
    assert outcome.facts["equal_keys"] == 2


def test_every_difference_has_its_name() -> None:
    b = [
        record("a", "1", offset=0),
        record("b", "1", offset=1),
        record("c", "other", offset=2),
        record("new", "1", offset=3),
    ]
    outcome = verify(
        [*A, record("lost", "1", offset=8), record("deleted", "1", offset=9)],
        [*b, tombstone("deleted", offset=4)],
    )
    assert checks(outcome) == {
        b"a": "stale-value",
        b"b": "key-resurrected",
        b"c": "different-value",
        b"new": "unexpected-key",
        b"lost": "missing-key",
        b"deleted": "missing-key",
    }
    words = {finding.key: (finding.expected, finding.found) for finding in outcome.findings}
    assert words[b"deleted"] == ("A's value, of orders-0@9", "the key deleted by the tombstone at orders-0@4")


def test_empty_and_null_are_different_states() -> None:
    assert checks(verify([record("k", "", offset=0)], [tombstone("k", offset=0)])) == {b"k": "missing-key"}
    assert checks(verify([record("k", "", offset=0)], [record("k", "null", offset=0)])) == {
        b"k": "different-value"
    }


def test_another_partition_is_another_key_unless_partitions_are_ignored() -> None:
    a = [record("k", "1", offset=0), record("l", "1", offset=1)]
    b = [record("k", "1", offset=0, partition=1), record("l", "1", offset=0)]
    assert sorted(verify(a, b).counts.items()) == [
        ("different-value", 0),
        ("key-resurrected", 0),
        ("missing-key", 1),
        ("stale-value", 0),
        ("unexpected-key", 1),
    ]
    assert verify(a, b, ignore_partitions=True).holds


def test_of_several_partitions_the_youngest_record_counts() -> None:
    a = [
        record("k", "old", offset=90, timestamp_ms=TIMESTAMP_MS),
        record("k", "new", offset=0, partition=1, timestamp_ms=TIMESTAMP_MS + 1),
    ]
    outcome = verify(a, [record("k", "new", offset=0)], ignore_partitions=True)
    assert outcome.holds
    assert "1 key in several partitions" in outcome.assumed[0]


def test_a_mirrored_topic_may_have_another_name() -> None:
    mirrored = [r._replace(topic="west.orders") for r in A]
    outcome = verify(A, mirrored)
    assert outcome.holds
    assert outcome.assumed == ("orders in A is compared with west.orders in B: each dump holds one topic",)
