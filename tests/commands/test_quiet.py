"""``--quiet``: files, errors and the exit code speak; a report that is asked for in a format is given."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import Run

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]
Cli = Callable[..., Run]
SAMPLES = Path(__file__).parents[2] / "samples"
ORDERS = SAMPLES / "orders.jsonl"


@pytest.fixture
def noted(tmp_path: Path) -> Path:
    """A dump that compact has a note and a warning about: a key in two partitions, a truncated name."""
    dump = tmp_path / "noted.jsonl"
    record = '{"topic":"t","partition":%d,"offset":%d,"ts":1,"tstype":"create","key":"a","payload":"x"}\n'
    dump.write_text(record % (0, 0) + record % (1, 0))
    return dump


def test_compact_prints_nothing_but_warnings_and_writes_its_files(
    kcompact: Cli, tmp_path: Path, noted: Path
) -> None:
    out = tmp_path / "out.jsonl"
    run = kcompact("compact", noted, "-o", out, "--quiet")
    assert (run.exit_code, run.stdout) == (0, "")
    assert run.stderr.startswith("warning: 1 key is in several partitions")
    assert run.stderr.count("\n") == 1
    assert out.exists()


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["inspect", ORDERS], 0),
        (["dirty-ratio", ORDERS], 0),
        (["dirty-ratio", ORDERS, "--fail-above", "0.1"], 1),
        (["inspect", ORDERS, "--max-gaps", "0"], 1),
        (["verify", ORDERS, SAMPLES / "orders.avro"], 0),
        (["verify", ORDERS], 1),
    ],
)
def test_the_exit_code_is_the_answer(arguments: list[object], code: int, kcompact: Cli) -> None:
    run = kcompact(*arguments, "-q")
    assert (run.exit_code, run.stdout, run.stderr) == (code, "", "")


def test_a_report_for_programs_is_given_all_the_same(kcompact: Cli) -> None:
    run = kcompact("inspect", ORDERS, "-q", "--format", "json")
    assert json.loads(run.stdout)["command"] == "inspect"
    assert run.stderr == ""
