"""docs/recipes.md: every command does what the page says, in the order of the page."""

import json
import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import Run

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]
ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "recipes.md").read_text()
Cli = Callable[..., Run]
RECIPES = {
    title: re.findall(r"^kcompact (.*?)(?: # (\d))?$", text, re.MULTILINE)
    for title, text in re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
}


def kcat(topic: str, records: list[tuple[str | None, object]], first: int = 0) -> str:
    """Lines as kcat -J writes them; a value that is no text goes as JSON text."""
    lines = [
        {
            "topic": topic,
            "partition": 0,
            "offset": first + at,
            "tstype": "create",
            "ts": 1_700_000_000_000 + at,
            "key": key,
            "payload": value if value is None or isinstance(value, str) else json.dumps(value),
        }
        for at, (key, value) in enumerate(records)
    ]
    return "".join(json.dumps(line) + "\n" for line in lines)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files that the page names."""
    shutil.copytree(ROOT / "samples", tmp_path / "samples", ignore=shutil.ignore_patterns("*.report"))
    shutil.copyfile(ROOT / "samples" / "orders.jsonl", tmp_path / "orders.jsonl")
    (tmp_path / "new.jsonl").write_text(kcat("orders", [("order-1003", "later")], first=1_432))
    row = {"id": 1, "name": "a"}
    events = [
        {"before": None, "after": row, "op": "c", "ts_ms": 1, "source": {"table": "customers"}},
        {"before": row, "after": None, "op": "d", "ts_ms": 2, "source": {"table": "customers"}},
        {"before": None, "after": {**row, "id": 2}, "op": "c", "ts_ms": 3, "source": {"table": "customers"}},
    ]
    (tmp_path / "customers.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
    key = '{"keytype":"SCHEMA","subject":"orders-value","version":1,"magic":1}'
    schemas = [(key, '{"id":1,"deleted":false}'), (key, '{"id":1,"deleted":true}')]
    (tmp_path / "_schemas.jsonl").write_text(kcat("_schemas", [*schemas]))
    deleted = [key for key, value in _latest(ROOT / "samples" / "orders.jsonl").items() if value is None]
    (tmp_path / "keys.txt").write_text("\n".join(deleted[:2] if len(deleted) > 1 else deleted) + "\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _latest(dump: Path) -> dict[str, str | None]:
    """The last value of each key."""
    return {record["key"]: record["payload"] for record in map(json.loads, dump.read_text().splitlines())}


@pytest.mark.parametrize("title", RECIPES)
def test_a_recipe_does_what_it_says(title: str, kcompact: Cli, folder: Path) -> None:
    assert RECIPES[title]
    for command, code in RECIPES[title]:
        run = kcompact(*shlex.split(command))
        assert run.exit_code == int(code or 0), f"{command}\n{run.stdout}{run.stderr}"
        for output in re.findall(r"-o (\S+)", command):
            assert (folder / output).exists(), command


def test_the_nightly_line_runs_every_night(kcompact: Cli, folder: Path) -> None:
    line = shlex.split(RECIPES["Nightly compaction with a state"][0][0])
    assert kcompact(*line).exit_code == 0
    with (folder / "orders.jsonl").open("a") as dump:
        dump.write((folder / "new.jsonl").read_text())
    run = kcompact(*line)
    assert run.exit_code == 0, run.stderr
    assert _latest(folder / "orders.compacted.jsonl")["order-1003"] == "later"
    latest = {
        (record["partition"], record["key"]) for record in map(json.loads, (folder / "orders.jsonl").open())
    }
    assert len((folder / "orders.compacted.jsonl").read_text().splitlines()) == len(latest)


def test_of_deleted_customers_nothing_is_left_but_the_delete(kcompact: Cli, folder: Path) -> None:
    for command, _ in RECIPES["Debezium"]:
        assert kcompact(*shlex.split(command)).exit_code == 0
    kept = [
        json.loads(line)["op"] for line in (folder / "customers.compacted.jsonl").read_text().splitlines()
    ]
    rows = [json.loads(line)["after"] for line in (folder / "customers.rows.jsonl").read_text().splitlines()]
    assert kept == ["d", "c"]
    assert rows == [{"id": 2, "name": "a"}]


def test_evidence_holds_no_key(kcompact: Cli, folder: Path) -> None:
    for command, _ in RECIPES["Evidence that keys are gone"]:
        kcompact(*shlex.split(command))
    evidence = (folder / "evidence.txt").read_text()
    assert all(key not in evidence for key in (folder / "keys.txt").read_text().split())
    assert "SHA-256 of erased.jsonl" in evidence
