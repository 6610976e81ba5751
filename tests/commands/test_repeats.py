"""Offsets that stand in a dump twice: said where the records are the same, refused where they differ."""

from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import Run

pytestmark = pytest.mark.usefixtures("spark")
LINE = '{{"topic":"t","partition":0,"offset":{},"key":"k{}","value":"{}"}}\n'


def dump(path: Path, offsets: range, value: str = "v") -> Path:
    path.write_text("".join(LINE.format(n, n % 3, value) for n in offsets))
    return path


@pytest.mark.parametrize("command", ["compact", "dirty-ratio"])
def test_files_that_hold_the_same_records_are_named(
    command: str, tmp_path: Path, kcompact: Callable[..., Run]
) -> None:
    first, other = dump(tmp_path / "a.jsonl", range(9)), dump(tmp_path / "b.jsonl", range(6, 12))
    output = ["-o", tmp_path / "out.jsonl"] if command == "compact" else []

    run = kcompact(command, first, other, *output)

    assert run.exit_code == 0, run.stderr
    notes = " ".join(run.stderr.split())
    assert (
        f"{first} and {other} both hold 3 records, with the same offsets and content: counted once" in notes
    )


@pytest.mark.parametrize("command", ["compact", "dirty-ratio"])
def test_records_that_differ_are_named_by_file_and_line(
    command: str, tmp_path: Path, kcompact: Callable[..., Run]
) -> None:
    first, other = dump(tmp_path / "a.jsonl", range(9)), dump(tmp_path / "b.jsonl", range(6, 12), "w")
    output = ["-o", tmp_path / "out.jsonl"] if command == "compact" else []

    run = kcompact(command, first, other, *output)

    assert run.exit_code == 2
    places = f"at {first}:7 and at {other}:1"
    assert f"t-0 offset 6: two records with different content, {places}" in " ".join(run.stderr.split())
    assert not (tmp_path / "out.jsonl").exists()


def test_records_without_a_partition_may_be_of_two(tmp_path: Path, kcompact: Callable[..., Run]) -> None:
    dump = tmp_path / "t.jsonl"
    record = '{{"topic":"t","offset":{0},"timestamp":1,"key":"k","value":"{1}"}}\n'
    dump.write_text("".join(record.format(offset, value) for value in "vw" for offset in range(3)))

    run = kcompact("compact", dump, "-o", tmp_path / "out.jsonl")

    assert run.exit_code == 2
    assert "are they of two partitions? Export the partition with the records" in " ".join(run.stderr.split())
