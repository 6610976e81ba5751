"""``--topic`` and ``--partitions``: what matches nothing is refused in every command."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import Run

pytestmark = pytest.mark.usefixtures("spark")
SAMPLES = Path(__file__).parents[2] / "samples"
FILES = ["orders.jsonl", "orders.csv", "orders.avro"]


@pytest.fixture
def three_logs(tmp_path: Path) -> Path:
    """``a-0``, ``a-1`` and ``b-2``, in so many records that they are read many at a time."""
    line = '{{"topic":"{}","partition":{},"offset":{},"key":"k","value":"{}"}}\n'
    logs = ["a", 0], ["a", 1], ["b", 2]
    path = tmp_path / "three.jsonl"
    path.write_text("".join(line.format(*log, n, "x" * 200) for n in range(1000) for log in logs))
    return path


SLIPS = {
    "no such topic": (["--topic", "nope"], "--topic nope: no record of this topic", "holds a, b"),
    "one of two topics": (["--topic", "a", "--topic", "nope"], "--topic nope: no record", "holds a, b"),
    "no such partition": (["--partitions", "3,7-9"], "--partitions: no record is in any", "holds 0-2"),
    "not of this topic": (["--topic", "b", "--partitions", "0"], "--partitions: no record of b", "holds 2"),
}


@pytest.mark.parametrize("command", ["compact", "inspect", "dirty-ratio", "verify"])
@pytest.mark.parametrize("slip", SLIPS)
def test_what_matches_nothing_is_refused(
    command: str, slip: str, three_logs: Path, kcompact: Callable[..., Run]
) -> None:
    options, refusal, hint = SLIPS[slip]
    dumps = [three_logs, three_logs] if command == "verify" else [three_logs]

    run = kcompact(command, *dumps, *options)

    assert run.exit_code == 2
    assert refusal in run.stderr
    assert f"the dump {hint}" in run.stderr
    assert [path.name for path in three_logs.parent.iterdir()] == ["three.jsonl"]


@pytest.mark.parametrize("name", FILES)
def test_every_format_names_the_topics_that_it_holds(
    name: str, tmp_path: Path, kcompact: Callable[..., Run]
) -> None:
    run = kcompact("compact", SAMPLES / name, "-o", tmp_path / "out", "--topic", "nope")
    assert (run.exit_code, "the dump holds orders" in run.stderr) == (2, True)
    run = kcompact("compact", SAMPLES / name, "-o", tmp_path / "out", "--partitions", "9")
    assert (run.exit_code, "the dump holds 0-2" in run.stderr) == (2, True)


def test_a_list_of_partitions_may_name_empty_ones(
    three_logs: Path, tmp_path: Path, kcompact: Callable[..., Run]
) -> None:
    out = tmp_path / "out"
    run = kcompact("compact", three_logs, "-o", out, "--topic", "a", "--partitions", "1-9")
    assert run.exit_code == 0, run.stderr
    kept = [json.loads(line) for line in out.read_text().splitlines()]
    assert [(record["topic"], record["partition"], record["offset"]) for record in kept] == [("a", 1, 999)]


def test_a_topic_may_be_gone_from_one_of_two_dumps(tmp_path: Path, kcompact: Callable[..., Run]) -> None:
    before, after = tmp_path / "before.csv", tmp_path / "after.csv"
    after.write_text("topic,partition,offset,key,value\na,0,0,k,v\n")
    before.write_text(after.read_text() + "b,0,0,k,\n")

    run = kcompact("verify", before, after, "--topic", "b", "--drop-tombstones", "--tombstone", "missing")

    assert run.exit_code == 0, run.stderr
    assert "b-0: 1 -> 0 records" in run.stdout


@pytest.mark.parametrize("topic", ["orders", "export"])
@pytest.mark.parametrize("is_turned", [False, True])
def test_a_topic_that_only_a_file_s_name_denies_is_no_finding(
    topic: str, is_turned: bool, tmp_path: Path, kcompact: Callable[..., Run]
) -> None:
    named = tmp_path / "export.csv"
    named.write_text("partition,offset,key,value\n0,0,a,1\n0,1,b,1\n")
    said = tmp_path / "said.csv"
    said.write_text("topic,partition,offset,key,value\norders,0,0,a,1\norders,0,1,b,1\n")
    pair = (said, named) if is_turned else (named, said)

    run = kcompact("verify", *pair, "--topic", topic)

    assert (run.exit_code, run.stdout) == (2, "")
    assert "leave --topic out where each dump holds one topic" in run.stderr
    assert kcompact("verify", *pair).exit_code == 0


@pytest.mark.parametrize("part", [["--topic", "a"], ["--partitions", "0"], ["--keep-going"]])
def test_a_part_of_a_dump_does_not_replace_the_dump(
    part: list[str], three_logs: Path, kcompact: Callable[..., Run]
) -> None:
    before = three_logs.read_bytes()
    for place in (three_logs, three_logs.parent):
        run = kcompact("compact", place, "-o", place, "--overwrite", *part)
        assert run.exit_code == 2, run.stderr
        assert "is an input of this run" in run.stderr
    assert three_logs.read_bytes() == before
