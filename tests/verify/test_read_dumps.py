"""Which figures of the dumps come to the driver."""

from pathlib import Path

import numpy as np
import pytest

from kcompact.dumps.dump import open_dump
from kcompact.dumps.options import ReadOptions
from kcompact.engine.shuffle import send_in_process
from kcompact.verify.rows import indexed
from kcompact.verify.rows.keyed_rows import AFTER, BEFORE

LINE = '{{"topic":"t","partition":0,"offset":{offset},"ts":1,"key":"k","payload":"v"}}\n'
RUNS = [[0, 2], [4, 5]]


@pytest.fixture(params=[False, True], ids=["in-full", "folded"])
def folds(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    monkeypatch.setattr(indexed, "DUMP_BYTES_PER_TASK", 100)
    return bool(request.param)


def runs_by_kind(folder: Path, *kinds: str, folds: bool) -> dict[str, list[list[int]]]:
    """Of a dump that is given as each kind, the runs of its only log."""
    path = folder / "dump.jsonl"
    path.write_text(
        "".join(LINE.format(offset=offset) for start, end in RUNS for offset in range(start, end))
    )
    with open_dump([str(path)], ReadOptions()) as dump:
        _, dumps = indexed.read_dumps(send_in_process, dict.fromkeys(kinds, dump), folder, folds=folds)
    return {kind: np.concatenate(*of_dump.runs.values()).tolist() for kind, of_dump in dumps.items()}


def test_the_offsets_of_after_stay_where_they_are_where_only_those_of_before_are_asked_for(
    tmp_path: Path, folds: bool
) -> None:
    assert runs_by_kind(tmp_path, BEFORE, AFTER, folds=folds) == {BEFORE: RUNS, AFTER: []}


def test_of_one_dump_alone_the_offsets_are_known(tmp_path: Path, folds: bool) -> None:
    assert runs_by_kind(tmp_path, AFTER, folds=folds) == {AFTER: RUNS}
