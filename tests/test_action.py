"""The composite action's script: what a workflow step would do, see and hand on."""

import json
import os
import shlex
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

pytestmark = pytest.mark.spark
ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / ".github" / "actions" / "kcompact" / "run"


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """kcompact, as an executable file."""
    path = tmp_path / "kcompact"
    code = "import sys; from kcompact.app import main; sys.exit(main())"
    path.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -P -c {shlex.quote(code)} "$@"\n')
    path.chmod(0o755)
    return path


def step(
    program: Path, folder: Path, checkout: Path = ROOT, **inputs: str
) -> tuple[int, dict[str, str], str]:
    """Exit code, outputs and log of a step with these inputs."""
    outputs = folder / "outputs"
    environment = {**os.environ, **inputs, "KCOMPACT": str(program), "RUNNER_TEMP": str(folder)}
    environment |= {"GITHUB_OUTPUT": str(outputs), "GITHUB_ACTIONS": "true"}
    run = subprocess.run(
        ["bash", str(SCRIPT)], env=environment, cwd=checkout, capture_output=True, text=True, check=False
    )
    lines = outputs.read_text().splitlines() if outputs.exists() else []
    results = dict(line.split("=", 1) for line in lines)
    return run.returncode, results, run.stdout + run.stderr


def test_a_gate_that_is_reached_fails_the_step_and_counts_its_findings(program: Path, tmp_path: Path) -> None:
    code, results, log = step(
        program,
        tmp_path,
        COMMAND="inspect",
        DUMP="samples/orders.jsonl",
        OPTIONS="--max-gaps 0 --partitions '0,1'",
    )
    assert (code, results["findings"]) == (1, "1")
    assert ET.parse(results["report"]).getroot().get("failures") == "1"  # noqa: S314  made here
    assert "::error file=samples/orders.jsonl,title=max-gaps::" in log


def test_compact_hands_its_html_report_on(program: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    code, results, _ = step(
        program,
        tmp_path,
        COMMAND="compact",
        DUMP="samples/orders.jsonl\n",
        OPTIONS=f"-o {shlex.quote(str(out))}",
    )
    assert (code, results["findings"]) == (0, "0")
    assert out.exists()
    assert "<h1>Compaction report</h1>" in Path(results["report"]).read_text()


def test_a_job_that_cannot_be_done_fails_the_step_with_2(program: Path, tmp_path: Path) -> None:
    code, results, log = step(program, tmp_path, COMMAND="inspect", DUMP="nowhere.jsonl", OPTIONS="")
    assert (code, results["findings"]) == (2, "")
    assert "error: nowhere.jsonl: no such file or folder" in log


def test_a_format_and_an_output_among_the_options_take_the_place_of_the_step_s_own(
    program: Path, tmp_path: Path
) -> None:
    out = tmp_path / "answer.json"
    options = f"--max-gaps 0 --format=json -o {shlex.quote(str(out))}"
    code, results, _ = step(
        program, tmp_path, COMMAND="inspect", DUMP="samples/orders.jsonl", OPTIONS=options
    )
    assert (code, results["findings"], results["report"]) == (1, "1", str(out))
    assert json.loads(out.read_text())["command"] == "inspect"


def test_compact_may_write_no_report(program: Path, tmp_path: Path) -> None:
    options = f"--no-report -o {shlex.quote(str(tmp_path / 'out.jsonl'))}"
    code, results, _ = step(
        program, tmp_path, COMMAND="compact", DUMP="samples/orders.jsonl", OPTIONS=options
    )
    assert (code, results["report"]) == (0, "")


def test_options_that_no_shell_would_take_fail_the_step(program: Path, tmp_path: Path) -> None:
    options = "--max-gaps 0 --topic 'orders"
    code, results, log = step(
        program, tmp_path, COMMAND="inspect", DUMP="samples/orders.jsonl", OPTIONS=options
    )
    assert (code, results) == (2, {})
    assert "error: options: No closing quotation" in log


def test_no_python_file_of_the_checkout_is_run(program: Path, tmp_path: Path) -> None:
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    for name in ("argparse", "shlex"):
        (checkout / f"{name}.py").write_text("raise SystemExit('run')")
    code, _, log = step(program, tmp_path, checkout, COMMAND="inspect", DUMP="nowhere", OPTIONS="")
    assert (code, "error: nowhere: no such file" in log) == (2, True), log


def test_bash_3_of_macos_runs_it_with_several_dumps(program: Path, tmp_path: Path) -> None:
    without = tmp_path / "without"
    without.write_text("enable -n mapfile readarray\n")  # which came with bash 4
    dump = tmp_path / "a dump.jsonl"
    dump.write_bytes((ROOT / "samples" / "orders.jsonl").read_bytes())
    code, results, log = step(
        program,
        tmp_path,
        COMMAND="verify",
        DUMP=f"samples/orders.jsonl\n\n  \n{dump}\n",
        OPTIONS="--mode state",
        BASH_ENV=str(without),
    )
    assert (code, results["findings"]) == (0, "0"), log


SOURCES = SCRIPT.with_name("sources.py")


def sources(script: Path, **inputs: str) -> dict[str, str]:
    """What the action that holds the script installs, and its digest."""
    command = [sys.executable, "-I", str(script)]
    run = subprocess.run(command, env={**os.environ, **inputs}, capture_output=True, text=True, check=True)
    return dict(line.split("=", 1) for line in run.stdout.splitlines())


def test_the_action_installs_what_it_came_with_and_anew_where_that_changes(tmp_path: Path) -> None:
    action = tmp_path / ".github" / "actions" / "kcompact"
    action.mkdir(parents=True)
    script = action / "sources.py"
    script.write_bytes(SOURCES.read_bytes())
    (tmp_path / "cli").mkdir()
    module = tmp_path / "cli" / "module.py"
    module.write_text("a = 1\n")
    before = sources(script)
    assert before["install"] == str(tmp_path)
    assert sources(script) == before
    module.write_text("a = 2\n")
    assert sources(script)["digest"] != before["digest"]


def test_another_version_is_installed_where_it_is_asked_for() -> None:
    one, other = (sources(SOURCES, VERSION=f"kcompact==1.{minor}") for minor in (2, 3))
    assert (one["install"], other["install"]) == ("kcompact==1.2", "kcompact==1.3")
    assert one["digest"] != other["digest"]
    assert sources(SOURCES, VERSION=str(ROOT))["install"] == str(ROOT)
