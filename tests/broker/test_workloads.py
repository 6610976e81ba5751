"""Random workloads: kcompact leaves exactly what a live broker's cleaner leaves.

``KCOMPACT_BROKER_SEEDS=1000:200`` runs 200 workloads from seed 1000 on, instead of the usual ones.
"""

import json
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from cleaned_topics import CleanedTopic, cleaned_topics, files, known_checkpoint, options
from cleaning import read_checkpoint
from conftest import Run
from dump_files import kcat_offsets
from live_broker import LiveBroker
from workloads import FIRST_SEED, SEEDS, Workload, with_small_map, workload

pytestmark = [pytest.mark.broker, pytest.mark.usefixtures("spark")]
Cli = Callable[..., Run]

SMALL_MAP_FIRST, SMALL_MAP_COUNT = 100_000 + FIRST_SEED, max(1, SEEDS // 10)
TOGETHER = 10  # workloads that one `verify` judges: most of what it takes are Spark's plans


def batches_of(first: int, count: int) -> list[range]:
    end = first + count
    return [range(seed, min(seed + TOGETHER, end)) for seed in range(first, end, TOGETHER)]


def name_of(seeds: range) -> str:
    return f"{seeds.start}-{seeds[-1]}"


@pytest.mark.parametrize("seeds", batches_of(FIRST_SEED, SEEDS), ids=name_of)
def test_kcompact_leaves_what_the_broker_leaves(
    seeds: range, broker: LiveBroker, tmp_path: Path, kcompact: Cli, subtests: pytest.Subtests
) -> None:
    judge(map(workload, seeds), broker, tmp_path, kcompact, subtests)


@pytest.mark.parametrize("seeds", batches_of(SMALL_MAP_FIRST, SMALL_MAP_COUNT), ids=name_of)
def test_kcompact_leaves_what_rounds_with_a_full_map_leave(
    seeds: range, small_map_broker: LiveBroker, tmp_path: Path, kcompact: Cli, subtests: pytest.Subtests
) -> None:
    judge(map(with_small_map, map(workload, seeds)), small_map_broker, tmp_path, kcompact, subtests)


def judge(
    works: Iterable[Workload], broker: LiveBroker, folder: Path, kcompact: Cli, subtests: pytest.Subtests
) -> None:
    topics = []
    for work in works:
        with subtests.test(seed=work.seed):
            for topic in cleaned_topics(work, broker, folder / work.topic):
                topics.append(topic)
                check_compaction(topic, kcompact)
    for number in sorted({topic.number for topic in topics}):
        with subtests.test(verified_round=number):
            together = [topic for topic in topics if topic.number == number]
            check_verify(together, folder / f"round-{number}", kcompact)


def check_compaction(topic: CleanedTopic, kcompact: Cli) -> None:
    try:
        check_dirty_ratio(topic, kcompact)
        check_compact(topic, kcompact)
        if topic.number == 0 and not (topic.work.begins_as_delete or topic.work.deletes_records):
            check_rolled(topic, kcompact)
    except AssertionError:
        topic.save()
        raise


def check_dirty_ratio(topic: CleanedTopic, kcompact: Cli) -> None:
    """The broker cleaned the logs that are said to be eligible, none dirtier than the one before it (R9)."""
    stage, seed = topic.before, topic.work.seed
    arguments = [*known_checkpoint(stage.folder), *options(topic), *files(stage.folder, topic.now_ms)]

    run = kcompact("dirty-ratio", stage.dump, "--format=json", *arguments)

    assert run.exit_code == 0, f"seed {seed}: {run.stderr}"
    logs = json.loads(run.stdout)["logs"]
    ratios = {f"{log['topic']}-{log['partition']}": log["dirty_ratio"] for log in logs if log["eligible"]}
    order = list(dict.fromkeys(topic.cleaned))  # a full map leaves more for another round
    if topic.work.expires_in_turns:
        # What retention leaves of later logs may be due no more, or only then: that follows from no dump of
        # before. What it leaves in the end is compared record by record.
        assert set(order) - topic.expired <= set(ratios), f"seed {seed}"
        assert bool(order) == bool(ratios), f"seed {seed}"
        assert not order or ratios.get(order[0]) == max(ratios.values()), f"seed {seed}"
        return
    assert sorted(order) == sorted(ratios), f"seed {seed}"
    assert [ratios[log] for log in order] == sorted(ratios.values(), reverse=True), f"seed {seed}"


def check_compact(topic: CleanedTopic, kcompact: Cli) -> None:
    stage, seed = topic.before, topic.work.seed
    state = stage.folder / "state"
    state.mkdir()
    (state / "cleaner-offset-checkpoint").write_text((stage.folder / "checkpoint").read_text())
    output = stage.folder / "compacted.jsonl"

    run = kcompact(
        "compact",
        stage.dump,
        "-o",
        output,
        "--state",
        state,
        "--respect-dirty-ratio",
        "--null-keys=drop",
        *(["--rounds=until-clean"] if topic.work.cleaner or topic.is_cleaned_again else []),
        *options(topic),
        *files(stage.folder, topic.now_ms),
    )

    assert (run.exit_code, run.stderr if run.exit_code else "") == (0, ""), f"seed {seed}"
    assert sorted(kcat_offsets(output)) == sorted(kcat_offsets(topic.after.dump)), f"seed {seed}"
    assert read_checkpoint(state / "cleaner-offset-checkpoint") == topic.after.checkpoint


def check_rolled(topic: CleanedTopic, kcompact: Cli) -> None:
    """The same where nothing names segments: batches and configs tell how the broker rolled them (R4)."""
    stage, seed = topic.before, topic.work.seed
    batches, output = stage.folder / "batches-alone", stage.folder / "rolled.jsonl"
    rows = [line.split("\t") for line in (stage.folder / "batches").read_text().splitlines()]
    at = rows[0].index("segment")
    batches.write_text("".join("\t".join(row[:at] + row[at + 1 :]) + "\n" for row in rows))

    run = kcompact(
        *("compact", stage.dump, "-o", output, "--no-report", "--respect-dirty-ratio", "--null-keys=drop"),
        *(["--rounds=until-clean"] if topic.work.cleaner or topic.is_cleaned_again else []),
        *options(topic),
        *(f"--batches={batches}", f"--now={topic.now_ms}"),
    )

    assert (run.exit_code, run.stderr if run.exit_code else "") == (0, ""), f"seed {seed}"
    assert sorted(kcat_offsets(output)) == sorted(kcat_offsets(topic.after.dump)), f"seed {seed}"


def check_verify(topics: list[CleanedTopic], folder: Path, kcompact: Cli) -> None:
    """Topics of the same round as one pair of dumps, as of a whole cluster."""
    for name, stages in (("before", [t.before for t in topics]), ("after", [t.after for t in topics])):
        (folder / name).mkdir(parents=True)
        for topic, stage in zip(topics, stages, strict=True):
            shutil.copyfile(stage.dump, folder / name / f"{topic.work.topic}.jsonl")
    join_files([topic.before.folder for topic in topics], folder)
    arguments = [argument for topic in topics for argument in options(topic)]
    arguments += [*known_checkpoint(folder), *files(folder, max(topic.now_ms for topic in topics))]

    run = kcompact("verify", folder / "before", folder / "after", *arguments)

    for topic in topics:
        if run.exit_code and f"{topic.work.topic}-" in run.stdout:
            topic.save()
    assert run.exit_code == 0, run.stdout + run.stderr
    now = f"--now={max(topic.now_ms for topic in topics)}"
    for part in ([], [*known_checkpoint(folder), f"--batches={folder / 'batches'}"]):
        run = kcompact("verify", folder / "before", folder / "after", now, *part)
        if run.exit_code not in (0, 2):  # fine, or an option is asked for
            lines = [line.strip() for line in run.stdout.splitlines()]
            refuted = {line.rpartition(" in ")[2] for line in lines if line.startswith("finding: ")}
            assert run.exit_code == 1, run.stdout + run.stderr
            assert refuted, run.stdout
            excused = set()
            if "assumed: no record was aborted" in run.stdout:
                excused |= logs_that_end_with_their_only_markers(topics)
            if "assumed: no offset map was full" in run.stdout:
                excused |= logs_with_small_maps(topics)
            assert refuted <= excused, run.stdout


def logs_that_end_with_their_only_markers(topics: list[CleanedTopic]) -> set[str]:
    """Logs of which nothing in a dump tells that they have transactions: `verify` states what it assumes."""
    names = set()
    for topic in topics:
        offsets = kcat_offsets(topic.before.dump)
        for partition, log in topic.before.offsets.items():
            held = sorted(offset for _, of_partition, offset in offsets if of_partition == partition)
            if held and len(held) == held[-1] - held[0] + 1 and log.end > held[-1] + 1:
                names.add(f"{topic.work.topic}-{partition}")
    return names


def logs_with_small_maps(topics: list[CleanedTopic]) -> set[str]:
    """Logs of a broker whose map may have been full, which no dump tells."""
    small = [topic for topic in topics if topic.work.cleaner]
    return {f"{topic.work.topic}-{partition}" for topic in small for partition in topic.before.offsets}


def join_files(folders: list[Path], target: Path) -> None:
    """Segments, batches and checkpoints of several topics as one file each."""
    (target / "segments").write_text("".join((folder / "segments").read_text() for folder in folders))
    tables = [(folder / "batches").read_text().splitlines(keepends=True) for folder in folders]
    rows = [row for table in tables for row in table[1:]]
    (target / "batches").write_text("".join([tables[0][0], *rows]))
    entries = {
        log: offset for folder in folders for log, offset in read_checkpoint(folder / "checkpoint").items()
    }
    lines = [f"{topic} {partition} {offset}\n" for (topic, partition), offset in entries.items()]
    (target / "checkpoint").write_text("".join(["0\n", f"{len(lines)}\n", *lines]))
