"""Nothing is found fault with in what a real broker left, judged by what is known of its logs."""

import pytest

from golden_pairs import Known, verify
from kcompact.verify.check import Severity


@pytest.mark.slow
@pytest.mark.parametrize("checkpoint_stage", [0, 1], ids=["checkpoint-before", "checkpoint-after"])
def test_what_a_broker_left_holds(checkpoint_stage: int) -> None:
    outcome = verify(Known(checkpoint_stage, policy=True, segments=True, batches=True, offsets=True))
    assert outcome.findings == ()
    assert sum(log.records_before - log.records_after for log in outcome.logs) > 10_000


PARTLY = [
    Known(1),
    Known(policy=True),
    Known(1, segments=True),
    Known(1, batches=True),
    Known(1, policy=True, offsets=True),
    Known(0, policy=True, batches=True),
]


@pytest.mark.slow
@pytest.mark.parametrize("known", PARTLY, ids=str)
def test_whatever_part_is_told_no_broker_is_refused_for_certain(known: Known) -> None:
    outcome = verify(known)
    assert outcome.counts_of(Severity.FINDING) == {}
    undecided = [finding for finding in outcome.findings if finding.severity is Severity.UNDECIDED]
    assert all(finding.remedy for finding in undecided)


@pytest.mark.slow
def test_without_anything_told_no_broker_is_refused_for_certain() -> None:
    outcome = verify(Known())
    assert outcome.counts_of(Severity.FINDING) == {}
    undecided = [finding for finding in outcome.findings if finding.severity is Severity.UNDECIDED]
    assert {finding.topic.split("-")[0] for finding in undecided} >= {"w07", "w27", "w28", "w29"}
    assert all(finding.remedy for finding in undecided)
