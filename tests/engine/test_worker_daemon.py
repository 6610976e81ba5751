"""Daemons of Python workers, forked from an early process: used, replaced where it fails, never left."""

from pathlib import Path

import pytest

from engine_runs import is_clean, processes_of, run_python, wait_until

pytestmark = pytest.mark.spark

WHO_FORKED_A_WORKER = """
import os, signal, sys
from pathlib import Path
sys.path.insert(0, TESTS)
from engine_runs import processes_of
from kcompact.engine import session
from kcompact.engine.tasks import run_tasks

def early_daemons():
    running = processes_of(Path(os.environ["TMPDIR"]))
    return [pid for pid, command in running.items() if command.split()[-2] == "--early"]

keep_pandas_out = session.keep_pandas_out

def prepared():
    # The daemon was just started, and Java has not answered yet.
    PREPARATION
    keep_pandas_out()

session.keep_pandas_out = prepared
with session.open_session(session.SessionOptions(master="MASTER")) as spark:
    forked_by = run_tasks(spark, 1, lambda _: os.getppid())[0]
    secret = run_tasks(spark, 1, lambda _: "PYTHON_WORKER_FACTORY_SECRET" in os.environ)[0]
    parent = int(Path(f"/proc/{forked_by}/stat").read_text().rpartition(")")[2].split()[1])
    assert len(list(Path(f"/proc/{forked_by}/task").iterdir())) == 1  # with threads, forking is not safe
    END
    print(forked_by in early_daemons(), parent in early_daemons(), secret)
"""


def run(preparation: str, folder: Path, end: str = "pass", master: str = "local[2]") -> tuple[int, str, str]:
    tests = repr(str(Path(__file__).parents[1] / "support"))
    code = WHO_FORKED_A_WORKER.replace("TESTS", tests).replace("PREPARATION", preparation).replace("END", end)
    code = code.replace("MASTER", master)
    process = run_python(code, folder)
    return process.returncode, process.stdout, process.stderr


@pytest.mark.parametrize("master", ["local[2]", "local-cluster[2,1,1024]"])
def test_workers_are_forked_by_a_daemon_of_the_early_process(tmp_path: Path, master: str) -> None:
    assert run("pass", tmp_path, master=master) == (0, "True True True\n", "")
    assert wait_until(lambda: is_clean(tmp_path), seconds=0.5), processes_of(tmp_path)


@pytest.mark.parametrize(
    "preparation",
    [
        "[os.kill(pid, signal.SIGKILL) for pid in early_daemons()]",
        "[path.unlink() for path in Path(os.environ['TMPDIR']).glob('*/daemon')]",
    ],
    ids=["it is killed", "its socket is gone"],
)
def test_without_it_java_has_a_daemon_of_its_own(tmp_path: Path, preparation: str) -> None:
    assert run(preparation, tmp_path) == (0, "False False True\n", "")
    assert wait_until(lambda: is_clean(tmp_path), seconds=0.5), processes_of(tmp_path)


def test_a_folder_with_a_long_name_has_none(tmp_path: Path) -> None:
    folder = tmp_path / ("long" * 30)  # a socket's name has a hundred bytes
    folder.mkdir()
    assert run("pass", folder) == (0, "False False True\n", "")
    assert wait_until(lambda: is_clean(folder), seconds=0.5), processes_of(folder)


KILL_THE_DRIVER = "os.kill(os.getpid(), signal.SIGKILL)"


@pytest.mark.parametrize(
    ("preparation", "end"),
    [(KILL_THE_DRIVER, "pass"), ("pass", KILL_THE_DRIVER)],
    ids=["before Java has asked for it", "while it serves"],
)
def test_it_ends_with_a_driver_that_is_killed(tmp_path: Path, preparation: str, end: str) -> None:
    assert run(preparation, tmp_path, end)[0] == -9
    assert wait_until(lambda: not processes_of(tmp_path), seconds=10), processes_of(tmp_path)


WHAT_A_WORKER_HAS_IMPORTED = """
import sys
from kcompact.engine import session
from kcompact.engine.tasks import run_tasks

options = session.SessionOptions(master="local[1]", worker_modules=("kcompact.compact.pipeline",))
with session.open_session(options) as spark:
    (modules,) = run_tasks(spark, 1, lambda _: set(sys.modules))
print("kcompact.compact.pipeline" in modules, "kcompact.verify.pipeline" in modules, "pandas" in modules)
"""


def test_a_worker_has_imported_what_the_command_s_tasks_need(tmp_path: Path) -> None:
    process = run_python(WHAT_A_WORKER_HAS_IMPORTED, tmp_path)
    assert (process.stdout, process.stderr) == ("True False False\n", "")


WHAT_TASKS_OF_COMMANDS_IMPORT = """
import contextlib, io, os, sys
from kcompact.app import main
from kcompact.engine import session
from kcompact.engine.tasks import run_tasks

os.chdir(FOLDER)
dump, out = SAMPLE, "out.jsonl"
lines = [
    ["compact", dump, "-o", out, "--no-report"],
    ["compact", dump, "-o", "segments.jsonl", "--segment-bytes", "4KiB"],
    ["compact", dump, "-o", "state.jsonl", "--state", "state"],
    ["inspect", dump],
    ["verify", dump, out],
    ["dirty-ratio", dump, "--segment-bytes", "4KiB,16KiB"],
]
with session.open_session(session.SessionOptions(master="local[1]")) as spark:
    with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
        codes = [int(main(line)) for line in lines]
    (modules,) = run_tasks(spark, 1, lambda _: set(sys.modules))
outer = ("typer", "kcompact.commands", "kcompact.options", "kcompact.engine.session")
print(codes, "kcompact.rules.policy" in modules, sorted(name for name in modules if name.startswith(outer)))
"""


def test_no_task_imports_the_command_line(tmp_path: Path) -> None:
    sample = Path(__file__).parents[2] / "samples" / "orders.jsonl"
    code = WHAT_TASKS_OF_COMMANDS_IMPORT.replace("SAMPLE", repr(str(sample)))
    code = code.replace("FOLDER", repr(str(tmp_path)))
    process = run_python(code, tmp_path)
    assert process.stdout == "[0, 0, 0, 0, 0, 0] True []\n", process.stderr


WHAT_A_WORKER_KEEPS = """
import os
from kcompact.engine import session
from kcompact.engine.tasks import run_tasks

def kept_bytes(_):
    import numpy as np

    def resident_bytes():
        with open("/proc/self/statm") as pages:
            return int(pages.read().split()[1]) * os.sysconf("SC_PAGESIZE")

    np.ones(3_000_000)  # freed at once, from which glibc would learn to keep as much
    before, lasting, arrays = resident_bytes(), [], []
    for _ in range(50):
        arrays.append(np.ones(250_000))
        lasting.append(bytes(60_000))
    held = resident_bytes() - before
    arrays.clear()
    return held, resident_bytes() - before

with session.open_session(session.SessionOptions(master="local[1]")) as spark:
    print(*run_tasks(spark, 1, kept_bytes)[0])
"""


@pytest.mark.slow
def test_a_worker_keeps_nothing_of_large_arrays_that_are_gone(tmp_path: Path) -> None:
    process = run_python(WHAT_A_WORKER_KEEPS, tmp_path)
    assert process.returncode == 0, process.stderr
    held_bytes, kept_bytes = map(int, process.stdout.split())
    assert held_bytes > 90_000_000
    assert kept_bytes < 10_000_000
