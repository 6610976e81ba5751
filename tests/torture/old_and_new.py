"""What killed runs are compared with: results of runs to their ends; and what following runs make of them."""

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from conftest import Run
from kcompact.commands import compact_run
from kcompact.compact.request import Compacted
from kcompact.storage.publication import settle

Cli = Callable[..., Run]
KILLS = int(os.environ.get("KCOMPACT_KILLS", "4"))
IS_LONG = KILLS >= 200
LOGS, KEYS, RECORDS = 3, 50, 3_000
FIRST = "compact first.jsonl -o out.jsonl --report report --state state --now 1750000000000"
GO_ON = (
    "compact out.jsonl more.jsonl -o out.jsonl --report report --state state --now 1800000000000 --overwrite"
)


class Results(NamedTuple):
    """What one command line leaves, without what differs from run to run."""

    dump: str
    report: dict[str, Any]
    pages: tuple[str, ...]
    state: dict[str, bytes]


def lines(first: int, last: int) -> str:
    rows = (
        {
            "topic": "t",
            "partition": n % LOGS,
            "offset": n // LOGS,
            "timestamp": 1_700_000_000_000 + n,
            "key": f"k{n % KEYS}",
            "value": None if n % 11 == 0 else f"v{n}",
        }
        for n in range(first, last)
    )
    return "".join(json.dumps(row) + "\n" for row in rows)


def results(folder: Path) -> Results:
    report = json.loads((folder / "report" / "report.json").read_bytes())
    del report["run"]
    pages = tuple(sorted(path.name for path in (folder / "report").iterdir()))
    state = {path.name: path.read_bytes() for path in (folder / "state").iterdir() if path.name != "lock"}
    return Results(sha256((folder / "out.jsonl").read_bytes()).hexdigest(), report, pages, state)


def which(folder: Path, old: Results, new: Results) -> str:
    """Old or new; fails for a mixture."""
    found = results(folder)
    assert found in (old, new), {
        name: "old" if mine == was else "new" if mine == will else "neither"
        for name, mine, was, will in zip(Results._fields, found, old, new, strict=True)
    }
    return "old" if found == old else "new"


def nothing_stays(folder: Path) -> bool:
    names = {path.name for path in folder.iterdir()}
    return names == {"out.jsonl", "more.jsonl", "report", "state"} and not [*folder.rglob(".*")]


@dataclass(frozen=True)
class Campaign:
    """A folder as it is before the run that is killed; what is there, and what there will be."""

    before: Path
    old: Results
    new: Results
    done: Compacted
    parts: Path
    kcompact: Cli
    folder: Path  # for the runs
    capsys: pytest.CaptureFixture[str]

    def fresh(self, name: str) -> Path:
        """A folder as it was before the run."""
        return Path(shutil.copytree(self.before, self.folder / name))

    def tell(self, text: str) -> None:
        """Show a figure of the long form."""
        if IS_LONG:
            with self.capsys.disabled():
                print(f"\n{text}", end=" ")  # noqa: T201  a table of what was tried is made from it


def prepared(
    tmp_path: Path, kcompact: Cli, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Campaign:
    """What the tests need of runs to their ends, from a warm session; parts as Spark leaves them."""
    before, after, parts = tmp_path / "before", tmp_path / "after", tmp_path / "parts"
    before.mkdir()
    monkeypatch.chdir(before)
    Path("first.jsonl").write_text(lines(0, RECORDS))
    made = kcompact(*FIRST.split())
    assert made.exit_code == 0, made.stderr
    Path("first.jsonl").unlink()
    Path("more.jsonl").write_text(lines(RECORDS, 2 * RECORDS))
    shutil.copytree(before, after)
    monkeypatch.chdir(after)
    kept: list[Compacted] = []
    real = compact_run.compact_dump

    def keep(spark: Any, dump: Any, request: Any) -> Compacted:
        kept.append(real(spark, dump, request))
        shutil.copytree(request.folder, parts)
        return kept[0]

    with monkeypatch.context() as patched:
        patched.setattr(compact_run, "compact_dump", keep)
        assert kcompact(*GO_ON.split()).exit_code == 0
    old, new = results(before), results(after)
    assert not [
        name
        for name, one, two in zip(Results._fields, old, new, strict=True)
        if one == two and name != "pages"
    ]
    return Campaign(before, old, new, kept[0], parts, kcompact, tmp_path, capsys)


def follow(folder: Path, campaign: Campaign, *, in_full: bool) -> str:
    """What the next runs make of it: old or new after the first, new after the second, nothing beside."""
    if not in_full:
        settle(folder)
        settle(folder / "state")
        found = which(folder, campaign.old, campaign.new)
        (folder / "state" / "lock").unlink(missing_ok=True)
        assert nothing_stays(folder)
        return found
    told = campaign.kcompact("dirty-ratio", "out.jsonl", "--state", "state")
    assert told.exit_code == 0, told.stderr
    found = which(folder, campaign.old, campaign.new)
    if found == "old":
        again = campaign.kcompact(*GO_ON.split())
        assert again.exit_code == 0, again.stderr
        assert results(folder) == campaign.new
    later = campaign.kcompact("compact", "out.jsonl", *GO_ON.split()[3:])
    assert later.exit_code == 0, later.stderr
    assert nothing_stays(folder)
    return found
