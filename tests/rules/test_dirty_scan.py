"""The scan and what is read off it, against sums over records taken one by one."""

import random
from collections import defaultdict
from dataclasses import replace

import pytest

from kcompact.broker.log_context import LogContext
from kcompact.broker.log_names import LogName
from kcompact.broker.segment_lists import Segment
from kcompact.dirtiness.dirtiness import ScannedLog, Setting, assess, estimate, perfect_gain, plan_scan
from kcompact.dirtiness.eligibility import smallest_change
from kcompact.dumps.records.record import Record
from kcompact.rules.policy import Policy
from log_scans import NOW_MS, look, scan, scanned, size
from records import record, tombstone
from small_maps import with_map_of


def random_log(chance: random.Random, count: int = 60) -> list[Record]:
    records, offset = [], 0
    for _ in range(count):
        offset += chance.choice([1, 1, 1, 4])
        key = chance.choice([*"abcdefgh", None]) if chance.random() < 0.9 else f"k{offset}"
        time_ms = NOW_MS - chance.randrange(0, 1000)
        value = None if key and chance.random() < 0.3 else "v"
        records.append(record(key, value, offset=offset, timestamp_ms=time_ms))
    return records


def removed(
    records: list[Record], first_dirty: int, bound: int, horizons: dict[int, int]
) -> dict[str, list[Record]]:
    """The records that a round over [first_dirty, bound) takes out, by the rules read literally."""
    latest = {r.key: r.offset for r in records if r.key is not None and first_dirty <= r.offset < bound}
    below = [r for r in records if r.offset < bound]
    keyed = [r for r in below if r.key is not None]
    stays = [r for r in keyed if r.offset >= latest.get(r.key, -1)]
    return {
        "keyless": [r for r in below if r.key is None],
        "superseded": [r for r in keyed if r.offset < latest.get(r.key, -1)],
        "due": [r for r in stays if r.value is None and horizons.get(r.offset, NOW_MS + 1) <= NOW_MS],
    }


@pytest.mark.parametrize("seed", range(60))
def test_the_gain_is_what_a_round_removes(seed: int) -> None:
    chance = random.Random(seed)
    records = random_log(chance)
    horizons = {
        r.offset: NOW_MS + chance.choice([-5, 5])
        for r in records
        if r.value is None and chance.random() < 0.5
    }
    lag_ms = chance.choice([0, 0, 20, 300])
    checkpoint = chance.choice([None, None, records[chance.randrange(60)].offset, records[-1].offset + 1])
    stable = chance.choice([None, records[chance.randrange(60)].offset])
    context = LogContext(checkpoint_offset=checkpoint, last_stable_offset=stable)
    policy = Policy(now_ms=NOW_MS, min_compaction_lag_ms=lag_ms)
    dirtiness = look(records, context, policy, horizons=horizons, pieces=chance.randrange(1, 9))

    first_dirty = records[0].offset if checkpoint is None else checkpoint
    end_offset = records[-1].offset + 1
    young = [
        r.offset for r in records if r.offset >= first_dirty and lag_ms and r.timestamp_ms > NOW_MS - lag_ms
    ]
    bound = max(first_dirty, min([end_offset, end_offset if stable is None else stable, *young[:1]]))
    assert dirtiness.range.first_dirty_offset == first_dirty
    assert dirtiness.range.first_uncleanable_offset == bound
    clean = sum(size(r) for r in records if r.offset < first_dirty)
    cleanable = sum(size(r) for r in records if first_dirty <= r.offset < bound)
    assert (dirtiness.ratio.clean_bytes, dirtiness.ratio.cleanable_bytes) == (clean, cleanable)
    gone = removed(records, first_dirty, bound, horizons) if bound > first_dirty else defaultdict(list)
    gain = dirtiness.gain
    assert (gain.superseded_records, gain.keyless_records, gain.due_tombstones) == (
        *(len(gone["superseded"]), len(gone["keyless"])),
        len(gone["due"]),
    )
    assert gain.removable_bytes == sum(size(r) for reason in gone.values() for r in reason)
    keys = {r.key for r in records if first_dirty <= r.offset < bound and r.key is not None}
    assert gain.map_entries == len(keys)


@pytest.mark.parametrize("seed", range(20))
def test_rounds_and_pieces_do_not_depend_on_each_other(seed: int) -> None:
    """A map of n keys ends a round at the next keyed record (R13), known key or not."""
    chance = random.Random(seed)
    records = random_log(chance, 200)
    limit = chance.randrange(1, 12)
    policy = with_map_of(limit, Policy(now_ms=NOW_MS))
    dirtiness = look(records, LogContext(), policy, pieces=chance.randrange(1, 20))
    rounds, keys = 1, set()
    for entry in records:
        if entry.key is None:
            continue
        if len(keys) == limit:
            rounds, keys = rounds + 1, set()
        keys.add(entry.key)
    assert dirtiness.gain.rounds == rounds


def test_told_segments_are_summed_whole_and_the_half_clean_one_twice() -> None:
    # Case G03: two segments of 188 bytes, checkpoint 1 inside the first.
    records = [record("1", "a", offset=offset) for offset in range(4)]
    segments = (Segment(0, 188), Segment(2, 188), Segment(4, 0))
    dirtiness = look(records, LogContext(checkpoint_offset=1, segments=segments), Policy(now_ms=NOW_MS))
    assert (dirtiness.ratio.clean_bytes, dirtiness.ratio.cleanable_bytes) == (188, 376)
    assert round(dirtiness.ratio.ratio, 6) == 0.666667


def test_the_ratio_must_exceed_the_threshold() -> None:
    # Case G01: two clean, two cleanable, two beyond the last stable offset: exactly 0.5.
    records = [record("1", "a", offset=offset) for offset in range(6)]
    segments = tuple(Segment(offset, 94) for offset in range(6))
    context = LogContext(checkpoint_offset=2, last_stable_offset=4, log_end_offset=6, segments=segments)
    dirtiness = look(records, context, Policy(now_ms=NOW_MS))
    ratio = dirtiness.ratio
    assert (ratio.clean_bytes, ratio.cleanable_bytes, ratio.ratio) == (188, 188, 0.5)
    assert (dirtiness.eligible, dirtiness.binding_limit) == (False, "ratio")


def test_the_maximum_lag_makes_a_log_eligible_one_millisecond_after_it() -> None:
    # Case G05, with the ratio's threshold at 1.
    rows = [("a", 1400000000000), ("b", 1400000000005), ("a", 1400025200000), ("b", 1400025200000)]
    records = [record(key, "1", offset=o, timestamp_ms=ms) for o, (key, ms) in enumerate(rows)]
    context = LogContext(segments=tuple(Segment(base, 140) for base in (0, 2, 3, 4)))
    for now_ms, checkpoint, delay_ms, binding in (
        (1400021600000, 0, 18000000, "maximum lag"),
        (1400003600000, 0, 0, "ratio"),
        (1400003600001, 0, 1, "maximum lag"),
        (1400003600001, 4, 0, "nothing dirty"),
    ):
        policy = Policy(now_ms=now_ms, min_cleanable_dirty_ratio=1.0, max_compaction_lag_ms=3600000)
        dirtiness = look(records, LogContext(checkpoint_offset=checkpoint, segments=context.segments), policy)
        assert (dirtiness.ratio.compaction_delay_ms, dirtiness.binding_limit) == (delay_ms, binding)
        assert dirtiness.eligible == (delay_ms > 0)


@pytest.mark.parametrize(
    ("context", "policy", "binding"),
    [
        (LogContext(segments=(Segment(0, 300),)), Policy(), "active segment"),
        (LogContext(last_stable_offset=0), Policy(), "last stable offset"),
        (LogContext(), Policy(min_compaction_lag_ms=10**9), "minimum lag"),
        (LogContext(checkpoint_offset=3), Policy(), "nothing dirty"),
        (LogContext(), Policy(cleanup_policy=frozenset({"delete"})), "cleanup.policy"),
        (LogContext(), Policy(), "ratio"),
    ],
)
def test_the_limit_that_binds_is_named(context: LogContext, policy: Policy, binding: str) -> None:
    records = [record("a", "1", offset=offset, timestamp_ms=NOW_MS) for offset in range(3)]
    assert look(records, context, replace(policy, now_ms=NOW_MS)).binding_limit == binding


def test_without_a_checkpoint_everything_is_dirty_and_the_first_repeated_key_makes_an_estimate() -> None:
    records = [record(key, "v", offset=offset) for offset, key in enumerate("abcb")]
    log = scanned(records, Policy(now_ms=NOW_MS))
    assert assess(log, log.settings[0]).ratio.ratio == 1.0
    supposed = estimate(log, log.settings[0])
    assert supposed.range.first_dirty_offset == 3
    assert supposed.ratio.ratio == size(records[3]) / sum(size(record) for record in records)


@pytest.mark.parametrize("pieces", [1, 4])
def test_the_estimate_begins_no_earlier_than_the_log(pieces: int) -> None:
    records = [record(key, "v", offset=offset) for offset, key in enumerate("aabc")]
    log = scanned(records, Policy(now_ms=NOW_MS), LogContext(log_start_offset=3), pieces=pieces)
    supposed = estimate(log, log.settings[0])
    sizes = [size(record) for record in records]
    assert supposed.range.first_dirty_offset == 3
    assert (supposed.ratio.clean_bytes, supposed.ratio.cleanable_bytes) == (sum(sizes[:3]), sizes[3])


def test_a_dump_without_repeated_keys_could_be_all_clean() -> None:
    log = scanned(
        [record(key, "v", offset=offset) for offset, key in enumerate("abc")], Policy(now_ms=NOW_MS)
    )
    supposed = estimate(log, log.settings[0])
    assert (supposed.range.first_dirty_offset, supposed.ratio.ratio) == (3, 0.0)


def test_what_goes_from_packed_segments_is_a_share_of_their_bytes() -> None:
    records = [record("a", "v", offset=offset) for offset in range(10)]  # 70 bytes each, alone
    known = LogContext(segments=(Segment(0, 100), Segment(5, 40)))
    policy = Policy(now_ms=NOW_MS)
    dirtiness = look(records, known, policy)
    assert (dirtiness.ratio.cleanable_bytes, dirtiness.gain.superseded_records) == (100, 4)
    assert dirtiness.gain.removable_bytes == 4 * 140 // 10
    reroll = Setting(replace(policy, segment_bytes=350), reroll=True)
    plan = plan_scan(known, [reroll])
    log = ScannedLog(LogName("orders", 0), [reroll], known, plan, scan(records, plan))
    rolled = assess(log, reroll)
    assert (rolled.ratio.cleanable_bytes, rolled.ratio.uncleanable_bytes) == (70, 70)


def test_rolled_segments_shield_the_active_one_and_the_perfect_gain_ignores_it() -> None:
    records = [record(key, "v", offset=offset) for offset, key in enumerate("abcaab")]
    log = scanned(records, Policy(now_ms=NOW_MS, segment_bytes=240))
    dirtiness = assess(log, log.settings[0])
    assert [segment.base_offset for segment in dirtiness.segments or ()] == [0, 3]
    assert dirtiness.range.first_uncleanable_offset == 3
    assert dirtiness.gain.superseded_records == 0
    assert perfect_gain(log).superseded_records == 3


def test_horizons_still_to_come_are_told_of_the_latest_tombstones() -> None:
    records = [
        *(tombstone("a", offset=0), tombstone("b", offset=1)),
        *(record("a", "v", offset=2), tombstone("c", offset=3)),
    ]
    horizons = {0: NOW_MS + 1, 1: NOW_MS + 7, 3: NOW_MS - 1}
    log = scanned(records, Policy(now_ms=NOW_MS), horizons=horizons)
    assert (log.scan.next_due_ms, log.scan.last_due_ms) == (NOW_MS + 7, NOW_MS + 7)
    gain = assess(log, log.settings[0]).gain
    assert (gain.tombstones, gain.stamped_tombstones, gain.due_tombstones) == (2, 2, 1)


DELETE = frozenset({"delete"})


@pytest.mark.parametrize(
    ("policy", "context", "changes", "waits_for"),
    [
        (Policy(), LogContext(checkpoint_offset=2), {"min.cleanable.dirty.ratio": "0.33"}, None),
        (Policy(cleanup_policy=DELETE), LogContext(), {"cleanup.policy": "compact,delete"}, None),
        # The maximum lag closes segments of compacted topics alone: two segments, and in the other case one.
        (
            Policy(cleanup_policy=DELETE, segment_ms=1500, max_compaction_lag_ms=500),
            LogContext(),
            {"cleanup.policy": "compact,delete"},
            None,
        ),
        (
            Policy(cleanup_policy=DELETE, segment_ms=10_000, max_compaction_lag_ms=500),
            LogContext(),
            {"cleanup.policy": "compact,delete"},
            "one more record",
        ),
        (Policy(min_compaction_lag_ms=5000), LogContext(), {"min.compaction.lag.ms": "0"}, None),
        (
            Policy(min_compaction_lag_ms=5000),
            LogContext(segments=(Segment(0, 100), Segment(1, 100), Segment(2, 100), Segment(3, 0))),
            {"min.compaction.lag.ms": "3000"},
            None,
        ),
        (
            Policy(min_compaction_lag_ms=3000, min_cleanable_dirty_ratio=1.0),
            LogContext(segments=(Segment(0, 100), Segment(1, 100), Segment(2, 100), Segment(3, 0))),
            {"min.cleanable.dirty.ratio": "0.99"},
            None,
        ),
        (Policy(), LogContext(segments=(Segment(0, 300),)), {"segment.ms": "2999"}, "one more record"),
        (Policy(segment_ms=10), LogContext(segments=(Segment(0, 300),)), {}, "one more record"),
        (Policy(), LogContext(last_stable_offset=0), {}, "the transaction that is open at offset 0"),
        (Policy(), LogContext(checkpoint_offset=3), {}, "new records"),
    ],
)
def test_the_smallest_change_that_makes_a_log_eligible(
    policy: Policy, context: LogContext, changes: dict[str, str], waits_for: str | None
) -> None:
    records = [record("a", "1", offset=o, timestamp_ms=NOW_MS - 3000 + o * 1000) for o in range(3)]
    remedy = smallest_change(scanned(records, replace(policy, now_ms=NOW_MS), context))
    assert remedy is not None
    assert {change.name: change.value for change in remedy.changes} == changes
    assert (remedy.waits_for or "").startswith(waits_for or "")
    assert (remedy.waits_for is None) == (waits_for is None)


def test_a_log_that_is_eligible_needs_no_change() -> None:
    assert smallest_change(scanned([record("a", "1", offset=0)], Policy(now_ms=NOW_MS))) is None


def test_nothing_would_go_where_no_record_is_dirty() -> None:
    """The dirty section is a gap: no round is made, and what one would take from below stays."""
    records = [record(None, "v", offset=0), record("a", "v", offset=1), record("a", "w", offset=4)]
    context = LogContext(checkpoint_offset=2, last_stable_offset=4)
    dirtiness = look(records, context, Policy(now_ms=NOW_MS))
    assert (dirtiness.range.first_dirty_offset, dirtiness.range.first_uncleanable_offset) == (2, 4)
    assert (dirtiness.gain.removable_records, dirtiness.gain.rounds) == (0, 0)
