"""Runs whose dump is read by many tasks of Spark leave and tell what one task does."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kcompact.engine import indexing
from kcompact.log import full

pytestmark = pytest.mark.usefixtures("spark")
SAMPLE = "samples/orders.jsonl"
ASKED = {
    "plain": [],
    "lag and state": ["--state", "STATE", "--min-compaction-lag-ms", "1h", "--now", "1760000000000"],
    "small segments": ["--segment-bytes", "4KiB", "--now", "1760030000000"],
    "retention": [
        "--cleanup-policy",
        "compact,delete",
        "--retention-bytes",
        "9KiB",
        "--retention-ms=-1",
        "--now",
        "1760030000000",
    ],
}


def files_in(folder: Path) -> dict[str, Any]:
    """The output, the report and the state; what depends on the run and on names is left out."""
    found: dict[str, Any] = {}
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        name, content = str(path.relative_to(folder)), path.read_bytes()
        if path.name == "report.json":
            report = json.loads(content)
            found[name] = {key: report[key] for key in report.keys() - {"run", "outputs", "policies"}}
        elif path.suffix not in {".md", ".html"} and path.name != "output.json":
            found[name] = content
    return found


@pytest.mark.parametrize("asked", ASKED)
def test_tasks_show_in_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kcompact: Callable[..., Any], asked: str
) -> None:
    for name in ("one", "many"):
        folder = tmp_path / name
        folder.mkdir()
        if name == "many":
            monkeypatch.setattr(indexing, "SMALLEST_SPLIT_BYTES", 20_000)
            monkeypatch.setattr(full, "ROWS_PER_RECEIVER", 100)
            monkeypatch.setattr(full, "RECORDS_PER_SHARE", 100)
        options = [str(folder / "state") if option == "STATE" else option for option in ASKED[asked]]
        run = kcompact("compact", SAMPLE, "-o", folder / "out.jsonl", *options)
        assert run.exit_code == 0, run.stderr

    assert files_in(tmp_path / "many") == files_in(tmp_path / "one")
    assert (tmp_path / "one" / "out.jsonl").stat().st_size > 0


def test_tasks_do_not_show_in_dirty_ratio(
    monkeypatch: pytest.MonkeyPatch, kcompact: Callable[..., Any]
) -> None:
    asked = ("dirty-ratio", SAMPLE, "--segment-bytes", "4KiB,16KiB", "--now", "1760030000000")
    one = kcompact(*asked, "--format", "json")
    monkeypatch.setattr(indexing, "SMALLEST_SPLIT_BYTES", 20_000)
    monkeypatch.setattr(full, "ROWS_PER_RECEIVER", 100)
    monkeypatch.setattr(full, "RECORDS_PER_SHARE", 100)
    many = kcompact(*asked, "--format", "json")

    assert one.exit_code == many.exit_code == 0
    found = [json.loads(run.stdout) for run in (one, many)]
    for report in found:
        del report["run"]
    assert found[0] == found[1]
