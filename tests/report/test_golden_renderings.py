"""Renderings of every command, as they were read by eye: a change shows in the diff of a golden file.

KCOMPACT_WRITE_RENDERINGS=1 writes the files anew; ``renderings/README.md`` says what has to be in them.
"""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import Run

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]
Cli = Callable[..., Run]
FOLDER = Path(__file__).parent / "renderings"
WRITES = "KCOMPACT_WRITE_RENDERINGS" in os.environ
NAMES = {
    "json": "json",
    "markdown": "md",
    "html": "html",
    "junit": "junit.xml",
    "code-quality": "code-quality.json",
}
REPORT = {"report.md": "compact.md", "report.json": "compact.json", "report.html": "compact.html"}
LISTS = {"removed-keys.csv": "removed-keys.csv", "gaps.csv": "gaps.csv"}
SHOWN = ["text", "json", "markdown", "html"]
FOR_CI = ["github", "junit", "code-quality"]
COMMANDS = {
    "compact": (["dump.jsonl", "-o", "out.jsonl", "--now", "1760020000000"], 0, [*SHOWN, "broker-log"]),
    "dirty-ratio": (
        ["dump.jsonl", "--now", "1760020000000", "--segment-bytes", "1KiB,1MiB", "--fail-above", "0.9"],
        1,
        [*SHOWN, "broker-log", *FOR_CI],
    ),
    "inspect": (["dump.jsonl", "--max-gaps", "1"], 1, [*SHOWN, *FOR_CI]),
    "verify": (["dump.jsonl", "wrong.jsonl", "--now", "1760020000000"], 1, [*SHOWN, *FOR_CI]),
}
CASES = [(command, style) for command, (_, _, styles) in COMMANDS.items() for style in styles]


@pytest.fixture
def dumps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder to work in: a dump, and a compaction of it that lost a tombstone and changed a value."""
    shutil.copy(FOLDER / "dump.jsonl", tmp_path)
    records = [json.loads(line) for line in (FOLDER / "dump.jsonl").read_text().splitlines()]
    latest = {(record["partition"], record["key"]): record for record in records}
    latest[1, "dave"]["payload"] = "3"
    stays = [record for record in latest.values() if record["payload"] is not None]
    text = "".join(json.dumps(record) + "\n" for record in stays)
    (tmp_path / "wrong.jsonl").write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    return tmp_path


def golden_name(command: str, style: str) -> str:
    """The file that holds the rendering of a command."""
    return f"{command}.{NAMES.get(style, f'{style}.txt')}"


def is_as_golden(text: str, name: str) -> bool:
    """Whether the golden file of that name holds the text; it is written where that is asked for."""
    golden = FOLDER / name
    if WRITES:
        golden.write_text(text)
    return golden.read_text() == text


def without_run(style: str, text: str) -> str:
    """The text without what the clock and the machine decide."""
    if style != "json":
        return text
    document = json.loads(text)
    del document["run"]
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


@pytest.mark.parametrize(("command", "style"), CASES)
def test_a_rendering_is_as_its_golden_file(command: str, style: str, kcompact: Cli, dumps: Path) -> None:
    del dumps
    arguments, exit_code, _ = COMMANDS[command]
    run = kcompact(command, *arguments, "--format", style)
    assert run.exit_code == exit_code
    assert is_as_golden(without_run(style, run.stdout), golden_name(command, style))


@pytest.mark.parametrize(("name", "golden"), [*REPORT.items(), *LISTS.items()])
def test_the_report_folder_is_as_its_golden_files(name: str, golden: str, kcompact: Cli, dumps: Path) -> None:
    assert kcompact("compact", *COMMANDS["compact"][0]).exit_code == 0
    text = (dumps / "out.report" / name).read_bytes().decode()
    assert is_as_golden(without_run("json" if name == "report.json" else "", text), golden)


def test_the_golden_files_are_those_that_are_compared() -> None:
    renderings = {golden_name(command, style) for command, style in CASES}
    assert {path.name for path in FOLDER.iterdir()} == {"dump.jsonl", "README.md", *LISTS} | renderings
