"""One log in files whose names do not say so: its offsets do, and no command takes it for several topics."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import Run

pytestmark = pytest.mark.usefixtures("spark")


def write(path: Path, offsets: range, partition: int = 0) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    keyed = [{"partition": partition, "offset": n, "key": f"k{n % 3}", "value": f"v{n}"} for n in offsets]
    path.write_text("".join(json.dumps(record) + "\n" for record in keyed))


@pytest.mark.parametrize("gap", [0, 5])
def test_pieces_of_one_log_are_asked_about_by_every_command(
    gap: int, tmp_path: Path, kcompact: Callable[..., Run]
) -> None:
    pieces = tmp_path / "pieces"
    write(pieces / "xab", range(20 + gap, 40))
    write(pieces / "xaa", range(20))
    write(tmp_path / "whole.jsonl", range(40))
    lines = [
        f"compact {pieces} -o {tmp_path / 'out'}",
        f"dirty-ratio {pieces}",
        f"verify {pieces} {tmp_path / 'whole.jsonl'}",
    ]
    for line in lines:
        run = kcompact(*line.split())
        assert (run.exit_code, f"the second, from {20 + gap} on, follow" in run.stderr) == (2, True), (
            run.stderr
        )
        assert "topic=" in run.stderr
    assert not (tmp_path / "out").exists()
    assert "by their names they are of two" in kcompact("inspect", pieces).stdout


def test_the_remedy_makes_one_log_of_them(tmp_path: Path, kcompact: Callable[..., Run]) -> None:
    named = tmp_path / "topic=orders"
    write(named / "xaa", range(20))
    write(named / "xab", range(20, 40))
    assert kcompact("compact", tmp_path / "topic=orders", "-o", tmp_path / "out").exit_code == 0
    kept = [json.loads(line) for path in (tmp_path / "out").rglob("x*") for line in path.open()]
    assert sorted(record["offset"] for record in kept) == [37, 38, 39]


@pytest.mark.parametrize(("first", "second"), [(range(20), range(30)), (range(100, 120), range(900, 990))])
def test_topics_by_name_of_offsets_of_their_own_stay_two(
    first: range, second: range, tmp_path: Path, kcompact: Callable[..., Run]
) -> None:
    write(tmp_path / "dump" / "orders.jsonl", first)
    write(tmp_path / "dump" / "customers.jsonl", second)
    assert kcompact("compact", tmp_path / "dump", "-o", tmp_path / "out").exit_code == 0


def test_partitions_are_compared_with_their_like(tmp_path: Path, kcompact: Callable[..., Run]) -> None:
    write(tmp_path / "dump" / "orders.jsonl", range(20))
    write(tmp_path / "dump" / "customers.jsonl", range(20, 40), partition=1)
    assert kcompact("compact", tmp_path / "dump", "-o", tmp_path / "out").exit_code == 0
