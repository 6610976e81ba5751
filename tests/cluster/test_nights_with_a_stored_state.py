"""Nights in a row with their state on a store: as with a folder here."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import Run
from kcompact.broker.state.cleaner_state import texts_of
from kcompact.broker.state.state_places import read_states
from nights import NIGHTS, NOW_MS, STATE, expected, now_ms, put_nights, stored_line
from s3_server import S3
from store_runs import records_of, run_kcompact

pytestmark = pytest.mark.spark
TEXTS = ("cleaner-offset-checkpoint", "delete-horizons")
Kcompact = Callable[..., Run]


def sorted_lines(content: bytes) -> list[str]:
    return sorted(content.decode().splitlines(keepends=True))


@pytest.mark.parametrize("is_full", [False, True], ids=["new records", "a full dump every night"])
def test_a_state_there_is_as_good_as_a_folder_here(
    is_full: bool, place: S3, kcompact: Kcompact, tmp_path: Path, spark: object
) -> None:
    del spark
    for night in range(len(NIGHTS)):
        new = tmp_path / "new.jsonl"
        so_far = NIGHTS[: night + 1] if is_full else [NIGHTS[night]]
        new.write_text("".join(line for lines in so_far for line in lines))
        for state, name in ((STATE, "there.jsonl"), (tmp_path / "state", "here.jsonl")):
            output = tmp_path / name
            inputs = [output, new] if night and not is_full else [new]
            line = ("--state", state, "-o", output, "--overwrite", "--now", now_ms(night))
            run = kcompact("compact", *inputs, *line)
            assert run.exit_code == 0, run.stderr
            assert sorted_lines(output.read_bytes()) == expected(NIGHTS[: night + 1])
        (counts,) = read_states(STATE)
        for name in TEXTS:
            assert texts_of(counts)[name] == (tmp_path / "state" / name).read_text()
        (told, also_told) = (
            kcompact("dirty-ratio", tmp_path / "there.jsonl", "--state", state, "--format", "json")
            for state in (STATE, tmp_path / "state")
        )
        assert json.loads(told.stdout)["logs"] == json.loads(also_told.stdout)["logs"]
    assert list(place.objects(STATE)) == ["state.json"]


def test_dumps_on_the_store_go_on_from_each_other(place: S3, tmp_path: Path) -> None:
    put_nights(place)
    for night in range(len(NIGHTS)):
        run = run_kcompact(*stored_line(night), environment={}, folder=tmp_path)
        assert run.returncode == 0, run.stderr
        left = records_of(place.objects(f"s3://bucket/out-{night}/"))
        assert sorted_lines(left) == expected(NIGHTS[: night + 1])
    right = ("s3://bucket/out-1/", "s3://bucket/new-2/", "s3://bucket/out-2/", "--state", STATE)
    verified = run_kcompact("verify", *right, "--now", now_ms(2), environment={}, folder=tmp_path)
    assert verified.returncode == 0, verified.stdout + verified.stderr


def test_new_records_without_the_dump_that_the_state_belongs_to_are_refused(
    place: S3, kcompact: Kcompact, tmp_path: Path, spark: object
) -> None:
    del spark
    for night, lines in enumerate(NIGHTS[:2]):
        (tmp_path / f"new-{night}.jsonl").write_text("".join(lines))
    first = ("compact", tmp_path / "new-0.jsonl", "-o", tmp_path / "out.jsonl", "--now", NOW_MS)
    assert kcompact(*first, "--state", STATE).exit_code == 0
    before = place.objects(STATE)
    for line in (("compact", "-o", tmp_path / "never.jsonl"), ("dirty-ratio",)):
        run = kcompact(line[0], tmp_path / "new-1.jsonl", *line[1:], "--state", STATE)
        assert run.exit_code == 2
        assert f"{STATE}: this state belongs to out.jsonl" in run.stderr
        assert "it is not among the inputs" in run.stderr
    assert not (tmp_path / "never.jsonl").exists()
    assert place.objects(STATE) == before


def test_a_dry_run_leaves_no_state(place: S3, kcompact: Kcompact, tmp_path: Path, spark: object) -> None:
    del spark
    (tmp_path / "new.jsonl").write_text("".join(NIGHTS[0]))
    run = kcompact("compact", tmp_path / "new.jsonl", "--state", STATE, "--dry-run")
    assert run.exit_code == 0, run.stderr
    assert place.objects(STATE) == {}
