"""What no broker can have left is a finding; what one could is a note, or undecided with a remedy."""

from dataclasses import replace

import numpy as np
import pytest

from index_frames import logs_of
from kcompact.broker.aborted import AbortedRange
from kcompact.broker.log_context import LogContext
from kcompact.broker.segment_lists import Segment
from kcompact.dumps.records.record import Record, log_id_of
from kcompact.rules.lookups import lookup_for
from kcompact.rules.policy import Policy
from kcompact.verify.check import Severity
from kcompact.verify.classification.bounds import Bounds, Knowledge
from kcompact.verify.classification.verify_context import VerifyContext, with_knowledge
from kcompact.verify.outcome import VerifyOutcome
from packed_batches import ListedBatch, packed
from records import record, tombstone
from verify_here import judge_pair, question_of

DAY_MS = 86_400_000
NOW_MS = 1_800_000_000_000
LOG_ID = log_id_of("orders", 0)
CLEANS_ONLY = Knowledge(frozenset({"cleanup.policy"}))
UPDATES = [record(key, str(offset), offset=offset) for offset, key in enumerate("abcabcabc")]
COMPACTED = UPDATES[6:]


def judge(
    before: list[Record], after: list[Record], bounds: Bounds | None = None, context: LogContext | None = None
) -> VerifyOutcome:
    bounds = bounds or Bounds(Policy(now_ms=NOW_MS))
    lookups = {LOG_ID: lookup_for(context, bounds.policy)} if context else {}
    return judge_pair(question_of(before, after, bounds), before, after, lookups)


def counts(outcome: VerifyOutcome, severity: Severity) -> dict[str, int]:
    return outcome.counts_of(severity)


def left_beside(*offsets: int) -> list[Record]:
    return sorted([*(UPDATES[offset] for offset in offsets), *COMPACTED], key=lambda r: r.offset)


def test_an_older_version_is_a_finding_where_others_that_as_late_ones_replace_are_gone() -> None:
    compacts_only = Bounds(Policy(now_ms=NOW_MS), knowledge=Knowledge(frozenset({"cleanup.policy"})))
    outcome = judge(UPDATES, left_beside(4), compacts_only)
    assert counts(outcome, Severity.FINDING) == {"duplicate-left": 1}
    assert outcome.findings[0].offset == 4
    assert "offset 7 replaces it" in outcome.findings[0].expected


def test_a_value_that_a_tool_may_have_touched_does_not_excuse_a_record_that_had_to_go() -> None:
    """The record that stayed is the one that was there, whatever its value looks like in one of the dumps."""
    bounds = Bounds(Policy(now_ms=NOW_MS), knowledge=CLEANS_ONLY)
    touched = [each._replace(value=b"?") if each.offset in {4, 8} else each for each in left_beside(4)]
    question = replace(question_of(UPDATES, touched, bounds), doubted=frozenset({"value_hash"}))
    for settles in (True, False):
        outcome = judge_pair(question, UPDATES, touched, settles=settles)
        assert counts(outcome, Severity.FINDING) == {"duplicate-left": 1}
        assert counts(outcome, Severity.UNDECIDED) == {"changed-record": 2}
    touched = [each._replace(value=b"?") for each in COMPACTED]
    question = replace(question_of(UPDATES, touched, bounds), doubted=frozenset({"value_hash"}))
    outcome = judge_pair(question, UPDATES, touched)
    assert counts(outcome, Severity.FINDING) == {}
    assert counts(outcome, Severity.UNDECIDED) == {"changed-record": 3}
    deleted = [each._replace(value=None) if each.offset == 8 else each for each in COMPACTED]
    question = replace(question_of(UPDATES, deleted, bounds), doubted=frozenset({"value_hash"}))
    assert counts(judge_pair(question, UPDATES, deleted), Severity.FINDING)["changed-record"] == 1


def test_an_older_version_may_lie_below_where_cleaning_began() -> None:
    # The only removal that shows how far rounds got is of a key behind what replaces the one that stayed.
    before = [record(key, str(offset), offset=offset) for offset, key in enumerate("aabb")]
    outcome = judge(before, [before[n] for n in (0, 1, 3)])
    assert outcome.holds
    assert counts(outcome, Severity.NOTE) == {"duplicate-left": 1}
    assert "unless cleaning began after that" in outcome.findings[0].expected
    cleaned_from_the_start = Bounds(Policy(now_ms=NOW_MS), knowledge=Knowledge(first_dirty_offset=0))
    assert counts(judge(before, [before[n] for n in (0, 1, 3)], cleaned_from_the_start), Severity.FINDING)


def test_an_older_version_is_a_finding_where_a_later_one_of_its_key_is_gone() -> None:
    """What replaced offset 1 was in a round's map, wherever it began, and then offset 0 had to go as well."""
    before = [record(key, str(offset), offset=offset) for offset, key in enumerate("aaaab")]
    after = [before[n] for n in (0, 2, 3, 4)]
    outcome = judge(before, after, Bounds(Policy(now_ms=NOW_MS), knowledge=CLEANS_ONLY))
    assert counts(outcome, Severity.FINDING) == {"duplicate-left": 1}  # cleaning may have ended at offset 3
    assert outcome.findings[0].offset == 0
    assert "offset 2 replaces it" in outcome.findings[0].expected

    may_be_aborted = Knowledge(frozenset({"cleanup.policy"}), last_missing_offset=9)
    assert judge(before, after, Bounds(Policy(now_ms=NOW_MS), knowledge=may_be_aborted)).holds


def test_a_tombstone_that_went_by_itself_does_not_tell_that_older_ones_had_to_go() -> None:
    before = [record("a", "0", offset=0), tombstone("a", offset=1), record("a", "2", offset=2)]
    outcome = judge(before, [before[0], before[2]], Bounds(Policy(now_ms=NOW_MS), knowledge=CLEANS_ONLY))
    assert counts(outcome, Severity.FINDING) == {}


def test_what_may_have_been_aborted_proves_nothing() -> None:
    bounds = Bounds(Policy(now_ms=NOW_MS), knowledge=Knowledge(last_missing_offset=9))
    outcome = judge(UPDATES, left_beside(4), bounds)
    assert outcome.holds
    assert counts(outcome, Severity.NOTE) == {"duplicate-left": 1}
    assert "--read-committed with BEFORE itself" in outcome.findings[0].expected


@pytest.mark.parametrize(("log_start_offset", "findings"), [(6, {}), (1, {"aborted-left": 1})])
def test_aborted_data_below_the_log_start_may_stay(log_start_offset: int, findings: dict[str, int]) -> None:
    """As a broker left it whose DeleteRecords went beyond the transaction: kafka-dump-log prints it still."""
    bounds = Bounds(Policy(now_ms=NOW_MS), log_start_offset=log_start_offset)
    before = [record(key, "v", offset=offset) for offset, key in enumerate("abcdefghh")]
    after = [before[n] for n in (0, 1, 2, 3, 4, 5, 6, 8)]
    outcome = judge(before, after, bounds, LogContext(aborted=(AbortedRange(3, 3),)))
    assert counts(outcome, Severity.FINDING) == findings


@pytest.mark.parametrize("offset", [4, 7])
def test_aborted_data_goes_with_its_segment_whatever_the_end_of_the_map(offset: int) -> None:
    # Segments of three; offsets 4 to 5 and 7 were aborted. A round wrote the first two anew.
    context = LogContext(aborted=(AbortedRange(4, 5), AbortedRange(7, 7)))
    bounds = Bounds(
        Policy(now_ms=NOW_MS),
        segments=((0, 210), (3, 210), (6, 210)),
        knowledge=Knowledge(transactions_given=True),
    )
    before = [record(key, "v", offset=offset) for offset, key in enumerate("aabcdefgh")]
    after = [before[n] for n in (1, 2, 3, 4, 6, 7, 8) if n != 4 or offset == 4]
    outcome = judge(before, after, bounds, context)
    assert counts(outcome, Severity.FINDING) == ({"aborted-left": 1} if offset == 4 else {})


@pytest.mark.parametrize(
    ("rounds", "configs", "severity"),
    [
        (1, {"cleanup.policy", "min.compaction.lag.ms"}, Severity.FINDING),
        (1, {"cleanup.policy"}, Severity.UNDECIDED),  # a lag lets several rounds come
        (2, {"cleanup.policy"}, None),
    ],
)
def test_a_tombstone_outlives_the_round_that_sets_its_horizon(
    rounds: int, configs: set[str], severity: Severity | None
) -> None:
    knowledge = Knowledge(batches_given=True, transactions_given=True, has_one_round=rounds == 1)
    before = [record("a", "1", offset=0), tombstone("a", offset=1), record("b", "1", offset=2)]
    outcome = judge(
        before,
        before[2:],
        Bounds(
            Policy(now_ms=NOW_MS),
            log_start_offset=0,
            knowledge=replace(knowledge, configs=frozenset(configs)),
        ),
    )
    assert [finding.severity for finding in outcome.findings] == ([severity] if severity else [])
    remedies = [finding.remedy or "" for finding in outcome.findings if severity is Severity.UNDECIDED]
    assert all("--min-compaction-lag-ms" in remedy for remedy in remedies)


CLEAN_ONES = [record("a", "1", offset=0), tombstone("a", offset=1), record("b", "1", offset=2)]
CLEAN_BELOW = Bounds(
    Policy(now_ms=NOW_MS),
    checkpoint_offset=2,
    checkpoint_is_end=False,
    knowledge=replace(CLEANS_ONLY, batches_given=True, transactions_given=True),
)


@pytest.mark.parametrize(
    ("bounds", "horizon_ms", "severity"),
    [
        (CLEAN_BELOW, NOW_MS, Severity.NOTE),
        (CLEAN_BELOW, NOW_MS + 1, Severity.FINDING),
        (CLEAN_BELOW, None, Severity.FINDING),
        (replace(CLEAN_BELOW, checkpoint_offset=1), NOW_MS, Severity.FINDING),
        (replace(CLEAN_BELOW, checkpoint_offset=None), NOW_MS, Severity.FINDING),
        (replace(CLEAN_BELOW, checkpoint_is_end=True), NOW_MS, Severity.FINDING),
        (replace(CLEAN_BELOW, knowledge=CLEANS_ONLY), NOW_MS, Severity.FINDING),
    ],
)
def test_a_due_tombstone_may_go_before_its_value_where_checkpoint_and_batches_tell_that_both_are_clean(
    bounds: Bounds, horizon_ms: int | None, severity: Severity
) -> None:
    context = LogContext(batches=packed([ListedBatch(0, 1, 2, 90, delete_horizon_ms=horizon_ms)]))
    outcome = judge(CLEAN_ONES, [CLEAN_ONES[0], CLEAN_ONES[2]], bounds, context)
    assert counts(outcome, severity) == {"key-resurrected": 1}
    assert outcome.holds == (severity is Severity.NOTE)
    assert ("the deleted key has its old value again" in outcome.findings[0].found) == outcome.holds


@pytest.mark.parametrize(
    ("last_missing_offset", "severity"), [(None, Severity.FINDING), (9, Severity.UNDECIDED)]
)
def test_a_tombstone_does_not_go_before_an_earlier_one_of_its_key(
    last_missing_offset: int | None, severity: Severity
) -> None:
    """The round that has it in its map takes the earlier one, unless it was aborted (R17, R21)."""
    before = [tombstone("a", offset=0), record("b", "1", offset=1), tombstone("a", offset=2)]
    before.append(record("c", "1", offset=3))
    bounds = Bounds(Policy(now_ms=NOW_MS), knowledge=Knowledge(last_missing_offset=last_missing_offset))
    outcome = judge(before, [before[0], before[1], before[3]], bounds)
    assert counts(outcome, severity) == {"tombstone-too-early": 1}
    assert "it replaces the one at offset 0" in outcome.findings[0].expected
    assert judge(before, before[1:], bounds).holds
    assert judge(before, [before[1], before[3]], bounds).holds


def test_an_earlier_tombstone_that_stayed_is_no_proof() -> None:
    before = [tombstone("a", offset=0), tombstone("b", offset=1), record("c", "1", offset=2)]
    outcome = judge(before, [before[0], before[2]])
    assert outcome.holds
    assert counts(outcome, Severity.NOTE) == {"tombstone-too-early": 1}


@pytest.mark.parametrize(("gone", "findings"), [({0, 2}, {}), ({0, 1, 2}, {"duplicate-left": 1})])
def test_a_later_tombstone_of_its_segment_that_stayed_is_a_proof_where_rounds_reached_it(
    gone: set[int], findings: dict[str, int]
) -> None:
    """A round stamps both. One that reached offset 6 took 0 for 8, not by itself, so it took 4 for 7, too."""
    before = [record(key, str(offset), offset=offset) for offset, key in enumerate("aeccdgedaf")]
    for offset in (0, 6):
        before[offset] = before[offset]._replace(value=None)
    knowledge = Knowledge(frozenset({"cleanup.policy", "delete.retention.ms"}), batches_given=True)
    bounds = Bounds(Policy(now_ms=NOW_MS), segments=((0, 630), (9, 70)), knowledge=knowledge)
    outcome = judge(before, [r for r in before if r.offset not in gone], bounds)
    assert counts(outcome, Severity.FINDING) == findings


@pytest.mark.parametrize(
    ("gone", "knowledge", "remedy"),
    [
        (0, Knowledge(), "--cleanup-policy compact,delete"),
        (0, Knowledge(frozenset({"cleanup.policy"})), None),
        (2, Knowledge(last_missing_offset=9), "--batches or --read-committed"),
        (2, Knowledge(last_missing_offset=9, transactions_given=True), None),
        (3, Knowledge(), f"--delete-retention-ms {DAY_MS - 1000} or less"),
        (3, Knowledge(frozenset({"delete.retention.ms"})), None),
    ],
)
def test_a_loss_names_the_option_that_could_explain_it(
    gone: int, knowledge: Knowledge, remedy: str | None
) -> None:
    before = [
        record("a", "1", offset=0),
        record("b", "1", offset=1),
        record("c", "1", offset=2),
        tombstone("d", offset=3, timestamp_ms=NOW_MS - DAY_MS + 1000),
        record("e", "1", offset=4),
    ]
    outcome = judge(
        before, [r for r in before if r.offset != gone], Bounds(Policy(now_ms=NOW_MS), knowledge=knowledge)
    )
    assert outcome.is_undecided == (remedy is not None)
    (finding,) = outcome.findings
    assert (finding.remedy or "").startswith(remedy or "")
    assert bool(finding.remedy) == bool(remedy)


def test_no_retention_of_tombstones_explains_a_loss_before_they_came() -> None:
    """``--delete-retention-ms 0 or less`` was named, which settles nothing."""
    before = [tombstone("a", offset=0, timestamp_ms=NOW_MS + 5), record("b", "1", offset=1)]
    (finding,) = judge(before, before[1:], Bounds(Policy(now_ms=NOW_MS))).findings
    assert str(finding.remedy).startswith(f"--now {NOW_MS + 5} or later")
    later = Policy(now_ms=NOW_MS + 5, delete_retention_ms=0)
    assert judge(before, before[1:], Bounds(later)).holds


@pytest.mark.parametrize("configs", [frozenset[str](), frozenset({"cleanup.policy"})])
def test_a_log_that_is_gone_is_a_finding_where_only_the_cleaner_takes(configs: frozenset[str]) -> None:
    outcome = judge(UPDATES, [], Bounds(Policy(now_ms=NOW_MS), knowledge=Knowledge(configs)))
    (finding,) = outcome.findings
    assert finding.check == "missing-log"
    assert outcome.is_undecided == (not configs)
    assert ("--cleanup-policy: compact makes this a finding" in (finding.remedy or "")) == (not configs)


@pytest.mark.parametrize("is_bound_estimated", [False, True])
def test_a_loss_above_segments_that_configs_let_one_expect_names_segments(is_bound_estimated: bool) -> None:
    bounds = Bounds(
        Policy(now_ms=NOW_MS),
        uncleanable_offset=6,
        is_bound_estimated=is_bound_estimated,
        knowledge=CLEANS_ONLY,
    )
    outcome = judge(UPDATES, COMPACTED, bounds)
    assert outcome.is_undecided == is_bound_estimated
    assert counts(outcome, Severity.UNDECIDED if is_bound_estimated else Severity.FINDING)["lost-above-end"]
    assert all(finding.remedy is None or "--segments" in finding.remedy for finding in outcome.findings)


def test_a_lost_last_value_is_a_finding_wherever_segments_end() -> None:
    bounds = Bounds(
        Policy(now_ms=NOW_MS), uncleanable_offset=6, is_bound_estimated=True, knowledge=CLEANS_ONLY
    )
    assert counts(judge(UPDATES, UPDATES[:8], bounds), Severity.FINDING) == {
        "stale-value": 1,
        "lost-above-end": 1,
    }


def test_estimated_segments_do_not_speak_against_aborted_data() -> None:
    knowledge = replace(CLEANS_ONLY, last_missing_offset=9)
    bounds = Bounds(Policy(now_ms=NOW_MS), uncleanable_offset=6, is_bound_estimated=True, knowledge=knowledge)
    outcome = judge(UPDATES, UPDATES[:8], bounds)
    assert outcome.is_undecided
    assert counts(outcome, Severity.UNDECIDED) == {"stale-value": 1, "lost-above-end": 1}
    assert "--batches or --read-committed" in (outcome.findings[0].remedy or "")
    outcome = judge(UPDATES, UPDATES[:8], bounds, LogContext(aborted=(AbortedRange(8, 8),)))
    assert outcome.is_undecided
    assert "--segments" in (outcome.findings[0].remedy or "")
    told = judge(UPDATES, UPDATES[:8], replace(bounds, is_bound_estimated=False))
    assert counts(told, Severity.FINDING) == {"stale-value": 1, "lost-above-end": 1}


def test_an_older_version_is_no_proof_where_a_checkpoint_may_be_of_either_time() -> None:
    # A round that ended at 4 took offset 0 for 2, and left 2; one that began there would have taken both.
    before = [record(key, str(offset), offset=offset) for offset, key in enumerate("abacda")]
    knowledge = replace(CLEANS_ONLY, first_dirty_offset=4)
    outcome = judge(
        before, before[1:], Bounds(Policy(now_ms=NOW_MS), checkpoint_offset=4, knowledge=knowledge)
    )
    assert outcome.findings == ()
    assert (outcome.logs[0].cleaned_end_offset, outcome.logs[0].cleaned_end_is_given) == (4, True)


@pytest.mark.parametrize(
    ("keys", "gone", "found"),
    [
        pytest.param("faabfa", {0, 1}, {}, id="gone with the log start"),
        pytest.param("gaabda", {1, 4}, {"missing-key": 1}, id="lost"),
    ],
)
def test_what_cleaning_does_not_explain_is_no_proof_of_how_a_checkpoint_is_to_be_read(
    keys: str, gone: set[int], found: dict[str, int]
) -> None:
    # Cleaned below 4, as which 1 went for 2; a round from 4 on would have taken 2 for 5, too.
    before = [record(key, str(offset), offset=offset) for offset, key in enumerate(keys)]
    after = [r for r in before if r.offset not in gone]
    bounds = Bounds(Policy(now_ms=NOW_MS), checkpoint_offset=4, log_start_offset=1, knowledge=CLEANS_ONLY)
    assert counts(judge(before, after, bounds), Severity.FINDING) == found


@pytest.mark.parametrize("checkpoint", [None, 2, 4])
def test_what_lies_below_the_log_start_replaces_nothing_for_certain(checkpoint: int | None) -> None:
    # kafka-dump-log prints what the log start has passed; rounds since then have not mapped it.
    before = [record(key, str(offset), offset=offset) for offset, key in enumerate("aabb")]
    bounds = Bounds(Policy(now_ms=NOW_MS), checkpoint_offset=checkpoint, log_start_offset=2)
    assert judge(before, [r for r in before if r.offset != 2], bounds).findings == ()


def test_one_certain_finding_decides() -> None:
    before = [record(key, "1", offset=offset) for offset, key in enumerate("abcd")]
    outcome = judge(before, [before[1], before[3]])
    assert counts(outcome, Severity.UNDECIDED) == {"missing-key": 1}
    assert counts(outcome, Severity.FINDING) == {"missing-key": 1}
    assert not outcome.is_undecided


def retention(segments: tuple[tuple[int, int], ...]) -> Bounds:
    policy = Policy(
        now_ms=NOW_MS, cleanup_policy=frozenset({"compact", "delete"}), retention_bytes=560, retention_ms=-1
    )
    return Bounds(policy, log_start_offset=0, segments=segments, knowledge=CLEANS_ONLY)


@pytest.mark.parametrize(("second", "holds"), [(280, True), (209, False)])
def test_retention_by_size_counts_from_the_first_segment_that_stays(second: int, holds: bool) -> None:
    before = [record("old", "v", offset=0), *(record("k", "v", offset=n) for n in range(1, 13))]
    bounds = retention(((0, 282), (4, second), (8, 280), (12, 70)))
    assert judge(before, before[11:], bounds).holds == holds


@pytest.mark.parametrize("last_missing_offset", [None, 13])
def test_the_size_of_a_log_with_transactions_is_not_known_without_segments(
    last_missing_offset: int | None,
) -> None:
    """Markers of 78 bytes each are among what ``retention.bytes`` counts, and not in BEFORE."""
    before = [record("old", "v", offset=0), *(record("k", "v", offset=n) for n in range(1, 8))]
    bounds = retention(())
    if last_missing_offset is not None:
        knowledge = replace(
            bounds.knowledge, transactions_given=True, last_missing_offset=last_missing_offset
        )
        bounds = replace(bounds, knowledge=knowledge)
    outcome = judge(before, before[7:], bounds)
    (finding,) = outcome.findings
    assert outcome.is_undecided == (last_missing_offset is not None)
    assert ("--segments, if retention.bytes took it" in (finding.remedy or "")) == outcome.is_undecided


def test_batches_tell_segments_where_nothing_else_does() -> None:
    batches = packed(ListedBatch(n, n, 1, 100, segment_base_offset=n - n % 4) for n in range(6))
    context = VerifyContext({LOG_ID: LogContext(batches=batches)}, {LOG_ID: Policy()})
    bounds = with_knowledge(Bounds(), LOG_ID, context, [np.array([[0, 6]])], 0)
    assert bounds.segments == ((0, 400), (4, 200))
    assert (bounds.knowledge.batches_given, bounds.knowledge.last_missing_offset) == (True, None)


@pytest.mark.parametrize(
    ("log_end_offset", "last_missing_offset", "without_gap"),
    [(9, 8, 8), (6, 3, None), (None, 6, None)],
)
def test_offsets_that_before_lacks_can_be_markers(
    log_end_offset: int | None, last_missing_offset: int, without_gap: int | None
) -> None:
    # A dump ends with a record: where it has gaps, as transactions leave, one more marker may follow.
    context = VerifyContext({LOG_ID: LogContext(log_end_offset=log_end_offset)}, {LOG_ID: Policy()})
    runs = [np.array([[0, 2]]), np.array([[4, 6]])]
    assert (
        with_knowledge(Bounds(), LOG_ID, context, runs, 0).knowledge.last_missing_offset
        == last_missing_offset
    )
    runs = [np.array([[0, 6]])]
    assert with_knowledge(Bounds(), LOG_ID, context, runs, 0).knowledge.last_missing_offset == without_gap
    assert logs_of(UPDATES) == {LOG_ID: ("orders", 0)}


@pytest.mark.parametrize("facts", [{}, {"log_end_given": True}, {"transactions_given": True}])
def test_a_verdict_that_rests_on_a_log_without_gaps_says_so(facts: dict[str, bool]) -> None:
    # Were the only transaction of the log aborted, its marker could lie behind the dump.
    bounds = Bounds(Policy(now_ms=NOW_MS), knowledge=replace(CLEANS_ONLY, **facts))
    outcome = judge(UPDATES, UPDATES[:8], bounds)
    assert counts(outcome, Severity.FINDING) == {"stale-value": 1}
    assumptions = [sentence for sentence in outcome.assumed if "aborted" in sentence]
    assert bool(assumptions) == (not facts)
    assert "no record was aborted" in "".join(assumptions) or facts
    changed = judge(UPDATES, [record("a", "x", offset=0), *UPDATES[1:]], bounds)
    assert changed.counts["changed-record"] == 1
    assert not [sentence for sentence in changed.assumed if "aborted" in sentence]


@pytest.mark.parametrize(("left_from", "holds"), [(1, False), (3, True)])
def test_retention_takes_whole_segments(left_from: int, holds: bool) -> None:
    before = [record(key, "v", offset=offset) for offset, key in enumerate("abcdef")]
    policy = Policy(now_ms=NOW_MS, cleanup_policy=frozenset({"compact", "delete"}), retention_ms=DAY_MS)
    bounds = Bounds(policy, segments=((0, 210), (3, 210)), knowledge=CLEANS_ONLY)
    assert judge(before, before[left_from:], bounds).holds == holds


@pytest.mark.parametrize(
    ("policy", "log_start_offset", "is_undecided", "findings"),
    [
        ({"compact", "delete"}, None, True, {}),  # kafka-delete-records may have moved the log start
        ({"compact", "delete"}, 0, False, {"missing-key": 1, "keyless-left": 1}),
        ({"compact", "delete"}, 2, False, {}),
        ({"compact"}, None, False, {"missing-key": 1, "keyless-left": 1}),  # DeleteRecords is refused there
    ],
)
def test_a_log_start_that_is_not_known_may_explain_what_is_gone_before_the_first_record(
    policy: set[str], log_start_offset: int | None, is_undecided: bool, findings: dict[str, int]
) -> None:
    before = [
        record("a", "1", offset=0),
        record("b", "1", offset=1),
        record("b", "2", offset=2),
        record(None, "no key", offset=3),
        record("c", "1", offset=4),
    ]
    bounds = Bounds(
        Policy(now_ms=NOW_MS, cleanup_policy=frozenset(policy), retention_ms=-1),
        uncleanable_offset=4,
        log_start_offset=log_start_offset,
        segments=((0, 280), (4, 70)),
        knowledge=replace(CLEANS_ONLY, transactions_given=True, has_fixed_bound=True),
    )
    outcome = judge(before, before[2:], bounds)
    assert counts(outcome, Severity.FINDING) == findings
    assert outcome.is_undecided == is_undecided
    assert all("--log-start-offset" in (f.remedy or "") for f in outcome.findings if not findings)


@pytest.mark.parametrize("knowledge", [Knowledge(), Knowledge(transactions_given=True)])
def test_a_yes_says_that_it_takes_what_replaced_others_for_committed(knowledge: Knowledge) -> None:
    bounds = Bounds(Policy(now_ms=NOW_MS), knowledge=replace(knowledge, last_missing_offset=9))
    outcome = judge(UPDATES, COMPACTED, bounds)
    assert outcome.holds
    assumptions = [sentence for sentence in outcome.assumed if "committed (1 log)" in sentence]
    assert bool(assumptions) == (not knowledge.transactions_given)


def test_aborted_data_may_be_missing_as_a_read_committed_dump_shows_none() -> None:
    context = LogContext(aborted=(AbortedRange(7, 7),))
    bounds = Bounds(
        Policy(now_ms=NOW_MS), uncleanable_offset=6, knowledge=replace(CLEANS_ONLY, transactions_given=True)
    )
    outcome = judge(UPDATES, [r for r in UPDATES if r.offset != 7], bounds, context)
    (finding,) = outcome.findings
    assert (finding.offset, finding.severity) == (7, Severity.UNDECIDED)
    assert "isolation.level=read_uncommitted" in (finding.remedy or "")


@pytest.mark.parametrize(
    ("policy", "findings"), [({"compact", "delete"}, {}), ({"compact"}, {"aborted-left": 1})]
)
def test_what_went_before_the_first_record_proves_no_round(
    policy: set[str], findings: dict[str, int]
) -> None:
    before = [record(key, str(offset), offset=offset) for offset, key in enumerate("aazac")]
    bounds = Bounds(
        Policy(now_ms=NOW_MS, cleanup_policy=frozenset(policy), retention_ms=-1),
        uncleanable_offset=4,
        segments=((0, 280), (4, 70)),
        knowledge=Knowledge(frozenset({"cleanup.policy"}), transactions_given=True),
    )
    outcome = judge(before, before[2:], bounds, LogContext(aborted=(AbortedRange(2, 2),)))
    assert counts(outcome, Severity.FINDING) == findings


STAMPS_TOLD = Knowledge(
    frozenset({"cleanup.policy", "delete.retention.ms"}),
    transactions_given=True,
    batches_given=True,
    first_dirty_offset=0,
)


@pytest.mark.parametrize(
    ("segments", "left", "severity"),
    [
        ((), "bd", None),  # b may lie in a segment that an earlier round did not reach
        (((0, 140), (3, 140)), "bd", Severity.FINDING),  # a, b, c were stamped together
        (((0, 70), (1, 140), (3, 140)), "bd", None),
        ((), "ad", Severity.FINDING),  # a was stamped no later than b
    ],
)
def test_tombstones_go_in_the_order_in_which_rounds_stamp_them(
    segments: tuple[tuple[int, int], ...], left: str, severity: Severity | None
) -> None:
    before = [
        tombstone("a", offset=0),
        tombstone("b", offset=1),
        record("c", "1", offset=2),
        record("c", "2", offset=3),
        record("d", "1", offset=4),
    ]
    after = [r for r in before if (r.key or b"").decode() in left or r.offset == 3]
    outcome = judge(before, after, Bounds(Policy(now_ms=NOW_MS), segments=segments, knowledge=STAMPS_TOLD))
    assert [finding.severity for finding in outcome.findings] == ([severity] if severity else [])


def test_a_tombstone_that_was_not_due_proves_that_what_replaces_it_was_mapped() -> None:
    # The tombstone went for the value at 4; so must have "b" at 1, which the one at 3 replaces.
    young = tombstone("a", offset=0, timestamp_ms=NOW_MS - 1)
    before = [young, *(record(key, "v", offset=offset) for offset, key in enumerate("bcba", 1))]
    outcome = judge(before, before[1:], Bounds(Policy(now_ms=NOW_MS), knowledge=STAMPS_TOLD))
    assert [(f.check, f.offset, f.severity) for f in outcome.findings] == [
        ("duplicate-left", 1, Severity.FINDING)
    ]


@pytest.mark.parametrize("has_fixed_bound", [True, False])
def test_a_map_that_took_the_last_key_reached_the_end(has_fixed_bound: bool) -> None:
    # Only a record with a key can find the map full, and none follows the one that went through.
    before = [
        record("a", "1", offset=0),
        record("a", "2", offset=1),
        record(None, "no key", offset=2),
        record("b", "1", offset=3),
    ]
    bounds = Bounds(
        Policy(now_ms=NOW_MS),
        uncleanable_offset=3,
        segments=((0, 210), (3, 70)),
        knowledge=replace(STAMPS_TOLD, has_fixed_bound=has_fixed_bound),
    )
    outcome = judge(before, before[1:], bounds)
    assert counts(outcome, Severity.FINDING) == ({"keyless-left": 1} if has_fixed_bound else {})


@pytest.mark.parametrize(
    ("size", "is_finding"),
    [(None, False), (1 << 27, True), (24, False)],  # bytes, 24 of which hold one key
)
def test_a_map_of_known_size_that_takes_all_keys_reached_the_end(size: int | None, is_finding: bool) -> None:
    before = [record(key, str(offset), offset=offset) for offset, key in enumerate("aabbc")]
    policy = Policy(now_ms=NOW_MS, log_cleaner_dedupe_buffer_size=size)
    context = LogContext(segments=(Segment(0, 280), Segment(4, 70)), log_start_offset=0, log_end_offset=5)
    bounds = Bounds(policy, uncleanable_offset=4, segments=((0, 280), (4, 70)))
    configs = {LOG_ID: frozenset({"cleanup.policy", "min.compaction.lag.ms"})}
    verify_context = VerifyContext({LOG_ID: context}, {LOG_ID: policy}, configs=configs)
    runs = [np.array([[0, 5]])]

    outcome = judge(before, before[1:], with_knowledge(bounds, LOG_ID, verify_context, runs, 1))

    assert (counts(outcome, Severity.FINDING) == {"duplicate-left": 1}) == is_finding
