"""What links and scans find in many logs at once, against the same computed the slow way."""

import random

import pytest

from kcompact.broker.delete_horizons import DeleteHorizon
from kcompact.broker.log_context import LogContext
from kcompact.dirtiness.dirtiness import Setting, plan_scan
from kcompact.dirtiness.dirty_dump import scan_logs
from kcompact.dumps.records.record import Record
from kcompact.rules.lookups import lookup_for
from kcompact.rules.policy import Policy
from log_frames import index_table, keyed_rows, shares_of
from log_scans import NOW_MS, scan
from records import record
from small_maps import with_map_of

LOGS = 60


def random_records(chance: random.Random) -> list[Record]:
    records, offset = [], chance.choice([0, 10])
    for _ in range(chance.randrange(1, 60)):
        key = chance.choice([*"abcdef", "", None])
        value = None if chance.random() < 0.4 else "v" * chance.randrange(9)
        time_ms = NOW_MS - chance.randrange(1000)
        records.append(record(key, value, offset=offset, timestamp_ms=time_ms))
        offset += chance.choice([1, 1, 3])
    return records


def horizons_by_offset(records: list[Record], context: LogContext) -> dict[int, int]:
    """The rounds' intervals spelled out: each record has the horizon of the first round that reached it."""
    horizons = {}
    for log_record in records:
        reached = [h for h in context.horizons if log_record.offset < h.rewritten_end_offset]
        if reached:
            horizons[log_record.offset] = reached[0].delete_horizon_ms
    return horizons


@pytest.mark.everyday(1)
@pytest.mark.parametrize(("remembers", "seed"), [(False, 1), (True, 2), (True, 3)])
def test_every_log_s_scan_is_the_slow_one_s(remembers: bool, seed: int) -> None:
    chance = random.Random(seed)
    logs = {log_id: random_records(chance) for log_id in range(LOGS)}
    context = {log_id: LogContext() for log_id in logs}
    if remembers:
        for log_id, records in logs.items():
            end_offset = chance.choice(records).offset
            rounds = [
                DeleteHorizon(end_offset + step, NOW_MS + chance.choice([-9, 0, 9])) for step in (1, 20)
            ]
            checkpoint = chance.choice([None, end_offset, records[-1].offset + 1])
            context[log_id] = LogContext(checkpoint_offset=checkpoint, horizons=tuple(rounds))
    policy = with_map_of(3, Policy(now_ms=NOW_MS, min_compaction_lag_ms=500, segment_bytes=900))
    plans = {log_id: plan_scan(context[log_id], [Setting(policy)]) for log_id in logs}
    shuffled = {log_id: chance.sample(records, len(records)) for log_id, records in logs.items()}

    table = index_table(shuffled)
    lookups = {log_id: lookup_for(context[log_id], policy) for log_id in logs}
    scans = scan_logs(keyed_rows(table), shares_of(table), lookups, plans)

    for log_id, records in logs.items():
        horizons = horizons_by_offset(records, context[log_id])
        assert scans[log_id] == scan(records, plans[log_id], horizons), log_id


def test_a_record_that_stands_twice_counts_once() -> None:
    records = [record(key, "v", offset=offset) for offset, key in enumerate("abcab")]
    policy = Policy(now_ms=NOW_MS)
    plan = plan_scan(LogContext(), [Setting(policy)])
    twice = [*records, *records[1:4]]

    table = index_table({7: twice})
    lookups = {7: lookup_for(LogContext(), policy)}

    assert scan_logs(keyed_rows(table), shares_of(table), lookups, {7: plan}) == {7: scan(records, plan)}
