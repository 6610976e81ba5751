"""One dump alone: what could still go."""

from collections import Counter

from pyspark.sql import SparkSession

from index_frames import index_frame, logs_of
from kcompact.dumps.record import Record
from kcompact.log.policy import Policy
from kcompact.verify.bounds import Bounds
from kcompact.verify.compacted import verify_compacted
from kcompact.verify.outcome import Outcome
from kcompact.verify.pair import EXTRA
from kcompact.verify.question import Question
from mutations import AFTER, BEFORE, NOW_MS, at, ordered


def verify(spark: SparkSession, after: list[Record], bounds: Bounds | None = None) -> Outcome:
    logs = logs_of(after)
    question = Question(logs, (), "after", dict.fromkeys(logs, bounds or Bounds(Policy(now_ms=NOW_MS))))
    return verify_compacted(spark, index_frame(spark, after, EXTRA), question)


def test_a_compacted_dump_holds_and_says_which_tombstones_are_left(spark: SparkSession) -> None:
    outcome = verify(spark, AFTER)
    assert outcome.holds
    assert outcome.assumed == ("2 keys end with a tombstone: it goes when delete.retention.ms is over",)


def test_all_that_could_go_is_found(spark: SparkSession) -> None:
    found = Counter(finding.check for finding in verify(spark, [*ordered(BEFORE), at(14)]).findings)
    # Offsets 0, 2, 3, 4, 5, 7, 16, 18, 19 and one of partition 1 are replaced by later ones.
    assert found == {"duplicate-left": 10, "keyless-left": 1, "duplicate-offset": 1, "reordered-records": 1}


def test_above_the_bound_of_every_round_nothing_has_to_be_gone(spark: SparkSession) -> None:
    outcome = verify(spark, [at(n) for n in (2, 4, 5, 11, 15)], Bounds(uncleanable_offset=11))
    assert [(f.check, f.offset) for f in outcome.findings] == [("duplicate-left", 2)]
    assert "2 records have a later one above the cleaned end: they may go in a later round" in outcome.assumed


def test_a_checkpoint_says_what_is_to_be_compacted(spark: SparkSession) -> None:
    outcome = verify(spark, [at(n) for n in (2, 5, 9, 11)], Bounds(checkpoint_offset=6))
    assert [(f.check, f.offset) for f in outcome.findings] == [("duplicate-left", 2)]
