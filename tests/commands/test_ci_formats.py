"""inspect, dirty-ratio and compact in CI: formats for servers, and GitHub told without being asked."""

import json
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import Run

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]
Cli = Callable[..., Run]
ORDERS = Path(__file__).parents[2] / "samples" / "orders.jsonl"


@pytest.fixture
def summary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """GitHub Actions, listening."""
    path = tmp_path / "summary.md"
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(path))
    return path


def test_a_gate_of_inspect_fails_one_junit_case(kcompact: Cli) -> None:
    run = kcompact("inspect", ORDERS, "--max-gaps", "2", "--format", "junit")
    suite = ET.fromstring(run.stdout)  # noqa: S314  made here, by the code under test
    assert run.exit_code == 1
    assert [case.get("name") for case in suite.iter("testcase") if case.find("failure") is not None] == [
        "max-gaps"
    ]


def test_logs_above_the_ratio_fail_their_junit_cases(kcompact: Cli) -> None:
    run = kcompact("dirty-ratio", ORDERS, "--fail-above", "0.5", "--format", "junit")
    suite = ET.fromstring(run.stdout)  # noqa: S314  made here, by the code under test
    assert (run.exit_code, suite.get("tests"), suite.get("failures")) == (1, "3", "3")


def test_gitlab_s_report_names_the_dump(kcompact: Cli) -> None:
    run = kcompact("inspect", ORDERS, "--format", "code-quality")
    assert {issue["location"]["path"] for issue in json.loads(run.stdout)} == {str(ORDERS)}


@pytest.mark.parametrize("command", ["inspect", "dirty-ratio"])
def test_github_is_told_in_stderr_where_stdout_has_the_report(
    command: str, kcompact: Cli, summary: Path
) -> None:
    run = kcompact(command, ORDERS, "--format", "json")
    assert json.loads(run.stdout)["command"] == command
    assert f"::notice title=kcompact {command}::" in run.stderr
    assert summary.read_text().startswith(f"### kcompact {command}\n")


def test_the_format_for_github_says_everything_once(kcompact: Cli, summary: Path) -> None:
    run = kcompact("inspect", ORDERS, "--format", "github")
    assert "::notice title=kcompact inspect::" in run.stdout
    assert "::" not in run.stderr
    assert summary.exists()


def test_compact_adds_its_figures_to_the_summary(kcompact: Cli, summary: Path, tmp_path: Path) -> None:
    assert kcompact("compact", ORDERS, "-o", tmp_path / "out.jsonl").exit_code == 0
    assert "600 records in 3 logs: 163 kept" in summary.read_text()
    assert "| `orders-0` | 228 | 68 |" in summary.read_text()


def test_nothing_is_told_where_it_is_not_wanted(kcompact: Cli, summary: Path) -> None:
    assert "::" not in kcompact("inspect", ORDERS, "--no-annotations").stderr
    assert not summary.exists()


def test_a_summary_that_cannot_be_written_is_not_moved_by_an_option_for_the_report(
    kcompact: Cli, summary: Path
) -> None:
    summary.mkdir()
    run = kcompact("inspect", ORDERS)
    assert run.exit_code == 2
    assert run.stderr.splitlines()[-2:] == [
        f"error: {summary} cannot be written: Is a directory",
        "hint: GITHUB_STEP_SUMMARY names it; --no-annotations leaves it alone",
    ]
