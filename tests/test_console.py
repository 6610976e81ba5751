"""Our two consoles: what reads them may stop reading, and colours are for terminals."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import Run
from full_device import needs_full_device

KCOMPACT = [sys.executable, "-P", "-m", "kcompact"]
SAMPLE = Path(__file__).parents[1] / "samples" / "orders.jsonl"


@pytest.mark.slow
@pytest.mark.parametrize("line", ["inspect --dialects", "--version"])
def test_a_closed_pipe_ends_a_run_quietly(line: str) -> None:
    with subprocess.Popen(
        [*KCOMPACT, *line.split()], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        complaint = process.stderr.read()
    assert (process.returncode, complaint) == (0, "")


@pytest.mark.spark
@pytest.mark.parametrize(
    "line", ["verify {1} {0}", "verify {1} {0} --format json", "inspect {0} --max-gaps 0"]
)
def test_the_exit_code_tells_what_nobody_reads(line: str, tmp_path: Path) -> None:
    """As ``verify ... | grep -q`` has it, with ``pipefail``."""
    newest = tmp_path / "newest.jsonl"  # of its key alone: no compaction of it holds the others
    newest.write_text(SAMPLE.read_text().splitlines(keepends=True)[-1])
    with subprocess.Popen(
        [*KCOMPACT, *line.format(SAMPLE, newest).split()],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        complaint = process.stderr.read()
    assert "bug:" not in complaint
    assert process.returncode == 1


@needs_full_device
@pytest.mark.parametrize("line", ["inspect nowhere", "inspect --no-such-option"])
def test_the_exit_code_tells_what_a_full_disk_does_not_hold(line: str) -> None:
    with Path("/dev/full").open("w") as full:
        run = subprocess.run([*KCOMPACT, *line.split()], stderr=full, check=False)
    assert run.returncode == 2


@pytest.mark.everyday(1)
@pytest.mark.parametrize(
    ("closed", "line", "complaint"),
    [
        (">&-", "--version", "error: standard output cannot be written: Bad file descriptor"),
        ("<&-", "inspect -", "error: standard input is closed"),
        ("<&- >&- 2>&-", "inspect -", ""),
    ],
)
def test_a_stream_that_is_closed_is_named(closed: str, line: str, complaint: str) -> None:
    shell = ["sh", "-c", f'exec "$@" {closed}', "sh", *KCOMPACT, *line.split()]
    run = subprocess.run(shell, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr.partition("\n")[0]) == (2, complaint)


@needs_full_device
@pytest.mark.spark
@pytest.mark.parametrize("redirection", ["2>&-", "2>/dev/full", "2> >(:)"])
@pytest.mark.parametrize("option", ["--annotations", "--verbose"])
def test_the_exit_code_tells_what_cannot_be_annotated(redirection: str, option: str) -> None:
    line = f"inspect {SAMPLE} --max-gaps 0 {option}"
    shell = ["bash", "-c", f'exec "$@" {redirection}', "bash", *KCOMPACT, *line.split()]
    run = subprocess.run(shell, stdout=subprocess.DEVNULL, check=False)
    assert run.returncode == 1


@pytest.mark.everyday(1)
@pytest.mark.parametrize("columns", ["0", "-5", "x", "\u00b2", "9" * 30])
def test_whatever_width_the_environment_claims_all_is_said(columns: str) -> None:
    """Some shells, containers and terminals without a size leave a COLUMNS of 0."""
    line, environ = [*KCOMPACT, "inspect", "no-such-dump"], os.environ | {"COLUMNS": columns}
    run = subprocess.run(line, capture_output=True, text=True, env=environ, check=False)
    assert (run.returncode, run.stderr) == (2, "error: no-such-dump: no such file or folder\n")


@pytest.mark.spark
def test_no_file_of_a_run_takes_the_number_of_a_closed_output(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    line = f"compact {SAMPLE} -o {out} --no-report -q"
    run = subprocess.run(["sh", "-c", 'exec "$@" >&- 2>&-', "sh", *KCOMPACT, *line.split()], check=False)
    assert run.returncode == 0
    assert out.read_bytes().count(b"\n") == 163


@pytest.mark.parametrize(
    "line",
    [
        *("verify - -", "compact - - -o x.jsonl", f"verify {SAMPLE} --read-committed - -"),
        *("verify --absent-keys - -", "inspect - --key @-"),
    ],
)
def test_standard_input_is_read_once(line: str, kcompact: Callable[..., Run]) -> None:
    run = kcompact(*line.split())
    assert (run.exit_code, run.stderr.partition("\n")[0]) == (
        2,
        "error: standard input is named twice, and can be read once",
    )


@pytest.mark.slow
@pytest.mark.parametrize("line", ["verify /dev/stdin -", "verify - /dev/fd/0"])
def test_a_pipe_is_read_once_by_whatever_names(line: str) -> None:
    run = subprocess.run(
        [*KCOMPACT, *line.split()], input=SAMPLE.read_bytes(), capture_output=True, check=False
    )
    assert run.returncode == 2
    assert run.stderr.startswith(b"error: standard input is named twice, and can be read once")


@pytest.mark.slow
def test_the_word_error_is_red_on_a_terminal_alone() -> None:
    program = "from kcompact.app import main; main(['inspect', 'nowhere'])"
    for variables, shown in (
        ({"FORCE_COLOR": "1"}, "\x1b[1;31merror: \x1b[0mnowhere: no such file or folder\n"),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, "\x1b[1merror: \x1b[0mnowhere: no such file or folder\n"),
        ({}, "error: nowhere: no such file or folder\n"),
    ):
        plain = {name: value for name, value in os.environ.items() if name not in {"FORCE_COLOR", "NO_COLOR"}}
        environment = plain | {"TERM": "xterm"} | variables
        run = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment
        )
        assert run.stderr == shown


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("s3a://AK:topsecret@bkt/in/", "s3a://***@bkt/in/"),
        ("s3://AK:topsecret@bkt/in/", "s3://***@bkt/in/"),
        ("s3://topsecret@bkt/in/", "s3://***@bkt/in/"),
        ("gs://topsecret@bkt/in/", "gs://***@bkt/in/"),
        ("https://user:topsecret@host/x.jsonl", "https://***@host/x.jsonl"),
    ],
)
def test_credentials_in_an_address_are_not_repeated(
    address: str, shown: str, kcompact: Callable[..., Run], tmp_path: Path
) -> None:
    runs = [kcompact("inspect", address), kcompact("compact", address, "-o", tmp_path / "x.jsonl")]
    runs.append(kcompact("compact", SAMPLE, "-o", address))
    for run in runs:
        assert run.exit_code == 2
        assert "topsecret" not in run.stdout + run.stderr
        assert shown in run.stderr
    assert not list(tmp_path.iterdir())
