"""One dump alone: what could still go."""

from collections import Counter

from kcompact.dumps.records.record import Record
from kcompact.rules.policy import Policy
from kcompact.verify.classification.bounds import Bounds
from kcompact.verify.outcome import VerifyOutcome
from mutations import AFTER, BEFORE, NOW_MS, at, ordered
from verify_here import judge_alone, question_of


def verify(after: list[Record], bounds: Bounds | None = None) -> VerifyOutcome:
    return judge_alone(question_of(after, after, bounds or Bounds(Policy(now_ms=NOW_MS))), after)


def test_a_compacted_dump_holds_and_says_which_tombstones_are_left() -> None:
    outcome = verify(AFTER)
    assert outcome.holds
    assert outcome.assumed == ("2 keys end with a tombstone: it goes when delete.retention.ms is over",)


def test_all_that_could_go_is_found() -> None:
    counts = Counter(finding.check for finding in verify([*ordered(BEFORE), at(14)]).findings)
    # Offsets 0, 2, 3, 4, 5, 7, 16, 18, 19 and one of partition 1 are replaced by later ones.
    assert counts == {"duplicate-left": 10, "keyless-left": 1, "duplicate-offset": 1, "reordered-records": 1}


def test_above_the_bound_of_every_round_nothing_has_to_be_gone() -> None:
    outcome = verify([at(n) for n in (2, 4, 5, 11, 15)], Bounds(uncleanable_offset=11))
    assert [(f.check, f.offset) for f in outcome.findings] == [("duplicate-left", 2)]
    assert "2 records have a later one above the cleaned end, and may go in a later round" in outcome.assumed


def test_one_record_and_one_key_are_spoken_of_as_such() -> None:
    outcome = verify([at(n) for n in (0, 1)], Bounds(uncleanable_offset=1))
    assert outcome.assumed == (
        "1 record has a later one above the cleaned end, and may go in a later round",
        "1 key ends with a tombstone: it goes when delete.retention.ms is over",
    )


def test_a_checkpoint_says_what_is_to_be_compacted() -> None:
    outcome = verify([at(n) for n in (2, 5, 9, 11)], Bounds(checkpoint_offset=6))
    assert [(f.check, f.offset) for f in outcome.findings] == [("duplicate-left", 2)]
