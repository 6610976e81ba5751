"""Rounds that full maps end, in two passes, against the oracle round by round; no step may be lost."""

import json
import random
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pyarrow as pa
import pytest

import oracle
from both_forms import by_both, cut_small, run
from dump_files import write_kcat
from kcompact.broker.log_context import DumpContext
from kcompact.compact.context.beside import Beside
from kcompact.compact.offset_maps import full_maps, key_groups
from kcompact.compact.offset_maps.steps import STEPS_SCHEMA
from kcompact.dumps.loops.readiness import load_loops
from kcompact.dumps.records.record import Record
from kcompact.engine.passes import grouping
from kcompact.errors import AccountError, ExitCode
from kcompact.rules.links import NO_OFFSET
from kcompact.rules.policy import Policy
from small_maps import with_map_of

NOW_MS = 1_800_000_000_000
FAR_APART = 16_000_000  # some keys times the span of a log's offsets are more than 32 bits hold
Damage = Callable[[pa.Table], pa.Table]


@pytest.fixture(autouse=True)
def small_stages(monkeypatch: pytest.MonkeyPatch) -> None:
    cut_small(monkeypatch)
    monkeypatch.setattr(grouping, "MOST_ROWS", 60)  # some keys meet in a pass


def records_of(rng: random.Random, largest_step: int) -> list[Record]:
    """Three partitions that have no key in common, as where a producer's partitions follow keys."""
    offsets, keys = [0, 5, 9], rng.choice([6, 40, 150])
    made = []
    for number in range(rng.choice([60, 250])):
        key = rng.randrange(keys)
        partition = key % 3
        offsets[partition] += rng.randint(1, largest_step)
        value = None if rng.random() < 0.3 else f"value-{number}".encode()
        made.append(Record("t", partition, offsets[partition], number, f"key-{key}".encode(), value))
    return made


def by_oracle(records: list[Record], limit: int, policy: Policy) -> oracle.Cleaned:
    """All rounds, each on what the one before left."""
    settings = oracle.Settings(NOW_MS, policy.delete_retention_ms, limit)
    left, played = oracle.Cleaned(retained=records), 0
    while policy.rounds is None or played < policy.rounds:
        after = oracle.clean(left.retained, settings, left.checkpoint, left.horizons)
        after.checkpoint = left.checkpoint | after.checkpoint  # a log may be empty by now
        if after.checkpoint == left.checkpoint:
            break
        left, played = after, played + 1
    return left


@pytest.mark.everyday(3)
@pytest.mark.usefixtures("loops_or_tables")
@pytest.mark.parametrize("largest_step", [1, FAR_APART], ids=["side by side", "far apart"])
@pytest.mark.parametrize("seed", range(24))
def test_rounds_are_those_of_the_oracle(tmp_path: Path, seed: int, largest_step: int) -> None:
    rng = random.Random(seed)
    records, limit = records_of(rng, largest_step), rng.choice([1, 2, 7, 30])
    policy = Policy(
        now_ms=NOW_MS, rounds=rng.choice([1, 2, 5, None]), delete_retention_ms=rng.choice([0, 1_000])
    )
    path = write_kcat(tmp_path / "dump.jsonl", records)

    left = by_both([path], tmp_path / "work", with_map_of(limit, policy), Beside(DumpContext()))

    expected = by_oracle(records, limit, policy)
    kept = [(line["partition"], line["offset"]) for line in map(json.loads, left.dump.splitlines())]
    assert sorted(kept) == sorted((record.partition, record.offset) for record in expected.retained)
    checkpoint = {(name.topic, name.partition): offset for name, offset in left.state.checkpoint.items()}
    assert checkpoint == expected.checkpoint


def _without_one(is_wanted: Callable[[pa.Table], np.ndarray]) -> Damage:
    """The first step of each table that is wanted is lost."""

    def damaged(steps: pa.Table) -> pa.Table:
        at = np.flatnonzero(is_wanted(steps))[:1]
        return steps.filter(pa.array(~np.isin(np.arange(steps.num_rows), at)))

    return damaged


def _with_offset(steps: pa.Table, offsets: np.ndarray) -> pa.Table:
    return pa.table({name: offsets if name == "offset" else steps[name] for name in steps.column_names}).cast(
        STEPS_SCHEMA
    )


DAMAGES: dict[str, Damage] = {
    "to a key's first record": _without_one(lambda steps: steps["offset"].to_numpy() == NO_OFFSET),
    "to a later record": _without_one(lambda steps: steps["offset"].to_numpy() != NO_OFFSET),
    "the last one": lambda steps: steps.slice(0, max(steps.num_rows - 1, 0)),
    "all": lambda steps: steps.slice(0, 0),
    "one comes twice": lambda steps: pa.concat_tables([steps, steps.slice(0, 1)]),
    "another in its place": lambda steps: pa.concat_tables(
        [steps.slice(0, 1), steps.slice(0, 1), steps.slice(2)]
    ),
    "they lead nowhere": lambda steps: _with_offset(steps, np.full(steps.num_rows, NO_OFFSET)),
    "they lead ahead": lambda steps: _with_offset(steps, steps["superseded_at_offset"].to_numpy()),
}


BETWEEN_TASKS = (full_maps, "steps_between")
IN_A_TASK = (key_groups, "steps_in_task")


@pytest.mark.everyday(4)
@pytest.mark.parametrize("rounds", [1, 3, None])
@pytest.mark.parametrize("place", [BETWEEN_TASKS, IN_A_TASK], ids=["between tasks", "in a task"])
@pytest.mark.parametrize("name", DAMAGES)
def test_a_step_that_is_lost_or_wrong_ends_the_run(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    place: tuple[ModuleType, str],
    rounds: int | None,
) -> None:
    if (name, place) == ("to a key's first record", IN_A_TASK):
        name = "to a later record"  # a task knows of no other
    assert load_loops("json_lines")  # without them no task knows any
    right = getattr(*place)
    monkeypatch.setattr(*place, lambda *arguments: DAMAGES[name](right(*arguments)))
    path = write_kcat(tmp_path / "dump.jsonl", records_of(random.Random(7), 3))
    policy = with_map_of(7, Policy(now_ms=NOW_MS, rounds=rounds))

    with pytest.raises(AccountError, match=r"t-\d: ([\d,]+ steps, |steps and keys account for)") as raised:
        run([path], tmp_path / "work", policy, Beside(DumpContext()))
    assert raised.value.exit_code == ExitCode.BUG
