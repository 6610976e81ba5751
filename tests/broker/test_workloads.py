"""Random workloads: kcompact leaves exactly what a live broker's cleaner leaves.

``KCOMPACT_BROKER_SEEDS=1000:200`` runs 200 workloads from seed 1000 on, instead of the usual ones.
"""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from cleaning import Stage, create, delete, let_go, save_as_golden, take_stage
from conftest import Run
from dump_files import kcat_offsets
from live_broker import LiveBroker
from workloads import Workload, produce, with_small_map, workload

pytestmark = [pytest.mark.broker, pytest.mark.usefixtures("spark")]
Cli = Callable[..., Run]

FIRST, COUNT = map(int, os.environ.get("KCOMPACT_BROKER_SEEDS", "1:20").split(":"))
SMALL_MAP_FIRST, SMALL_MAP_COUNT = 100_000 + FIRST, max(1, COUNT // 10)
FAILED_CASES = Path("build/broker-cases")


@pytest.mark.parametrize("seed", range(FIRST, FIRST + COUNT))
def test_kcompact_leaves_what_the_broker_leaves(
    seed: int, broker: LiveBroker, tmp_path: Path, kcompact: Cli
) -> None:
    run_workload(workload(seed), broker, tmp_path, kcompact)


@pytest.mark.parametrize("seed", range(SMALL_MAP_FIRST, SMALL_MAP_FIRST + SMALL_MAP_COUNT))
def test_kcompact_leaves_what_rounds_with_a_full_map_leave(
    seed: int, small_map_broker: LiveBroker, tmp_path: Path, kcompact: Cli
) -> None:
    run_workload(with_small_map(workload(seed)), small_map_broker, tmp_path, kcompact)


def run_workload(work: Workload, broker: LiveBroker, folder: Path, kcompact: Cli) -> None:
    create(broker, work)
    for number in range(work.rounds):
        produce(work, number, broker.bootstrap)
        before = take_stage(broker, work, folder / f"before-{number}")
        earlier = len(broker.rounds)
        now_ms = let_go(broker, work)
        after = take_stage(broker, work, folder / f"after-{number}")
        cleaned = [round_.log for round_ in broker.rounds[earlier:]]
        try:
            check_dirty_ratio(work, before, cleaned, now_ms, kcompact)
            check_compact(work, before, after, now_ms, kcompact)
            check_verify(work, before, after, now_ms, kcompact)
        except AssertionError:
            save_as_golden(work, before, after, FAILED_CASES / f"seed-{work.seed}-round-{number}", now_ms)
            raise
    delete(broker, work)


def options(work: Workload, stage: Stage, now_ms: int) -> list[str]:
    """What a user would have: configs, segments, batches, offsets, clock."""
    properties = stage.folder / "topic.properties"
    configs = {**work.created, **work.configs, **work.cleaner}
    properties.write_text("".join(f"{name}={value}\n" for name, value in configs.items()))
    given = [f"--topic-config={work.topic}={properties}", f"--now={now_ms}"]
    given += [f"--segments={stage.folder / 'segments'}", f"--batches={stage.folder / 'batches'}"]
    for partition, offsets in stage.offsets.items():
        log = f"{work.topic}-{partition}"
        given += [
            f"--log-start-offset={log}={offsets.start}",
            f"--log-end-offset={log}={offsets.end}",
            f"--last-stable-offset={log}={offsets.stable}",
        ]
    return given


def known_checkpoint(stage: Stage) -> list[str]:
    """The checkpoint as an option; a file without a line about the topic would be refused."""
    path = stage.folder / "checkpoint"
    return [f"--checkpoint={path}"] if checkpoint(path) else []


def check_dirty_ratio(work: Workload, before: Stage, cleaned: list[str], now_ms: int, kcompact: Cli) -> None:
    """The broker cleaned the logs that are said to be eligible, none dirtier than the one before it (R9)."""
    given = [*known_checkpoint(before), *options(work, before, now_ms)]

    run = kcompact("dirty-ratio", before.dump, "--format=json", *given)

    assert run.exit_code == 0, f"seed {work.seed}: {run.stderr}"
    logs = json.loads(run.stdout)["logs"]
    ratios = {f"{log['topic']}-{log['partition']}": log["dirty_ratio"] for log in logs if log["eligible"]}
    order = list(dict.fromkeys(cleaned))  # a full map leaves more for another round
    assert sorted(order) == sorted(ratios), f"seed {work.seed}"
    assert [ratios[log] for log in order] == sorted(ratios.values(), reverse=True), f"seed {work.seed}"


def check_compact(work: Workload, before: Stage, after: Stage, now_ms: int, kcompact: Cli) -> None:
    state = before.folder / "state"
    state.mkdir()
    (state / "cleaner-offset-checkpoint").write_text((before.folder / "checkpoint").read_text())
    output = before.folder / "compacted.jsonl"

    run = kcompact(
        "compact",
        before.dump,
        "-o",
        output,
        "--state",
        state,
        "--respect-dirty-ratio",
        *(["--rounds=until-clean"] if work.cleaner else []),
        *options(work, before, now_ms),
    )

    assert (run.exit_code, run.stderr if run.exit_code else "") == (0, ""), f"seed {work.seed}"
    assert sorted(kcat_offsets(output)) == sorted(kcat_offsets(after.dump)), f"seed {work.seed}"
    assert checkpoint(state / "cleaner-offset-checkpoint") == checkpoint(after.folder / "checkpoint")


def check_verify(work: Workload, before: Stage, after: Stage, now_ms: int, kcompact: Cli) -> None:
    given = options(work, before, now_ms)

    run = kcompact("verify", before.dump, after.dump, *known_checkpoint(before), *given)

    assert run.exit_code == 0, f"seed {work.seed}: {run.stdout}{run.stderr}"


def checkpoint(path: Path) -> dict[tuple[str, int], int]:
    entries = [line.split() for line in path.read_text().splitlines()[2:]]
    return {(topic, int(partition)): int(offset) for topic, partition, offset in entries}
