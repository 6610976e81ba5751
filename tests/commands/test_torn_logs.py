"""One log in files whose names do not say so: its offsets do, and no command takes it for several topics."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import Run

pytestmark = pytest.mark.usefixtures("spark")


def write(path: Path, offsets: range, partition: int | None = 0) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    place = {} if partition is None else {"partition": partition}
    keyed = [place | {"offset": n, "key": f"k{n % 3}", "value": f"v{n}"} for n in offsets]
    path.write_text("".join(json.dumps(record) + "\n" for record in keyed))


@pytest.mark.parametrize("gap", [0, 5])
def test_pieces_of_one_log_are_asked_about_by_every_command(
    gap: int, tmp_path: Path, kcompact: Callable[..., Run]
) -> None:
    pieces = tmp_path / "pieces"
    write(pieces / "more.jsonl", range(20 + gap, 40))
    write(pieces / "dump.jsonl", range(20))
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
    assert "by their names they are two logs" in kcompact("inspect", pieces).stdout


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


@pytest.mark.parametrize(
    "names", [("orders-1.jsonl", "orders-2.jsonl"), ("orders-00.jsonl", "orders-01.jsonl")]
)
def test_numbers_that_count_files_are_no_partitions(
    names: tuple[str, str], tmp_path: Path, kcompact: Callable[..., Run]
) -> None:
    for name, offsets in zip(names, (range(20), range(20, 40)), strict=True):
        write(tmp_path / "dump" / name, offsets, None)
    run = kcompact("compact", tmp_path / "dump", "-o", tmp_path / "out")
    assert (run.exit_code, "topic=orders/partition=0/" in run.stderr) == (2, True), run.stderr
    write(tmp_path / "dump" / names[1], range(25), None)  # as partitions have them
    assert kcompact("compact", tmp_path / "dump", "-o", tmp_path / "out").exit_code == 0
