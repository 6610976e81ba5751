"""Runs that are told to stop, or whose Java or worker dies: the exit code, the words, nothing left."""

import os
import signal
import subprocess
from pathlib import Path

import pytest

from engine_runs import SECONDS, is_clean, processes_of, run_python, start_python, wait_until

pytestmark = pytest.mark.spark

# A job whose worker tells its process id and then hangs, run as main() runs a command.
_HANGING_JOB = """
import os, signal, sys, time
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # which a test run under nohup ignores
from kcompact import commands
from kcompact.app import main
from kcompact.frame import app
from kcompact.engine.session import SessionOptions, open_session
from kcompact.engine.tasks import run_tasks

def hang(given):
    with open(os.environ["WORKER_FILE"] + ".new", "w") as file:
        file.write(str(os.getpid()))
    os.rename(os.environ["WORKER_FILE"] + ".new", os.environ["WORKER_FILE"])
    time.sleep(600)
    yield given

@app.command("hang")
def _hang():
    with open_session(SessionOptions(master="local[2]")) as spark:
        JOB

sys.exit(main(["hang"]))
"""
_TASK = "run_tasks(spark, 1, lambda task: list(hang(task)))"
_QUERY = 'spark.range(1, numPartitions=1).mapInArrow(hang, "id long").collect()'
either = pytest.mark.parametrize("job", [_TASK, _QUERY], ids=["task", "query"])


def start_hanging(folder: Path, job: str) -> tuple[subprocess.Popen[str], int, Path]:
    """The process, the id of its worker, and the folder of all its temporary files."""
    temporary, worker = folder / "tmp", folder / "worker"
    temporary.mkdir()
    process = start_python(_HANGING_JOB.replace("JOB", job), temporary, WORKER_FILE=str(worker))
    assert wait_until(worker.exists)
    return process, int(worker.read_text()), temporary


def finish(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    with process:
        out, err = process.communicate(timeout=SECONDS)
    return process.returncode, out, err


@pytest.mark.parametrize(
    ("number", "job"),
    [(signal.SIGTERM, _TASK), (signal.SIGINT, _TASK), (signal.SIGINT, _QUERY), (signal.SIGHUP, _TASK)],
)
def test_a_signal_ends_the_run_with_nothing_left(tmp_path: Path, number: signal.Signals, job: str) -> None:
    process, _worker, temporary = start_hanging(tmp_path, job)
    process.send_signal(number)
    assert finish(process) == (130, "", "")
    assert wait_until(lambda: is_clean(temporary), seconds=0.5), processes_of(temporary)


def test_a_killed_run_takes_java_and_workers_with_it(tmp_path: Path) -> None:
    process, _worker, temporary = start_hanging(tmp_path, _TASK)
    process.kill()
    finish(process)
    assert wait_until(lambda: is_clean(temporary), seconds=20), processes_of(temporary)


@either
def test_a_killed_worker_is_explained(tmp_path: Path, job: str) -> None:
    process, worker, temporary = start_hanging(tmp_path, job)
    os.kill(worker, signal.SIGKILL)
    code, out, err = finish(process)
    assert (code, out) == (2, "")
    assert err.splitlines()[0] == "error: a Python worker of Spark was killed or crashed"
    assert err.splitlines()[1].startswith("hint: ")
    assert wait_until(lambda: is_clean(temporary), seconds=0.5), processes_of(temporary)


@either
def test_a_killed_java_is_explained(tmp_path: Path, job: str) -> None:
    process, _worker, temporary = start_hanging(tmp_path, job)
    java = [pid for pid, command in processes_of(temporary).items() if "PythonGatewayServer" in command]
    assert len(java) == 1
    os.kill(java[0], signal.SIGKILL)
    code, out, err = finish(process)
    assert (code, out) == (2, ""), err
    assert err.splitlines()[0] == "error: Spark's Java died (signal 9)"
    assert wait_until(lambda: is_clean(temporary), seconds=0.5), processes_of(temporary)


def test_an_error_of_ours_comes_back_from_a_worker_with_its_hint(tmp_path: Path) -> None:
    code = """
from kcompact.engine.session import SessionOptions, open_session
from kcompact.errors import KcompactError, OutputError

def refuse(batches):
    raise OutputError("no room: [a] b", hint="free: some")
    yield

try:
    with open_session(SessionOptions(master="local[2]")) as spark:
        spark.range(1, numPartitions=1).mapInArrow(refuse, "id long").collect()
except KcompactError as error:
    print(type(error).__name__, error.message, error.hint, sep="|")
"""
    run = run_python(code, tmp_path)
    assert (run.stdout, run.stderr) == ("OutputError|no room: [a] b|free: some\n", "")
    assert wait_until(lambda: is_clean(tmp_path), seconds=0.5), processes_of(tmp_path)


def test_an_exception_in_the_command_leaves_nothing(tmp_path: Path) -> None:
    code = """
from kcompact.engine.session import SessionOptions, open_session
with open_session(SessionOptions(master="local[2]")) as spark:
    spark.range(1).count()
    raise ZeroDivisionError
"""
    run = run_python(code, tmp_path)
    assert run.returncode == 1
    assert run.stderr.splitlines()[-1] == "ZeroDivisionError"
    assert wait_until(lambda: is_clean(tmp_path), seconds=0.5), processes_of(tmp_path)
