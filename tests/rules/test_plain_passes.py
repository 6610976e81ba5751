"""The plain run's tasks, run one after the other in this process: passes show nowhere in what they leave."""

import random
from dataclasses import asdict
from pathlib import Path

import pytest

from dump_files import write_kcat
from kcompact.broker.log_context import DumpContext
from kcompact.compact.context.beside import Beside
from kcompact.compact.output import survivor_copying, task_files
from kcompact.compact.pipeline import compact_rows
from kcompact.compact.request import Compacted, Form, Request
from kcompact.compact.totals import piece_bytes
from kcompact.dumps.dump import open_dump
from kcompact.dumps.options import ReadOptions
from kcompact.dumps.output.workplace import Workplace
from kcompact.dumps.records.record import Record
from kcompact.dumps.writers.converting import Copier
from kcompact.engine.passes import grouping
from kcompact.engine.passes import index_pass as indexing
from kcompact.engine.passes.index_pass import plan_index
from kcompact.engine.shuffle import send_in_process
from kcompact.rules.policy import Policy, TopicPolicies

RECORDS = 400
SPLIT_BYTES = 9_000


def records(seed: int, keys: int) -> list[Record]:
    """Three partitions of a topic, with holes between their offsets and some keys in several of them."""
    rng = random.Random(seed)
    offsets = [0, 5, 9]
    made = []
    for number in range(RECORDS):
        partition = rng.randrange(3)
        offsets[partition] += rng.choice([1, 1, 1, 2, 40])
        key = f"key-{rng.randrange(keys)}".encode()
        value = None if rng.random() < 0.2 else f"value-{number}".encode()
        made.append(Record("orders", partition, offsets[partition], number, key, value))
    return made


def run(
    path: Path,
    folder: Path,
    merge_tasks: int,
    *,
    drop_tombstones: bool = False,
    is_afar: bool = False,
) -> Compacted:
    """Every stage of the plain run; its parts lie in ``folder``."""
    folder.mkdir()
    policy = Policy(drop_tombstones=drop_tombstones)
    with open_dump([str(path)], ReadOptions()) as dump:
        request = Request(
            TopicPolicies(policy),
            Beside(DumpContext()),
            folder,
            Workplace(str(folder), is_afar=is_afar),
            Copier({}),
            Form.KEYS,
            tells_sizes=False,
        )
        return compact_rows(send_in_process, dump, request, plan_index(dump, folder), merge_tasks)


def left(folder: Path, done: Compacted) -> tuple[bytes, list[bytes], list[object]]:
    """The survivors' bytes, both reports, and the figures."""
    outcome = done.outcome
    parts = [(folder / part.part).read_bytes()[part.start : part.end] for part in outcome.fragments]
    reports = [b"".join(piece_bytes(folder, pieces)) for pieces in (outcome.removed_keys, outcome.gaps)]
    return b"".join(parts), reports, [asdict(log) for log in outcome.logs]


@pytest.fixture
def small_passes(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Many tasks, and passes and stretches of a few rows."""
    monkeypatch.setattr(indexing, "SMALLEST_SPLIT_BYTES", SPLIT_BYTES)
    monkeypatch.setattr(grouping, "MOST_ROWS", 7)
    monkeypatch.setattr(grouping, "MOST_KEYS", 7)
    monkeypatch.setattr(survivor_copying, "_SAMPLED", 2)
    return monkeypatch


@pytest.mark.everyday(1)
@pytest.mark.parametrize("keys", [3, 60, 100_000])
@pytest.mark.parametrize("drop_tombstones", [False, True])
def test_passes_and_stretches_show_nowhere(
    tmp_path: Path, small_passes: pytest.MonkeyPatch, keys: int, *, drop_tombstones: bool
) -> None:
    path = write_kcat(tmp_path / "dump.jsonl", records(keys, keys))
    several = run(path, tmp_path / "several", 3, drop_tombstones=drop_tombstones)
    small_passes.undo()
    whole = run(path, tmp_path / "whole", 1, drop_tombstones=drop_tombstones)

    assert len(several.plan.splits) > 1
    assert several.plan.splits.keys() != whole.plan.splits.keys()
    assert left(tmp_path / "several", several) == left(tmp_path / "whole", whole)
    assert several.shared_keys == whole.shared_keys
    assert (several.shared_keys.count > 0) == (keys < 100_000)


@pytest.mark.slow
def test_what_tasks_write_in_folders_of_their_own_comes_to_the_drivers_in_order(
    tmp_path: Path, small_passes: pytest.MonkeyPatch
) -> None:
    path = write_kcat(tmp_path / "dump.jsonl", records(5, 60))
    small_passes.setattr(task_files, "_BLOCK_BYTES", 500)
    small_passes.setattr(task_files, "_TAKEN_BYTES", 2_000)
    small_passes.setenv("TMPDIR", str(tmp_path))
    in_place = run(path, tmp_path / "here", 3)
    brought = run(path, tmp_path / "brought", 3, is_afar=True)

    assert left(tmp_path / "brought", brought) == left(tmp_path / "here", in_place)
    names = {path.name for path in (tmp_path / "brought").iterdir()}
    assert {name for name in names if name.startswith("part-")} == {
        fragment.part for fragment in brought.outcome.fragments
    }
    assert not list(tmp_path.glob(".kcompact-*"))


@pytest.mark.slow
@pytest.mark.usefixtures("small_passes")
def test_every_missing_offset_is_counted_where_it_was_missing(tmp_path: Path) -> None:
    made = records(1, 40)
    done = run(write_kcat(tmp_path / "dump.jsonl", made), tmp_path / "work", 2)

    for log in done.outcome.logs:
        present = {record.offset for record in made if record.partition == log.partition}
        latest = {record.key: record.offset for record in made if record.partition == log.partition}
        span = set(range(min(present), max(present) + 1))
        assert log.gap_offsets == len(span - set(latest.values()))
        assert log.gap_offsets_missing_before == len(span - present)


@pytest.mark.usefixtures("small_passes")
def test_a_dump_of_one_task_is_merged_in_a_job_of_its_own_where_that_is_asked_for(tmp_path: Path) -> None:
    path = write_kcat(tmp_path / "dump.jsonl", records(2, 50)[:100])
    by_three_stages, at_once = (run(path, tmp_path / str(merging), merging) for merging in (2, 1))

    assert left(tmp_path / "2", by_three_stages) == left(tmp_path / "1", at_once)
