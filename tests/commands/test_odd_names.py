"""File names that are no UTF-8 reach every report."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import Run

pytestmark = pytest.mark.usefixtures("spark")

ORDERS = Path(__file__).parents[2] / "samples" / "orders.jsonl"


@pytest.mark.parametrize(
    "arguments", [["compact", "--dry-run"], ["dirty-ratio"], ["inspect"], ["verify"]], ids=lambda a: a[0]
)
def test_a_file_name_of_odd_bytes_is_spelled_out_in_json(
    arguments: list[str], kcompact: Callable[..., Run], tmp_path: Path
) -> None:
    odd = Path(os.fsdecode(os.fsencode(tmp_path) + b"/odd\xff.jsonl"))
    odd.write_bytes(b"".join(ORDERS.read_bytes().splitlines(keepends=True)[:50]))
    dumps = [odd, odd] if arguments[0] == "verify" else [odd]
    run = kcompact(*arguments, *dumps, "--format", "json")
    assert run.exit_code in (0, 1), run.stderr
    json.loads(run.stdout)
    assert r"odd\\udcff.jsonl" in run.stdout
    run.stdout.encode("utf-8")


@pytest.mark.parametrize("command", ["compact", "dirty-ratio", "inspect", "verify"])
def test_a_name_of_odd_bytes_is_no_topic(command: str, kcompact: Callable[..., Run], tmp_path: Path) -> None:
    """No broker has such a topic, and neither a state nor JSON can hold its name."""
    odd = Path(os.fsdecode(os.fsencode(tmp_path) + b"/odd\xff.jsonl"))
    odd.write_text('{"partition": 0, "offset": 0, "timestamp": 1, "key": "a", "value": "x"}\n')
    run = kcompact(command, odd)
    assert (run.exit_code, "the file name is not UTF-8" in run.stderr) == (2, True)

    (tmp_path / "topic=orders").mkdir()
    dump = odd.rename(tmp_path / "topic=orders" / odd.name)
    assert kcompact(command, dump).exit_code == 0


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_a_folder_of_odd_bytes_holds_dumps_and_reports(
    suffix: str, kcompact: Callable[..., Run], tmp_path: Path
) -> None:
    odd = Path(os.fsdecode(os.fsencode(tmp_path) + b"/odd\xff"))
    odd.mkdir()
    dump, compacted = odd / f"orders.{suffix}", odd / f"compacted.{suffix}"
    for source, target in ((ORDERS, dump), (dump, compacted)):
        run = kcompact("compact", source, "-o", target)
        assert run.exit_code == 0, run.stderr
    assert kcompact("verify", ORDERS, compacted).exit_code == 0
    assert (odd / "compacted.report" / "report.html").exists()
