"""Evidence that keys are gone."""

import pytest

from index_frames import logs_of
from kcompact.verify.absent_keys import AbsentQuestion, verify_absent
from kcompact.verify.outcome import KeyEvidence, KeyVerdict
from records import record, tombstone
from verify_here import pairs_of, rows_of

BEFORE = [
    record("erased", "personal", offset=0),
    record("deleted", "personal", offset=1),
    record("kept", "1", offset=2),
    tombstone("erased", offset=3),
    tombstone("deleted", offset=4),
    record("not erased", "personal", offset=5),
    tombstone("not erased", offset=6),
    record("kept", "1", offset=0, partition=1),
]
AFTER = [*BEFORE[2:3], *BEFORE[4:]]
KEYS = (b"erased", b"deleted", b"not erased", b"kept", b"never seen")


def test_every_key_has_a_verdict_and_its_last_offsets() -> None:
    question = AbsentQuestion(KEYS, logs_of(BEFORE), ("before",), "after")
    outcome = verify_absent(pairs_of(rows_of(BEFORE), rows_of(AFTER), receivers=2), question)
    assert outcome.evidence == (
        KeyEvidence(b"erased", KeyVerdict.ABSENT, "orders", 0, 0, 3, None),
        KeyEvidence(b"deleted", KeyVerdict.TOMBSTONE_ONLY, "orders", 0, 1, 4, None),
        KeyEvidence(b"not erased", KeyVerdict.VALUE_LEFT, "orders", 0, 5, 6, 5),
        KeyEvidence(b"kept", KeyVerdict.PRESENT, "orders", 0, 2, None, 2),
        KeyEvidence(b"kept", KeyVerdict.PRESENT, "orders", 1, 0, None, 0),
        KeyEvidence(b"never seen", KeyVerdict.ABSENT),
    )
    assert not outcome.holds
    assert outcome.counts == {"present": 2, "value-left": 1, "misspelt-key": 0}


def test_keys_without_values_hold() -> None:
    question = AbsentQuestion((b"erased", b"deleted"), logs_of(AFTER), (), "after")
    outcome = verify_absent(pairs_of(None, rows_of(AFTER)), question)
    assert outcome.holds
    assert [entry.verdict for entry in outcome.evidence] == [
        KeyVerdict.ABSENT,
        KeyVerdict.TOMBSTONE_ONLY,
    ]


def test_keys_that_may_be_spelt_otherwise_are_counted_not_shown() -> None:
    records = [record("alice", "personal", offset=0), record("Jos\u00e9", "personal", offset=1)]
    slips = (b"alice ", b'"alice"', "Jose\u0301".encode(), b"nobody")
    question = AbsentQuestion(slips, logs_of(records), ("before",), "after")
    outcome = verify_absent(pairs_of(rows_of(records), rows_of(records)), question)
    assert (outcome.is_undecided, outcome.counts["misspelt-key"]) == (True, 3)
    places = [(finding.key, finding.offset) for finding in outcome.findings]
    assert places == [(slips[0], 0), (slips[1], 0), (slips[2], 1)]
    misspelt, unseen = outcome.assumed
    assert misspelt.startswith("keys are compared byte by byte: 3 keys")
    assert unseen.startswith("4 keys in none of the dumps")
    assert "alice" not in misspelt + unseen


@pytest.mark.parametrize(
    ("slip", "key"),
    [
        *(("7", '"7"'), ("Jos\u00e9", '"Jos\u00e9"'), ("Jos\u00e9", r'"Jos\u00e9"'), (b"\xff\xfe", "//4=")),
        *((b"Jos\xe9", "Jos\u00e9"), ("alice\u00a0", "alice"), ("\u200balice\0", "alice")),
        *(('{"id":7,"a":[1]}', '{"id": 7, "a": [1]}'), ('{ "id": 7}', '{"id":7}'), ("YWxpY2U=", "alice")),
        *(("alice", "\0\0\0\0\5\nalice"), ("bob", '\0\0\0\1\0"bob"'), ("7", "\0\0\0\0\0017")),
    ],
)
def test_a_key_may_be_spelt_as_the_dump_has_it_alone(slip: str | bytes, key: str) -> None:
    """Text within a value has quotes, and kafkactl writes as base64 what is no text.

    A serializer puts a schema's id first.
    The list may be written by an editor of Windows, copied from a page or from the dump itself.
    """
    records = [record(key, "personal", offset=0)]
    asked = slip if isinstance(slip, bytes) else slip.encode()
    outcome = verify_absent(
        pairs_of(None, rows_of(records)), AbsentQuestion((asked,), logs_of(records), (), "after")
    )
    assert (outcome.is_undecided, outcome.counts["misspelt-key"]) == (True, 1)


def test_a_key_that_may_be_one_that_is_gone_as_well_is_gone() -> None:
    question = AbsentQuestion((b"erased ", b"deleted "), logs_of(BEFORE), ("before",), "after")
    outcome = verify_absent(pairs_of(rows_of(BEFORE), rows_of(AFTER)), question)
    assert (outcome.holds, outcome.is_undecided) == (True, False)
    assert outcome.assumed[0].startswith("keys are compared byte by byte: 2 keys")


def test_keys_that_are_there_raise_no_doubt() -> None:
    question = AbsentQuestion((b"erased", b"kept"), logs_of(BEFORE), ("before",), "after")
    assert verify_absent(pairs_of(rows_of(BEFORE), rows_of(AFTER)), question).assumed == ()
