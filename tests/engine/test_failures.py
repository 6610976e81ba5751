"""Runs that are told to stop, or whose Java or worker dies: the exit code, the words, nothing left."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from py4j.protocol import Py4JError

from engine_runs import SECONDS, is_clean, processes_of, run_python, start_python, wait_until
from kcompact.engine.failures import UnexpectedSparkError, explain, explained
from kcompact.engine.startup.jvm import Jvm

SAMPLE = Path(__file__).parents[2] / "samples" / "orders.jsonl"

pytestmark = pytest.mark.spark

# A job whose worker tells its process id and then hangs, run as main() runs a command.
_HANGING_JOB = """
import os, signal, sys, time
SIGNALS  # set here, since a test run under nohup or in the background ignores them
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
_HEARD = (
    "signal.signal(signal.SIGHUP, signal.SIG_DFL); signal.signal(signal.SIGINT, signal.default_int_handler)"
)
_IGNORED = "signal.signal(signal.SIGHUP, signal.SIG_IGN); signal.signal(signal.SIGINT, signal.SIG_IGN)"
_TASK = "run_tasks(spark, 1, lambda task: list(hang(task)))"
_QUERY = 'spark.range(1, numPartitions=1).mapInArrow(hang, "id long").collect()'
either = pytest.mark.parametrize("job", [_TASK, _QUERY], ids=["task", "query"])


def hanging(job: str, signals: str = _HEARD) -> str:
    """The job's program."""
    return _HANGING_JOB.replace("SIGNALS", signals).replace("JOB", job)


def start_hanging(folder: Path, job: str, signals: str = _HEARD) -> tuple[subprocess.Popen[str], int, Path]:
    """The process, the id of its worker, and the folder of all its temporary files."""
    temporary, worker = folder / "tmp", folder / "worker"
    temporary.mkdir()
    process = start_python(hanging(job, signals), temporary, WORKER_FILE=str(worker))
    assert wait_until(worker.exists)
    return process, worker_in(folder), temporary


def worker_in(folder: Path) -> int:
    """The worker that wrote its process id last."""
    return int((folder / "worker").read_text())


def java_of(temporary: Path) -> list[int]:
    return [pid for pid, command in processes_of(temporary).items() if "PythonGatewayServer" in command]


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


def test_ignored_signals_stay_ignored_once_spark_is_up(tmp_path: Path) -> None:
    process, _worker, temporary = start_hanging(tmp_path, _TASK, _IGNORED)
    for number in (signal.SIGINT, signal.SIGHUP):
        process.send_signal(number)
    assert not wait_until(lambda: process.poll() is not None, seconds=1)
    process.send_signal(signal.SIGTERM)
    assert finish(process) == (130, "", "")
    assert wait_until(lambda: is_clean(temporary), seconds=0.5), processes_of(temporary)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_before_the_work_ends_with_its_exit_code(tmp_path: Path, number: signal.Signals) -> None:
    process = start_inspect(tmp_path)
    assert wait_until(lambda: hears(process, number))  # which is before anything else is imported
    process.send_signal(number)
    assert finish(process) == (130, "", "")
    assert wait_until(lambda: is_clean(tmp_path), seconds=0.5), processes_of(tmp_path)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_after_the_work_disturbs_nothing(tmp_path: Path, number: signal.Signals) -> None:
    process = start_inspect(tmp_path)
    assert process.stdout is not None
    assert process.stdout.read(1) != ""
    while process.poll() is None:  # to the end of the process, whatever Python still does there
        process.send_signal(number)
    code, _out, err = finish(process)
    assert code in (0, 130)
    assert err == ""
    # Java may have to remove the folder, and be at its end itself, on a machine with other work.
    assert wait_until(lambda: is_clean(tmp_path), seconds=SECONDS), processes_of(tmp_path)


_HELD = """
import os, signal
from kcompact.engine.signals import signals_held, stopped_by_signals
try:
    with stopped_by_signals():
        with signals_held():
            os.kill(os.getpid(), signal.SIGTERM)
            print("held")
        print("lost")
except KeyboardInterrupt:
    print("heard")
"""


def test_a_signal_that_is_held_is_heard_at_the_end(tmp_path: Path) -> None:
    run = run_python(_HELD, tmp_path)
    assert (run.returncode, run.stdout, run.stderr) == (0, "held\nheard\n", "")


_AS_JAVA_STARTS = """
import os, signal, subprocess, time
from kcompact.engine.session import SessionOptions, spark_started
from kcompact.engine.signals import stopped_by_signals
class Interrupted(subprocess.Popen):
    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        time.sleep(0.4)  # Java is about to use its folder
        os.kill(os.getpid(), signal.SIGTERM)
subprocess.Popen = Interrupted
try:
    with stopped_by_signals(), spark_started(SessionOptions()):
        print("lost")
except KeyboardInterrupt:
    print("heard")
"""


def test_a_signal_as_java_starts_leaves_no_java_behind(tmp_path: Path) -> None:
    run = run_python(_AS_JAVA_STARTS, tmp_path)
    assert (run.returncode, run.stdout, run.stderr) == (0, "heard\n", "")
    assert wait_until(lambda: is_clean(tmp_path), seconds=5), processes_of(tmp_path)


_IN_A_CLASS = """
import os, signal
from kcompact import app
class Descriptor:
    def __set_name__(self, owner, name):
        os.kill(os.getpid(), signal.SIGTERM)
def run(_arguments):
    from kcompact.engine.signals import stopped_by_signals
    with stopped_by_signals():
        type("Made", (), {"attribute": Descriptor()})
app._run = run
print(app.main(["inspect", "dump.jsonl"]))
"""


def test_a_signal_while_a_class_is_made_is_an_interrupt(tmp_path: Path) -> None:
    """Python 3.11 makes a RuntimeError of it."""
    run = run_python(_IN_A_CLASS, tmp_path)
    assert (run.returncode, run.stdout, run.stderr) == (0, "130\n", "")


_CLEARED_AWAY = """
import os, signal, time
from kcompact.engine.signals import stopped_by_signals
class Interrupted:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0.1)
try:
    with stopped_by_signals():
        Interrupted()
        time.sleep(60)
except KeyboardInterrupt:
    print("stopped")
"""


def test_a_signal_is_heard_where_an_object_is_cleared_away() -> None:
    command = [sys.executable, "-c", _CLEARED_AWAY]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=30)
    assert (done.returncode, done.stdout, done.stderr) == (0, "stopped\n", "")


def start_inspect(temporary: Path) -> subprocess.Popen[str]:
    code = (
        "import signal, sys; [signal.signal(n, signal.SIG_DFL) for n in (signal.SIGTERM, signal.SIGHUP)];"
        "signal.signal(signal.SIGINT, signal.default_int_handler);"
        f"sys.argv[1:] = ['inspect', {str(SAMPLE)!r}, '--master', 'local[1]'];"
        "from kcompact.__main__ import main; sys.exit(main())"
    )
    return start_python(code, temporary)


def hears(process: subprocess.Popen[str], number: signal.Signals) -> bool:
    """Whether the process has a handler for SIGHUP, which Python alone never sets; then it has all three."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    caught = int(status.partition("SigCgt:")[2].split()[0], 16)
    return all(caught >> needed - 1 & 1 for needed in (number, signal.SIGHUP))


def test_a_killed_run_takes_java_and_workers_with_it(tmp_path: Path) -> None:
    process, _worker, temporary = start_hanging(tmp_path, _TASK)
    process.kill()
    finish(process)
    assert wait_until(lambda: is_clean(temporary), seconds=20), processes_of(temporary)


def test_what_a_run_and_its_java_left_when_both_were_killed_is_removed_by_the_next(tmp_path: Path) -> None:
    process, _worker, temporary = start_hanging(tmp_path, _TASK)
    (java,) = java_of(temporary)
    os.kill(java, signal.SIGSTOP)  # so that it cannot remove anything on its way out
    process.kill()
    os.kill(java, signal.SIGKILL)
    finish(process)
    assert wait_until(lambda: not processes_of(temporary), seconds=20)
    assert list(temporary.iterdir())

    code = """
from kcompact.engine.session import SessionOptions, open_session
with open_session(SessionOptions(master="local[1]")):
    pass
"""
    run = run_python(code, temporary)
    assert run.stderr == f"note: {temporary}: removed a folder that runs which died had left\n"
    assert wait_until(lambda: is_clean(temporary), seconds=20), processes_of(temporary)


@either
def test_a_worker_that_is_killed_every_time_is_explained(tmp_path: Path, job: str) -> None:
    process, worker, temporary = start_hanging(tmp_path, job)
    killed = {worker}
    os.kill(worker, signal.SIGKILL)
    while wait_until(lambda: process.poll() is not None or worker_in(tmp_path) not in killed):
        if process.poll() is not None:
            break
        killed.add(worker_in(tmp_path))
        os.kill(worker_in(tmp_path), signal.SIGKILL)
    assert len(killed) == 4
    code, out, err = finish(process)
    assert (code, out) == (2, "")
    assert err.splitlines()[0] == "error: a Python worker of Spark was killed or crashed"
    assert err.splitlines()[1].startswith("hint: ")
    assert wait_until(lambda: is_clean(temporary), seconds=0.5), processes_of(temporary)


@either
def test_a_killed_java_is_explained(tmp_path: Path, job: str) -> None:
    process, _worker, temporary = start_hanging(tmp_path, job)
    (java,) = java_of(temporary)
    os.kill(java, signal.SIGKILL)
    code, out, err = finish(process)
    assert (code, out) == (2, ""), err
    assert err.splitlines()[0] == "error: Spark's Java died (signal 9)"
    assert "--driver-memory" not in err, "the kernel kills what takes too much: more would be worse"
    assert wait_until(lambda: is_clean(temporary), seconds=0.5), processes_of(temporary)


def test_a_bug_in_a_worker_is_a_sentence_and_its_traceback_is_for_debug(tmp_path: Path) -> None:
    query = 'spark.range(1, numPartitions=1).mapInArrow(lambda _: 1 // 0, "id long").collect()'
    for job in (query, "run_tasks(spark, 1, lambda task: 1 // task)"):
        run = run_python(hanging(job), tmp_path)
        assert run.returncode == 3
        sentence, hint = run.stderr.splitlines()
        assert sentence.startswith("bug: ")
        assert sentence.endswith(
            "in a Python worker of Spark: ZeroDivisionError: integer division or modulo by zero"
        )
        assert "--debug" in hint
    debugged = run_python(hanging(job).replace('["hang"]', '["--debug", "hang"]'), tmp_path)
    assert "Traceback (most recent call last):\n" in debugged.stderr


@pytest.mark.parametrize("error", [Py4JError("An error occurred while calling o7.getResult"), EOFError()])
def test_a_java_that_dies_a_moment_after_its_first_error_is_explained(
    error: Exception, tmp_path: Path
) -> None:
    with subprocess.Popen(["sleep", "600"]) as process:
        threading.Timer(0.3, process.kill).start()
        known = explain(error, Jvm(process, tmp_path))
    assert known is not None
    assert known.message == "Spark's Java died (signal 9)"


@pytest.mark.parametrize(("kibibytes", "words"), [(3_000_000, "raise ulimit -v"), (-1, "--driver-memory")])
def test_a_java_that_may_address_little_memory_is_not_given_more(
    kibibytes: int, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("resource.getrlimit", lambda _: (kibibytes << 10, -1))
    with subprocess.Popen(["false"]) as process:
        process.wait()
    known = explain(EOFError(), Jvm(process, tmp_path))
    assert known is not None
    assert words in str(known.hint)


@pytest.mark.parametrize(
    "error",
    [
        Py4JError("java.lang.OutOfMemoryError: unable to create native thread: possibly out of memory"),
        RuntimeError("can't start new thread"),
    ],
)
def test_a_limit_of_threads_is_no_want_of_memory(error: Exception) -> None:
    known = explain(error)
    assert known is not None
    assert known.exit_code == 2
    assert "ulimit -u" in str(known.hint)


def test_a_java_that_died_for_want_of_threads_is_not_given_more_memory(tmp_path: Path) -> None:
    words = "unable to create native thread: possibly out of memory or process/resource limits reached"
    thread = 'Exception in thread "dispatcher-3" java.lang.OutOfMemoryError'
    (tmp_path / "spark.log").write_text(
        f"{thread}: {words}\n\tat java.base/java.lang.Thread.start0\nOther words\n"
    )
    with subprocess.Popen(["false"]) as process:
        process.wait()
    known = explain(EOFError(), Jvm(process, tmp_path))
    assert known is not None
    assert known.message == "no more threads can be started here"


@pytest.mark.parametrize(
    "words",
    [
        "java.nio.file.NoSuchFileException: {}/blockmgr-a856/0e",
        "FileNotFoundError: [Errno 2] No such file or directory: '{}/parts/part-000002'",
    ],
)
def test_a_folder_of_the_run_that_somebody_removed_is_named(words: str, tmp_path: Path) -> None:
    known = explain(Py4JError(words.format(f"{tmp_path}/.kcompact-2whxp4fx")))
    assert known is not None
    assert known.message.startswith(f"{tmp_path}: a folder of this run, .kcompact-..., was removed")
    assert explain(Py4JError(words.format(f"{tmp_path}/other"))) is None


def test_a_module_that_workers_lack_is_named_with_the_python_to_use() -> None:
    raised = "ModuleNotFoundError: No module named 'lz4.frame'"
    error = explain(
        Py4JError(f"Traceback (most recent call last):\n  File x\n    import y\n{raised}\n\n\tat a.B")
    )
    assert error is not None
    assert error.message.startswith("Spark's workers cannot import lz4.frame: ")
    assert f"PYSPARK_PYTHON={sys.executable} " in str(error.hint)


def test_too_many_open_files_are_named_with_the_limit_to_raise() -> None:
    java = "java.io.FileNotFoundException: /tmp/tmpypj95gx7 (Too many open files)"
    error = Py4JError(
        f"An error occurred while calling z:org.apache.spark.api.python: {java}\n\tat a.b(C.java)"
    )
    known = explain(error, None)
    assert known is not None
    assert known.message == "more files have to be open at once than is allowed"
    assert "ulimit -n" in str(known.hint)


@pytest.mark.parametrize("words", ["No space left on device", "Disk quota exceeded"])
def test_a_full_disk_is_named_where_spark_spills_to(words: str, tmp_path: Path) -> None:
    error = Py4JError(f"Job aborted due to stage failure: java.io.IOException: {words}\n\tat a.b(C.java)")
    with subprocess.Popen(["true"]) as process:
        known = explain(error, Jvm(process, tmp_path / "run"))
    assert known is not None
    assert known.message == f"{tmp_path}: the disk that Spark spills to is full"
    assert "TMPDIR" in str(known.hint)


def test_a_java_that_can_make_no_folder_for_blocks_is_not_given_more_memory(tmp_path: Path) -> None:
    with subprocess.Popen(["sh", "-c", "exit 53"]) as process:
        known = explain(Py4JError("x"), Jvm(process, tmp_path / "run"))
    assert known is not None
    assert known.message == f"{tmp_path}: the disk that Spark spills to is full"


def test_a_full_disk_is_that_of_the_folder_that_a_setting_names(tmp_path: Path) -> None:
    error = Py4JError("java.io.IOException: No space left on device\n\tat a.b(C.java)")
    with subprocess.Popen(["true"]) as process:
        settings = (("spark.local.dir", "/small"),)
        java = Jvm(process, tmp_path / "run", settings=settings)
        known = explain(error, java)
    assert known is not None
    assert known.message == "/small: the disk that Spark spills to is full"
    assert "with --conf spark.local.dir" in str(known.hint)


def test_a_limit_on_file_sizes_is_named_where_spark_spills_to(tmp_path: Path) -> None:
    error = Py4JError(
        "Job aborted due to stage failure: java.io.IOException: File too large\n\tat a.b(C.java)"
    )
    with subprocess.Popen(["true"]) as process:
        known = explain(error, Jvm(process, tmp_path / "run"))
    assert known is not None
    assert known.exit_code == 2
    assert known.message == f"{tmp_path}: larger than files may become here (File too large)"
    assert "ulimit -f" in str(known.hint)


def test_a_setting_that_spark_reads_only_in_a_task_is_quoted() -> None:
    known = explain(
        Py4JError("calling o1.f.\n: java.lang.NumberFormatException: Failed to parse byte string: x")
    )
    assert known is not None
    assert known.message == (
        "Spark cannot take a setting: NumberFormatException: Failed to parse byte string: x"
    )
    assert "--conf" in str(known.hint)


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        (
            "[CODEC_NOT_AVAILABLE.WITH_CONF_SUGGESTION] The codec zip is not available. SQLSTATE: 56038",
            "Spark cannot take a setting: [CODEC_NOT_AVAILABLE",
            "--conf",
        ),
        (
            "Total size of serialized results of 9 tasks is bigger than spark.driver.maxResultSize (1 KiB)",
            "what tasks send to the driver is more than spark.driver.maxResultSize allows",
            "--conf spark.driver.maxResultSize=4g",
        ),
        (
            'X: Traceback (most recent call last):\n  File "a"\nMemoryError\n\n\tat org.apache',
            "a Python worker of Spark ran out of memory",
            "spark.executor.pyspark.memory",
        ),
    ],
)
def test_a_setting_that_is_too_small_or_unknown_is_no_bug(words: str, message: str, hint: str) -> None:
    known = explain(Py4JError(words))
    assert known is not None
    assert known.exit_code == 2
    assert known.message.startswith(message)
    assert hint in str(known.hint)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "An error occurred while calling o1.f.\n: java.lang.IllegalStateException: no\n\tat a.b(C.java)",
            "Py4JError: An error occurred while calling o1.f. : java.lang.IllegalStateException: no",
        ),
        (
            (
                ': X: Traceback (most recent call last):\n  File "a"\nKeyError: 1\n\n'
                'Traceback (most recent call last):\n  File "b"\n\nOSError: x\n\n\tat org.apache'
            ),
            "in a Python worker of Spark: OSError: x",
        ),
        (
            (
                'X: Error from python worker:\n  Traceback (most recent call last):\n    File "a"\n      b\n'
                "  ImportError: c\nPYTHONPATH was:\n  d\norg.apache.spark.SparkException: e\n\tat f.g(H.java)"
            ),
            "in a Python worker of Spark: ImportError: c",
        ),
    ],
)
def test_what_spark_says_is_cut_to_a_sentence_and_kept_whole_as_a_note(text: str, sentence: str) -> None:
    with pytest.raises(UnexpectedSparkError) as caught, explained():
        raise Py4JError(text)
    assert str(caught.value) == sentence
    assert text.splitlines()[-1].strip() in caught.value.__notes__[0]


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
