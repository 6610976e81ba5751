"""Rounds by key leave what the cleaner leaves record by record: dump, report's figures, CSVs and state.

``KCOMPACT_NIGHTS=1000:100`` runs 100 random dumps of each kind from seed 1000 on, instead of the usual ones.
"""

import os
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from both_forms import State, by_both, cut_small, run
from dump_files import write_kcat
from kcompact.broker.delete_horizons import DeleteHorizon
from kcompact.broker.log_context import DumpContext
from kcompact.broker.log_names import LogName
from kcompact.broker.state.cleaner_state import CleanerState
from kcompact.broker.state.state_output import output_file
from kcompact.compact.context.beside import Beside
from kcompact.compact.request import Form
from kcompact.dumps.records.record import Record
from kcompact.rules.policy import Policy
from small_maps import with_map_of

DAY_MS = 86_400_000
NOW_MS = 100 * DAY_MS
FIRST, COUNT = map(int, os.environ.get("KCOMPACT_NIGHTS", "0:10").split(":"))
SEEDS = range(FIRST, FIRST + COUNT)


@pytest.fixture(autouse=True)
def small_stages(monkeypatch: pytest.MonkeyPatch) -> None:
    cut_small(monkeypatch)


def night_of(rng: random.Random, night: int, offsets: list[int], keys: int) -> list[Record]:
    """A day's new records of three partitions of a topic, some days without any of the last one."""
    disorder_ms = rng.choice([0, 1_000, 100_000, DAY_MS])
    made = []
    for number in range(rng.choice([20, 200])):
        partition = rng.randrange(2 if night % 2 else 3)
        offsets[partition] += rng.choice([1, 1, 1, 2, 40])
        time_ms = NOW_MS + night * DAY_MS - 200_000 + number * 1_000 - rng.randint(0, disorder_ms)
        key = f"key-{rng.randrange(keys)}".encode()
        value = None if rng.random() < 0.3 else f"value-{number}".encode()
        made.append(Record("orders", partition, offsets[partition], time_ms, key, value))
    return made


def policy_of(rng: random.Random, night: int) -> Policy:
    policy = Policy(
        now_ms=NOW_MS + night * DAY_MS,
        min_compaction_lag_ms=rng.choice([0, 0, 50_000, 150_000, DAY_MS + 100_000]),
        delete_retention_ms=rng.choice([0, 1_000, DAY_MS, 10 * DAY_MS, 2**63 - 1]),
        drop_tombstones=rng.random() < 0.1,
        rounds=rng.choice([1, 2, 3, None]),
        null_keys=rng.choice(["error", "keep", "drop"]),
    )
    return with_map_of(rng.choice([None, 10_000, 40, 5, 1]), policy)


@pytest.mark.everyday(2)
@pytest.mark.usefixtures("loops_or_tables")
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("is_full_dump", [False, True], ids=["output and new records", "full dumps"])
def test_nights_with_a_state(tmp_path: Path, seed: int, *, is_full_dump: bool) -> None:
    rng = random.Random(seed)
    offsets, keys = [0, 5, 9], rng.choice([3, 60, 100_000])
    records: list[Record] = []
    state, inputs = CleanerState(), list[Path]()
    for night in range(3):
        new = night_of(rng, night, offsets, keys)
        records += new
        made = records if is_full_dump else new
        path = write_kcat(tmp_path / f"{night}.jsonl", made)
        paths = [path] if is_full_dump else [*inputs, path]
        beside_dump = State(state, path).beside(paths)
        beside = Beside(DumpContext().with_state(beside_dump.state), beside_dump)
        left = by_both(paths, tmp_path / f"work-{night}", policy_of(rng, night), beside)
        output = tmp_path / f"out-{night}.jsonl"
        output.write_bytes(left.dump)
        state = state.followed_by(replace(left.state, files=(output_file(output),)))
        inputs = [output]


@pytest.mark.everyday(2)
@pytest.mark.usefixtures("loops_or_tables")
@pytest.mark.parametrize("seed", SEEDS)
def test_a_checkpoint_in_a_log_that_nobody_has_cleaned(tmp_path: Path, seed: int) -> None:
    """Below it lie several records of a key, which stay where no dirty one comes."""
    rng = random.Random(seed)
    path = write_kcat(tmp_path / "dump.jsonl", night_of(rng, 0, offsets := [0, 5, 9], rng.choice([10, 60])))
    horizons = {
        LogName("orders", n): (DeleteHorizon(rng.randint(1, offset + 3), NOW_MS + rng.choice([-1, 0, 1])),)
        for n, offset in enumerate(offsets)
    }
    checkpoint = {LogName("orders", n): rng.randint(0, offset + 3) for n, offset in enumerate(offsets)}
    del checkpoint[LogName("orders", rng.randrange(3))]
    context = DumpContext(checkpoint_source="checkpoint", checkpoint=checkpoint, horizons=horizons)
    by_both([path], tmp_path / "work", policy_of(rng, 0), Beside(context))


@pytest.mark.slow
def test_bounds_that_only_the_whole_dump_tells(tmp_path: Path) -> None:
    """The first record is too young: what other tasks merged by key has to be read once more."""
    made = night_of(random.Random(4), 0, [0, 5, 9], 60)
    made[0] = made[0]._replace(timestamp_ms=NOW_MS)
    path = write_kcat(tmp_path / "dump.jsonl", made)
    policy = Policy(now_ms=NOW_MS, min_compaction_lag_ms=1_000)

    left = by_both([path], tmp_path / "work", policy, Beside(DumpContext()))

    of_first = [log for log in left.facts["logs"] if log["partition"] == made[0].partition]
    assert [log["removed"]["superseded"] for log in of_first] == [0]
    assert any(log["removed"]["superseded"] for log in left.facts["logs"])


UNTOLD = {
    "a record without a key": lambda made: [*made[:-1], made[-1]._replace(key=None)],
    "records out of order": lambda made: made[::-1],
    "records twice": lambda made: [*made, *made[:3]],
}


@pytest.mark.parametrize("name", UNTOLD)
def test_what_keys_cannot_tell_is_left_to_every_record(tmp_path: Path, name: str) -> None:
    made = UNTOLD[name](night_of(random.Random(2), 0, [0, 5, 9], 60))
    path = write_kcat(tmp_path / "dump.jsonl", made)
    policy = Policy(now_ms=NOW_MS, min_compaction_lag_ms=1)
    assert run([path], tmp_path / "work", policy, Beside(DumpContext())) is None


@pytest.mark.everyday(2)
@pytest.mark.usefixtures("loops_or_tables")
@pytest.mark.parametrize("seed", SEEDS)
def test_closed_logs_that_were_never_cleaned(tmp_path: Path, seed: int) -> None:
    """Records without a key all go with ``drop``; who looks at no value tells the same but for sizes."""
    rng = random.Random(seed)
    made = night_of(rng, 0, [0, 5, 9], rng.choice([3, 60, 100_000]))
    for at in rng.sample(range(len(made)), k=rng.choice([0, 1, len(made) // 2, len(made)])):
        made[at] = made[at]._replace(key=None)
    policy = Policy(
        now_ms=NOW_MS,
        delete_retention_ms=rng.choice([0, DAY_MS, 2**63 - 1]),
        drop_tombstones=rng.random() < 0.5,
        null_keys="drop",
    )
    path = write_kcat(tmp_path / "dump.jsonl", made)

    left = by_both([path], tmp_path / "work", policy, Beside(DumpContext()))
    plain = run([path], tmp_path / "plain", policy, Beside(DumpContext()), tells_sizes=False)

    assert plain is not None
    assert (plain.dump, plain.reports) == (left.dump, left.reports)
    sizes = {"bytes_read": None, "bytes_written": None}
    assert plain.facts["logs"] == [
        log | {"rounds": [figures | sizes for figures in log["rounds"]]} for log in left.facts["logs"]
    ]
    for log in left.facts["logs"]:
        [figures] = log["rounds"]
        assert figures["messages_read"] == log["records"]
        assert figures["invalid_messages_read"] == log["null_keys"]
        assert figures["messages_written"] == log["kept"]


CHANGES_NOTHING = [
    {"min_compaction_lag_ms": 1},
    {"respect_dirty_ratio": True},
    {"null_keys": "keep"},
    {"null_keys": "drop"},
    {"rounds": None},
    {"segment_index_bytes": 1 << 20},
]


@pytest.mark.everyday(3)
@pytest.mark.parametrize("settings", CHANGES_NOTHING, ids=str)
@pytest.mark.parametrize("seed", SEEDS[:3])
def test_a_policy_that_changes_nothing_leaves_what_the_plain_run_leaves(
    tmp_path: Path, seed: int, settings: dict[str, Any]
) -> None:
    rng = random.Random(seed)
    made = [
        record._replace(timestamp_ms=record.timestamp_ms - DAY_MS // 2)
        for record in night_of(rng, 0, [0, 5, 9], rng.choice([3, 60]))
    ]
    path, beside = write_kcat(tmp_path / "dump.jsonl", made), Beside(DumpContext())
    plain = run([path], tmp_path / "plain", Policy(now_ms=NOW_MS), beside)
    policy = Policy(now_ms=NOW_MS, **settings)

    for form in Form:
        assert run([path], tmp_path / form.value, policy, beside, form) == plain


@pytest.mark.everyday(3)
@pytest.mark.usefixtures("loops_or_tables")
@pytest.mark.parametrize("rounds", [1, 2, 3, None])
@pytest.mark.parametrize("keys", [1, 8, 40])
def test_maps_that_get_full_end_rounds(tmp_path: Path, keys: int, rounds: int | None) -> None:
    path = write_kcat(tmp_path / "dump.jsonl", night_of(random.Random(2), 0, [0, 5, 9], 60))
    policy = with_map_of(keys, Policy(now_ms=NOW_MS, rounds=rounds))

    left = by_both([path], tmp_path / "work", policy, Beside(DumpContext()))

    entries = [[span["map_entries"] for span in log["rounds"]] for log in left.facts["logs"]]
    assert max(map(len, entries)) > 1 or rounds == 1 or keys == 40
    assert {number for of_log in entries for number in of_log[:-1]} <= {keys}
