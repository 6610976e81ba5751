"""No command line destroys a dump, or anything else that kcompact did not write."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import Run
from kcompact.dumps.output.outputs import REPORT_FILES

pytestmark = pytest.mark.usefixtures("spark")
Cli = Callable[..., Run]

ORDERS = Path(__file__).parents[2] / "samples" / "orders.jsonl"


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder: a dump in a folder of its own, which lies in a folder."""
    (tmp_path / "d" / "in").mkdir(parents=True)
    shutil.copy(ORDERS, tmp_path / "d" / "in" / "a.jsonl")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("compact d/in/a.jsonl -o o.jsonl --report d/in --overwrite", "--report d/in holds d/in/a.jsonl"),
        ("compact d/in/a.jsonl -o d/ --overwrite", "-o d holds d/in/a.jsonl"),
        ("compact d/in -o d/ --overwrite", "-o d holds d/in"),
        ("compact d -o d/out.jsonl", "-o d/out.jsonl lies inside d"),
        ("compact d/in/a.jsonl -o . --overwrite", "holds the working folder"),
        ("compact d/in/a.jsonl -o / --overwrite", "is the root folder"),
        ("compact d/in/a.jsonl -o", "-o names nothing"),
        ("compact d/in/a.jsonl -o --overwrite", "-o names nothing but --overwrite, which is an option"),
        ("compact d/in/a.jsonl -o /dev/null --overwrite", "/dev/null is neither a file nor a folder"),
        ("compact d/in/a.jsonl -o out/ --state out/state", "--state out/state lies inside out"),
        ("compact d/in/a.jsonl -o out/ --report out/report", "--report out/report lies inside out"),
        ("compact d/in/a.jsonl -o x.jsonl --report x.jsonl", "--report x.jsonl is -o too"),
        ("compact d/in/a.jsonl -o x.jsonl --state d/in", "--state d/in holds d/in/a.jsonl"),
        ("compact d/in/a.jsonl -o x.jsonl --state hdfs://h/state/", "HDFS has no conditional writes"),
        ("verify d/in/a.jsonl --state hdfs://h/state/", "HDFS has no conditional writes"),
        ("compact d/in/a.jsonl -o s3://b/out/ --state d/state", "cannot be replaced together with a dump"),
        (
            "compact d/in/a.jsonl -o s3://b/out/ --state s3://b/out/s",
            "--state s3://b/out/s/ overlaps s3://b/out/",
        ),
        ("compact d/in/a.jsonl -o s3a://b/out/", "hint: write it as s3://b/out/"),
        ("compact d/in/a.jsonl -o x.jsonl --report S3://b/r/", "hint: write it as s3://b/r/"),
        ("compact d/in/a.jsonl -o file:///d/x.jsonl", "hint: write the path alone: /d/x.jsonl"),
        ("compact d/in/a.jsonl -o file:/d/x.jsonl", "hint: write the path alone: /d/x.jsonl"),
        ("compact d/in/a.jsonl -o x.jsonl --state gcs://b/s", "hint: write it as gs://b/s"),
        ("verify d/in/a.jsonl -o https://h/x.json", "-o https://h/x.json: an address that kcompact does not"),
        ("inspect d/in/a.jsonl -o s3://b/report.txt", "a report is written to a file on this machine"),
        ("compact d/in/a.jsonl --checkpoint x -o x --overwrite", "-o x is an input of this run"),
        ("compact d/in/a.jsonl -o d/in/a.jsonl", "is an input of this run"),
        ("inspect d/in/a.jsonl -o d/in/a.jsonl --overwrite", "is an input of this run"),
        ("inspect d -o d/report.txt", "lies inside d"),
        ("dirty-ratio d/in/a.jsonl -o d/in/a.jsonl --overwrite", "is an input of this run"),
        ("dirty-ratio d/in/a.jsonl --segments x -o x --overwrite", "is an input of this run"),
        ("verify d/in/a.jsonl d/in/a.jsonl -o d/in/a.jsonl --overwrite", "is an input of this run"),
        ("verify d/in/a.jsonl --absent-keys x -o x --overwrite", "is an input of this run"),
    ],
)
def test_what_would_destroy_something_is_refused(line: str, words: str, place: Path, kcompact: Cli) -> None:
    (place / "x").write_text("0\n0\n")
    before = contents(place)
    run = kcompact(*(line + " ").split(" ") if line.endswith("-o") else line.split())
    assert (run.exit_code, words in run.stderr) == (2, True), run.stderr
    assert contents(place) == before


def test_a_file_on_standard_input_is_kept_as_an_input_is(place: Path, kcompact: Cli) -> None:
    dump, standard_input = place / "d" / "in" / "a.jsonl", os.dup(0)
    try:
        with dump.open("rb") as redirected:
            os.dup2(redirected.fileno(), 0)
        for part in ([], ["--partitions", "0"]):
            run = kcompact("compact", "-", "-o", dump, "--overwrite", *part)
            assert run.exit_code == 2, run.stderr
            assert f"-o {dump} is an input of this run, /dev/stdin" in run.stderr.replace("\n", "")
    finally:
        os.dup2(standard_input, 0)
        os.close(standard_input)
    assert dump.read_bytes() == ORDERS.read_bytes()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("compact d/in/a.jsonl -o o.jsonl", "is an input of this run"),
        ("compact d/in -o o/", "lies inside d/in"),
        ("compact d/in/a.jsonl -o SUMMARY --overwrite", "SUMMARY is -o too"),
        ("compact d/in/a.jsonl -o o.jsonl --state SUMMARY", "SUMMARY is --state too"),
        ("inspect d/in/a.jsonl", "is an input of this run"),
        ("dirty-ratio d/in/a.jsonl", "is an input of this run"),
        ("verify d/in/a.jsonl d/in/a.jsonl", "is an input of this run"),
        ("verify d/in/a.jsonl --absent-keys x -o SUMMARY", "SUMMARY is -o too"),
    ],
)
def test_the_summary_of_a_step_is_kept_apart_as_well(
    line: str, words: str, place: Path, kcompact: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place / "x").write_text("0\n0\n")
    inside = {"lies inside d/in": "d/in/summary.md", "is an input of this run": "d/in/a.jsonl"}
    summary = place / inside.get(words, "summary.md")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    before = contents(place)
    run = kcompact(*line.replace("SUMMARY", str(summary)).split())
    assert (run.exit_code, words.replace("SUMMARY", str(summary)) in run.stderr) == (2, True), run.stderr
    assert "GITHUB_STEP_SUMMARY" in run.stderr
    assert contents(place) == before


def test_a_folder_with_anything_else_in_it_is_not_replaced(place: Path, kcompact: Cli) -> None:
    for _ in range(2):
        run = kcompact("compact", "d/in", "-o", "out/", "--overwrite")
        assert run.exit_code == 0, run.stderr
    assert {path.name for path in (place / "out.report").iterdir()} == set(REPORT_FILES)
    for precious in (place / "out" / "thesis.tex", place / "out.report" / "notes.txt"):
        precious.write_text("years of work")
        before = contents(place)
        run = kcompact("compact", "d/in", "-o", "out/", "--overwrite")
        assert run.exit_code == 2
        assert f"holds {precious.name}" in run.stderr
        assert contents(place) == before
        precious.unlink()


def test_with_overwrite_a_dump_is_compacted_in_place(place: Path, kcompact: Cli) -> None:
    assert kcompact("compact", "d/in/a.jsonl", "-o", "compacted.jsonl", "--no-report").exit_code == 0
    expected = (place / "compacted.jsonl").read_bytes()
    assert kcompact("compact", "d/in", "-o", "d/in", "--overwrite", "--no-report").exit_code == 0
    assert contents(place / "d") == {"in/a.jsonl": expected}
    shutil.copy(ORDERS, "d/in/a.jsonl")
    run = kcompact("compact", "d/in/a.jsonl", "-o", "./d/../d/in/a.jsonl", "--overwrite", "--no-report")
    assert run.exit_code == 0
    assert contents(place / "d") == {"in/a.jsonl": expected}


def test_temporary_files_do_not_turn_up_in_a_dump(
    place: Path, kcompact: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(place / "d"))
    run = kcompact("inspect", "d")
    assert run.exit_code == 2
    assert f"temporary files go to {place}/d, which is inside the input d" in run.stderr
