"""How the plan of an index travels to the workers."""

import pickle
from pathlib import Path

import pytest

from kcompact.dumps.dump import open_dump
from kcompact.dumps.options import ReadOptions
from kcompact.engine.passes.index_pass import FEW_FILES, IndexPlan, plan_index

LINE = b'{"topic":"t","partition":0,"offset":%d,"ts":1,"broker":0,"key":"k","payload":"v"}\n'


def plan_of(folder: Path, files: int) -> IndexPlan:
    (folder / "dump").mkdir()
    (folder / "run").mkdir()
    for number in range(files):
        (folder / "dump" / f"{number}.jsonl").write_bytes(LINE % number)
    return plan_index(open_dump([str(folder / "dump")], ReadOptions()), folder / "run")


@pytest.mark.parametrize("files", [1, FEW_FILES, FEW_FILES + 1])
def test_a_plan_arrives_as_it_was_sent(tmp_path: Path, files: int) -> None:
    plan = plan_of(tmp_path, files)

    arrived = pickle.loads(pickle.dumps(plan))  # noqa: S301  our own

    assert arrived == plan
    assert files == len(arrived.files)
    assert all(arrived.split(split_id) == split for split_id, split in plan.splits.items())


def test_a_worker_reads_a_plan_of_many_files_once(tmp_path: Path) -> None:
    pickled = pickle.dumps(plan_of(tmp_path, FEW_FILES + 1))

    first, again = (pickle.loads(pickled) for _ in range(2))  # noqa: S301  our own

    assert first is again
