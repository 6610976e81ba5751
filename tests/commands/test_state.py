"""``--state`` over several runs: each goes on where the last one ended, as one broker would."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import Run
from golden_cases import GoldenCase, Log, golden_cases
from golden_options import options_of

pytestmark = pytest.mark.usefixtures("spark")

ORDERS = Path(__file__).parents[2] / "samples" / "orders.jsonl"
CASES = {case.name: case for case in golden_cases()}
Kcompact = Callable[..., Run]


def by_log(lines: list[str], logs: list[Log]) -> dict[Log, list[int]]:
    found: dict[Log, list[int]] = {log: [] for log in logs}
    for line in lines:
        record = json.loads(line)
        found[record["topic"], record["partition"]].append(record["offset"])
    return {log: sorted(offsets) for log, offsets in found.items()}


def new_lines(case: GoldenCase, number: int, known: dict[Log, list[int]], scratch: Path) -> list[str]:
    """What was produced since the last run: lines of the next dump that the last output does not hold."""
    lines = case.dump_path(case.pairs[number][0], scratch).read_text().splitlines()
    found = []
    for line in lines:
        record = json.loads(line)
        if record["offset"] not in known.get((record["topic"], record["partition"]), []):
            found.append(line)
    return found


@pytest.mark.parametrize(
    "name",
    [
        "w05-two-stage-deletion",  # horizons come from the state alone
        "w12-incremental",
        "w22-full-map-tombstones",
        "w31-horizon-stays",
    ],
)
def test_runs_in_a_row_leave_what_one_broker_left(name: str, kcompact: Kcompact, tmp_path: Path) -> None:
    case = CASES[name]
    state, last = tmp_path / "state", None
    known: dict[Log, list[int]] = {}
    for number, (_, after) in enumerate(case.pairs):
        fresh = tmp_path / f"new-{number}.jsonl"
        fresh.write_text("".join(f"{line}\n" for line in new_lines(case, number, known, tmp_path)))
        inputs = [path for path in (last, fresh) if path and path.stat().st_size]
        last = tmp_path / f"compacted-{number}.jsonl"
        options = [*options_of(case, number, tmp_path), "--respect-dirty-ratio", "--null-keys", "drop"]
        run = kcompact("compact", *inputs, "--state", state, "-o", last, *options)

        assert run.exit_code == 0, run.stderr
        known = by_log(last.read_text().splitlines(), case.logs)
        assert known == case.offsets(after)
        entries = (state / "cleaner-offset-checkpoint").read_text().splitlines()[2:]
        assert sorted(entries) == sorted(f"{t} {p} {at}" for (t, p), at in case.checkpoint(after).items())


def test_next_week_goes_on_where_this_week_ended(kcompact: Kcompact, tmp_path: Path) -> None:
    """Two halves with a state leave what the whole leaves at once; the state knows each log's end."""
    lines = ORDERS.read_text().splitlines(keepends=True)
    (tmp_path / "one.jsonl").write_text("".join(lines[:300]))
    (tmp_path / "two.jsonl").write_text("".join(lines[300:]))
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    state = tmp_path / "state"
    for inputs, output in (([tmp_path / "one.jsonl"], first), ([first, tmp_path / "two.jsonl"], second)):
        run = kcompact("compact", *inputs, "--state", state, "-o", output)
        assert run.exit_code == 0, run.stderr
    assert kcompact("compact", ORDERS, "-o", tmp_path / "whole.jsonl").exit_code == 0
    whole = (tmp_path / "whole.jsonl").read_text().splitlines()
    assert sorted(second.read_text().splitlines()) == sorted(whole)
    told = kcompact("dirty-ratio", second, "--state", state, "--format", "json")
    for log in json.loads(told.stdout)["logs"]:
        assert (log["binding_limit"], log["estimate"]) == ("nothing dirty", None)


@pytest.mark.parametrize("command", ["compact", "dirty-ratio"])
def test_a_state_of_another_dump_is_explained_and_nothing_is_written(
    command: str, kcompact: Kcompact, tmp_path: Path
) -> None:
    state, first = tmp_path / "state", tmp_path / "first.jsonl"
    assert kcompact("compact", ORDERS, "--state", state, "-o", first).exit_code == 0
    remembered = {path.name: path.read_bytes() for path in state.iterdir()}
    output = ["-o", tmp_path / "second.jsonl"] if command == "compact" else []
    run = kcompact(command, ORDERS, "--state", state, *output)
    assert run.exit_code == 2
    assert "this state belongs to first.jsonl" in run.stderr
    assert "it is not among the inputs" in run.stderr
    assert not (tmp_path / "second.jsonl").exists()
    assert {path.name: path.read_bytes() for path in state.iterdir()} == remembered


def test_a_changed_output_is_explained(kcompact: Kcompact, tmp_path: Path) -> None:
    """As after a run that died between writing its dump and its state."""
    state, first = tmp_path / "state", tmp_path / "first.jsonl"
    assert kcompact("compact", ORDERS, "--state", state, "-o", first).exit_code == 0
    first.write_text("".join(first.read_text().splitlines(keepends=True)[1:]))
    run = kcompact("compact", first, "--state", state, "-o", tmp_path / "second.jsonl")
    assert run.exit_code == 2
    assert "a run that died between writing the dump and the state would explain it" in run.stderr


def test_checkpoint_and_state_exclude_each_other(kcompact: Kcompact, tmp_path: Path) -> None:
    (tmp_path / "checkpoint").write_text("0\n0\n")
    run = kcompact(
        "compact", ORDERS, "--state", tmp_path / "s", "--checkpoint", tmp_path / "checkpoint", "--dry-run"
    )
    assert (run.exit_code, "exclude each other" in run.stderr) == (2, True)
    assert not (tmp_path / "s").exists()
