"""Of each topic a few rows: the same ones, however many topics and tasks there are."""

import random
import zlib

import numpy as np
import pyarrow as pa
import pytest

from kcompact.engine.exchange import receivers_by_key
from kcompact.engine.passes.summaries import LogSummary
from kcompact.inspect.questions import sample
from kcompact.inspect.questions.key_facts import FOLDED_KEY_ROW
from kcompact.inspect.questions.keys import Keys, first_of_topics
from kcompact.inspect.questions.lookalikes import fold, fold_keys
from kcompact.inspect.questions.sample import sample_keys, smallest

TOPICS, PARTITIONS = 3, 4


@pytest.mark.parametrize("topics", [0, 1, 7, 300])
@pytest.mark.parametrize("most", [1, 5])
def test_the_first_rows_of_each_topic(topics: int, most: int) -> None:
    chance = random.Random(topics)
    rows = [
        (f"topic-{chance.randrange(topics)}", chance.randrange(2), n) for n in range(500 * min(topics, 1))
    ]
    chance.shuffle(rows)
    names = "topic", "mild", "key"
    columns = zip(*rows, strict=True) if rows else [[], [], []]
    table = pa.table(
        {
            n: pa.array(c, t)
            for n, c, t in zip(names, columns, [pa.string(), pa.int8(), pa.int64()], strict=True)
        }
    )

    expected = {
        row for topic in {r[0] for r in rows} for row in sorted(r for r in rows if r[0] == topic)[:most]
    }
    firsts = [rows[at] for at in first_of_topics(table, most, ["mild", "key"])]
    assert len(firsts) == len(expected)
    assert set(firsts) == expected


def some_keys(count: int, seed: int) -> tuple[pa.Table, dict[int, LogSummary]]:
    """Rows of FOLDED_KEY_ROW: every second key in two partitions of a topic."""
    chance = random.Random(seed)
    places = [
        (log, key) for key in range(count) for log in chance.sample(range(TOPICS * PARTITIONS), 1 + key % 2)
    ]
    rows = [
        dict.fromkeys(FOLDED_KEY_ROW.names, 1)
        | {"log_id": log, "key": b"key-%d" % key, "folded": None, "accidents": 0}
        for log, key in places
    ]
    logs = {
        log: LogSummary(0, log, f"t{log % TOPICS}", log // TOPICS, last_offset=8)
        for log in range(TOPICS * PARTITIONS)
    }
    return pa.Table.from_pylist(rows, FOLDED_KEY_ROW), logs


@pytest.mark.slow
@pytest.mark.parametrize("tasks", [1, 2, 7, 20])
def test_a_sample_is_the_same_whatever_the_number_of_tasks(
    monkeypatch: pytest.MonkeyPatch, tasks: int
) -> None:
    monkeypatch.setattr(sample, "MOST_ROWS", 500)
    rows, logs = some_keys(30_000, tasks)
    receivers = receivers_by_key(rows["key"], tasks)
    shares = [rows.filter(pa.array(receivers == task)) for task in range(tasks)]
    parts = [sample_keys(Keys(share, logs, tasks)) for share in shares]
    sampled = smallest(pa.concat_tables(parts), 500)

    seen: dict[tuple[str, bytes], set[int]] = {}
    for log, key in zip(rows["log_id"].to_pylist(), rows["key"].to_pylist(), strict=True):
        seen.setdefault((logs[log].topic, key), set()).add(logs[log].partition)
    expected = set()
    for topic in {log.topic for log in logs.values()}:
        for shared in (False, True):
            of_kind = [
                (_order(key), key, partition)
                for (of, key), partitions in seen.items()
                for partition in partitions
                if of == topic and (len(partitions) > 1) == shared
            ]
            limit = sorted(of_kind)[500][0] if len(of_kind) > 500 else 1 << 64
            expected |= {(topic, shared, key, at) for order, key, at in of_kind if order < limit}
    names = "topic", "is_shared", "key", "partition"
    assert set(zip(*(sampled[name].to_pylist() for name in names), strict=True)) == expected
    if tasks == 20:  # a task sends less than it might have to if it held all keys
        assert sum(part.num_rows for part in parts) < len(rows) * 0.9


def _order(key: bytes) -> int:
    return (zlib.crc32(key) * 0x9E3779B97F4A7C15 & (1 << 64) - 1) >> 1


@pytest.mark.parametrize("seed", range(5))
def test_keys_are_folded_as_one_by_one(seed: int) -> None:
    chance = random.Random(seed)
    signs = [
        b"\0",
        b" ",
        b"\t",
        b"\n",
        b"\r",
        b"\f",
        b"{",
        b"}",
        b"[",
        b"]",
        b'"a"',
        b":",
        b"1",
        b",",
        b"k",
        b"\xff",
    ]
    keys = [b"".join(chance.choices(signs, k=chance.randrange(9))) for _ in range(3_000)]
    keys += [b'{"b":1, "a":2}', b"\0\0\0\0\7key", b"key ", b" "]
    array = pa.array([b"before", *keys], pa.binary()).slice(1)

    folded, accidents = fold_keys(array)
    expected = [fold(key) for key in keys]
    assert folded.to_pylist() == [form if taken else None for form, taken in expected]
    assert np.asarray(accidents).tolist() == [int(taken) for _, taken in expected]
    assert sum(bool(taken) for _, taken in expected) > 100
