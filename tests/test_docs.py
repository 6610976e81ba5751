"""The README's commands print what the README shows, and every command's help has an example that works."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from conftest import Run
from kcompact.short_help import HELP

ROOT = Path(__file__).parents[1]
COMMANDS = ["inspect", "dirty-ratio", "compact", "verify"]
CONSOLE = re.compile(r"```console\n(.*?)```", re.DOTALL)
Cli = Callable[..., Run]
SEVERITIES = {"info", "minor", "major", "critical", "blocker"}  # of GitLab


def sessions() -> Iterator[tuple[str, str]]:
    """(command line, what it prints) of every console block of the README, in order."""
    for block in CONSOLE.findall((ROOT / "README.md").read_text()):
        for session in block.split("$ ")[1:]:
            command, _, printed = session.partition("\n")
            yield command, printed


@pytest.mark.spark
def test_the_readme_shows_what_its_commands_print(
    kcompact: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spark: object
) -> None:
    del spark  # the commands borrow it
    shutil.copytree(
        ROOT / "samples", tmp_path / "samples", ignore=shutil.ignore_patterns("*.compacted.*", "*.report")
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    shown = list(sessions())

    for command, printed in shown:
        alone, _, head = command.partition(" | head -n ")
        program, *arguments = shlex.split(alone)
        if program != "kcompact":  # a line of shell that makes something for the next command
            subprocess.run(command, shell=True, check=True)  # noqa: S602  the README's own words
            continue
        run = kcompact(*arguments)
        assert "error" not in run.stderr, command
        assert _trimmed(run.stdout)[: int(head) if head else None] == _trimmed(printed), command

    assert set(COMMANDS) <= {shlex.split(command)[1] for command, _ in shown}


@pytest.mark.spark
def test_the_job_for_gitlab_leaves_the_reports_that_it_names(
    kcompact: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spark: object
) -> None:
    del spark
    shutil.copytree(ROOT / "samples", tmp_path / "samples", ignore=shutil.ignore_patterns("*.report"))
    monkeypatch.chdir(tmp_path)
    (job,) = re.findall(r"```yaml\ndump:\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    commands = re.findall(r"^ +- kcompact (.*)$", job, re.MULTILINE)
    assert [kcompact(*shlex.split(command)).exit_code for command in commands] == [0, 0]
    reports = dict(re.findall(r"(junit|codequality): ([\w.]+)", job))
    assert ET.parse(reports["junit"]).getroot().tag == "testsuite"  # noqa: S314  made here
    assert {issue["severity"] for issue in json.loads(Path(reports["codequality"]).read_text())} <= SEVERITIES


@pytest.mark.spark
@pytest.mark.parametrize("command", COMMANDS)
def test_the_examples_in_the_help_work(
    command: str, kcompact: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spark: object
) -> None:
    del spark
    shutil.copytree(
        ROOT / "samples", tmp_path / "samples", ignore=shutil.ignore_patterns("*.compacted.*", "*.report")
    )
    monkeypatch.chdir(tmp_path)
    if command == "verify":
        assert kcompact("compact", "samples/orders.jsonl", "-o", "build/orders.jsonl").exit_code == 0
    examples = re.findall(r"^  kcompact (.*)", HELP[command], re.MULTILINE)

    assert len(examples) == 3
    for example in examples:
        assert example.startswith(f"{command} ")
        assert kcompact(*shlex.split(example)).exit_code == 0, example  # whatever the others have written


def test_the_readme_s_first_command_is_not_in_the_way_of_the_next() -> None:
    text = (ROOT / "README.md").read_text()
    (start,) = re.findall(r"^python3 -m venv .* -o (\S+)", text, re.MULTILINE)
    (command, *_) = (command for command, _ in sessions() if command.startswith("kcompact compact "))
    assert not {start, f"{Path(start).with_suffix('')}.report"} & {
        command.split()[-1],
        f"{Path(command.split()[-1]).with_suffix('')}.report",
    }


@pytest.mark.slow
def test_help_version_and_wrong_command_lines_import_nothing_large() -> None:
    script = (
        "import sys; from kcompact.app import main; main(sys.argv[1:]);"
        "assert not {'pyspark', 'numba', 'numpy'} & set(sys.modules)"
    )
    for arguments in (
        ["--help"],
        ["--version"],
        ["compact", "--help"],
        ["compact", "nowhere.jsonl"],
        ["inspect", "x", "--format", "none"],
        ["compact", "--none"],
        ["nonsense"],
    ):
        subprocess.run(
            [sys.executable, "-c", script, *arguments], check=True, capture_output=True, env=dict(os.environ)
        )


@pytest.mark.slow
def test_the_wheel_installs_clean_and_holds_the_package(tmp_path: Path) -> None:
    wheel = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--wheel-dir", str(tmp_path), str(ROOT)]
    subprocess.run(wheel, check=True, capture_output=True)
    (built,) = tmp_path.glob("kcompact-*.whl")
    target = tmp_path / "site"
    install = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(target), str(built)]
    subprocess.run(install, check=True, capture_output=True)

    version = subprocess.run(
        [
            sys.executable,
            "-c",
            "import kcompact.app, sys; print(kcompact.__file__); kcompact.app.main(['--version'])",
        ],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(target)},
        cwd=tmp_path,
    ).stdout
    assert str(target) in version
    assert (target / "kcompact" / "py.typed").exists()


def test_an_sdist_takes_no_file_of_a_name_from_every_folder() -> None:
    targets = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]
    included = targets["sdist"]["include"]
    assert all(pattern.startswith("/") and (ROOT / pattern[1:]).exists() for pattern in included)


def _trimmed(text: str) -> list[str]:
    return [line.rstrip() for line in text.rstrip().splitlines()]
